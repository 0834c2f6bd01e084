// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/process_reading.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "process/proc/process_list.h"

/*
 * Mappings that look like thread stacks: anonymous memory right above a guard, which is anonymous
 * memory without access and smaller than this (pthread_attr_setguardsize(3); an allocator's arena
 * has its unused part above itself, and it is larger).
 */
#define THREAD_GUARD_MAX (1u << 20)

static bool is_guard(const struct mapping *mapping)
{
	return !mapping->inode && !*mapping->path && !mapping->readable && !mapping->writable &&
	       !mapping->executable && mapping->end - mapping->start < THREAD_GUARD_MAX;
}

static bool is_stack(const struct mapping *mapping)
{
	return !mapping->inode && mapping->readable && mapping->writable && !mapping->shared;
}

static size_t stacks_count(const struct maps *maps)
{
	size_t count = 0;

	for (size_t i = 1; i < maps->list.count; i++) {
		const struct mapping *guard = &maps->list.items[i - 1];
		const struct mapping *above = &maps->list.items[i];

		count += is_guard(guard) && is_stack(above) && guard->end == above->start;
	}
	return count;
}

double thread_stacks_orphaned(const struct maps *maps, double threads)
{
	double living = isnan(threads) ? 0 : fmax(threads - 1, 0);

	return fmax((double)stacks_count(maps) - living, 0);
}

#define PATH_SIZE 40
#define KIB 1024u

/*
 * A process with more mappings is counted less often: one more reading is skipped for each of
 * these.
 */
#define MAPPINGS_PER_PAUSE 256

static int proc_open(const struct process_reading *reading, const char *name)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "/proc/%d/%s", reading->pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/*
 * Reads the file in one call, enough for these files. Returns bytes (the text ends with a NUL) or
 * -errno.
 */
static ssize_t proc_read(const struct process_reading *reading, const char *name, char *text,
			 size_t size)
{
	_cleanup_close_ int fd = proc_open(reading, name);
	ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);

	if (got < 0)
		return -errno;
	text[got] = '\0';
	return got;
}

int process_reading_open(struct process_reading *reading, pid_t pid)
{
	struct process_entry entry;
	int error = process_read(pid, &entry);

	if (error)
		return error;
	*reading = (struct process_reading){
		.pid = pid,
		.parent = entry.parent,
		.start_ticks = entry.start_ticks,
		.kernel_thread = entry.kernel_thread,
		.statm_fd = -1,
	};
	memcpy(reading->comm, entry.comm, sizeof(reading->comm));
	for (size_t i = 0; i < QUANTITY_MAX_; i++)
		reading->quantities.values[i] = NAN;
	return 0;
}

void process_reading_close(struct process_reading *reading)
{
	cleanup_close(&reading->statm_fd);
	reading->statm_fd = -1;
}

static ssize_t statm_text(struct process_reading *reading, bool keep, char *text, size_t size)
{
	ssize_t got;

	if (reading->statm_fd < 0 && keep)
		reading->statm_fd = proc_open(reading, "statm");
	if (reading->statm_fd < 0)
		return proc_read(reading, "statm", text, size);
	got = pread(reading->statm_fd, text, size - 1, 0);
	if (got < 0)
		return -errno;
	text[got] = '\0';
	return got;
}

/* Reads /proc/PID/statm. Returns 1 if it has changed, 0 if not, or -ESRCH. */
static int read_statm(struct process_reading *reading, bool keep)
{
	uint64_t pages[3];
	char text[128];
	ssize_t got = statm_text(reading, keep, text, sizeof(text));

	if (got <= 0)
		return -ESRCH;
	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &pages[0], &pages[1], &pages[2]) != 3)
		return -ESRCH;
	reading->has_memory = pages[0] > 0;
	if (!memcmp(pages, reading->statm, sizeof(pages)))
		return 0;
	memcpy(reading->statm, pages, sizeof(pages));
	return 1;
}

static bool status_number(const char *text, const char *label, uint64_t *number)
{
	const char *line = strstr(text, label);

	return line && sscanf(line + strlen(label), "%" SCNu64, number) == 1;
}

/* The kernel escapes newline and backslash in the name, so it cannot fake another line. */
static void read_name(struct process_reading *reading, const char *text)
{
	static const char label[] = "Name:\t";
	size_t length;

	if (strncmp(text, label, strlen(label)) != 0)
		return;
	text += strlen(label);
	length = MIN(strcspn(text, "\n"), sizeof(reading->comm) - 1);
	memset(reading->comm, 0, sizeof(reading->comm));
	memcpy(reading->comm, text, length);
	process_name_program(reading->pid, reading->comm);
}

void process_reading_take_status(struct process_reading *reading, const char *text)
{
	struct quantities *quantities = &reading->quantities;
	uint64_t anonymous_kib, swap_kib = 0, threads;

	read_name(reading, text);
	status_number(text, "\nVmSwap:", &swap_kib);
	reading->swap_bytes = swap_kib * KIB;
	if (status_number(text, "\nRssAnon:", &anonymous_kib))
		quantities->values[QUANTITY_HEAP] =
			(double)(anonymous_kib * KIB + reading->swap_bytes);
	if (status_number(text, "\nThreads:", &threads))
		quantities->values[QUANTITY_THREADS] = (double)threads;
}

static void read_status(struct process_reading *reading)
{
	char text[4096];

	if (proc_read(reading, "status", text, sizeof(text)) > 0)
		process_reading_take_status(reading, text);
}

/* Counts directory entries: before Linux 6.2, and for processes without open files. */
static double count_entries(const char *path)
{
	_cleanup_closedir_ DIR *directory = opendir(path);
	const struct dirent *entry;
	double count = 0;

	if (!directory)
		return NAN;
	while ((entry = readdir(directory)))
		count += entry->d_name[0] != '.';
	return count;
}

static void read_files(struct process_reading *reading)
{
	char path[PATH_SIZE];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%d/fd", reading->pid);
	if (stat(path, &status))
		return;
	reading->quantities.values[QUANTITY_FILES] =
		status.st_size > 0 ? (double)status.st_size : count_entries(path);
}

static void read_mappings(struct process_reading *reading)
{
	_cleanup_close_ int fd = proc_open(reading, "maps");
	char text[16384];
	double count = 0;
	ssize_t got;

	if (fd < 0)
		return;
	while ((got = read(fd, text, sizeof(text))) > 0) {
		for (const char *at = text; (at = memchr(at, '\n', (size_t)(text + got - at)));
		     at++)
			count++;
	}
	if (got < 0)
		return;
	reading->quantities.values[QUANTITY_MAPPING] = count;
	reading->counted_size = reading->statm[0];
	reading->maps_due = reading->readings + 1 + (uint32_t)(count / MAPPINGS_PER_PAUSE);
}

bool process_reading_is_refresh(const struct process_reading *reading)
{
	/* Spread the refreshes, so that no single reading bears them all. */
	return reading->readings <= 1 ||
	       (reading->readings + (uint32_t)reading->pid) % READING_REFRESH == 0;
}

/* Returns whether the PID was reused: without a kept descriptor it may have been. */
static bool is_another(const struct process_reading *reading)
{
	struct process_entry entry;

	return process_read(reading->pid, &entry) || entry.start_ticks != reading->start_ticks;
}

int process_reading_update(struct process_reading *reading, const struct reading_effort *effort)
{
	bool refresh;
	int changed;

	reading->readings++;
	refresh = process_reading_is_refresh(reading);
	if (reading->kernel_thread && !refresh)
		return 0;
	if (refresh && reading->statm_fd < 0 && is_another(reading))
		return -ESRCH;
	changed = read_statm(reading, effort->keep_descriptor && !reading->kernel_thread);
	if (changed < 0 || !reading->has_memory)
		return changed < 0 ? changed : 0;
	if (changed || refresh)
		read_status(reading);
	if (effort->files)
		read_files(reading);
	if (effort->mappings && reading->readings >= reading->maps_due &&
	    (refresh || reading->counted_size != reading->statm[0]))
		read_mappings(reading);
	return 0;
}
