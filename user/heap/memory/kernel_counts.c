// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/memory/kernel_counts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

/* The kernel walks /proc/PID/timers from its beginning for every page read. */
#define READ_NS 50000000ull
/* Most descriptors examined. */
#define DESCRIPTORS_MAX 65536

/* Counts the lines accepted by matches(), within READ_NS; otherwise *whole becomes false. */
static uint64_t count_lines(FILE *file, bool (*matches)(const char *line, const void *context),
			    const void *context, bool *whole)
{
	uint64_t count = 0, begin_ns = monotonic_ns();
	bool fresh = true;
	char line[512];

	*whole = true;
	while (fgets(line, sizeof(line), file)) {
		count += fresh && matches(line, context);
		fresh = strchr(line, '\n');
		if (monotonic_ns() - begin_ns > READ_NS) {
			*whole = false;
			break;
		}
	}
	return count;
}

static bool begins_with(const char *line, const void *beginning)
{
	return text_begins(line, beginning);
}

uint64_t kernel_counts_lines(FILE *file, const char *beginning, bool *whole)
{
	return count_lines(file, begins_with, beginning, whole);
}

/* "1: POSIX ADVISORY WRITE 1234 08:01:1234 0 EOF"; a waiting one is "1: -> POSIX ...". */
static bool is_lock_of(const char *line, const void *pid)
{
	int owner;

	return sscanf(line, "%*u: POSIX %*s %*s %d", &owner) == 1 && owner == *(const pid_t *)pid;
}

uint64_t kernel_counts_locks(FILE *file, pid_t pid, bool *whole)
{
	return count_lines(file, is_lock_of, &pid, whole);
}

static void set(struct kernel_counts *counts, enum kernel_thing thing, bool known, uint64_t count)
{
	counts->of[thing].known &= known;
	counts->of[thing].count += count;
}

/* Kinds of descriptors whose lines in fdinfo are counted. */
static const struct {
	const char *link, *line;
	enum kernel_thing thing;
} kinds[] = {
	{"anon_inode:inotify", "inotify wd:", THING_INOTIFY_WATCHES},
	{"anon_inode:[eventpoll]", "tfd:", THING_EPOLL_ITEMS},
};

static void read_descriptor(pid_t pid, const char *name, struct kernel_counts *counts)
{
	char path[64], target[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", pid, name);
	length = readlink(path, target, sizeof(target) - 1);
	target[MAX(length, 0)] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		_cleanup_fclose_ FILE *file = NULL;
		bool whole = true;
		uint64_t count;

		if (strcmp(target, kinds[i].link) != 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.16s", pid, name);
		file = fopen(path, "re");
		count = file ? kernel_counts_lines(file, kinds[i].line, &whole) : 0;
		set(counts, kinds[i].thing, file && whole, count);
	}
}

static void read_descriptors(pid_t pid, struct kernel_counts *counts)
{
	_cleanup_closedir_ DIR *directory = NULL;
	struct dirent *entry;
	size_t seen = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	directory = opendir(path);
	while (directory && seen < DESCRIPTORS_MAX && (entry = readdir(directory))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		seen++;
		read_descriptor(pid, entry->d_name, counts);
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		set(counts, kinds[i].thing, directory && seen < DESCRIPTORS_MAX, 0);
}

static void read_timers(pid_t pid, struct kernel_counts *counts)
{
	_cleanup_fclose_ FILE *file = NULL;
	bool whole = true;
	char path[64];
	uint64_t count;

	snprintf(path, sizeof(path), "/proc/%d/timers", pid);
	file = fopen(path, "re");
	count = file ? kernel_counts_lines(file, "ID:", &whole) : 0;
	set(counts, THING_TIMERS, file && whole, count);
}

static void read_locks(pid_t pid, struct kernel_counts *counts)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/locks", "re");
	bool whole = true;
	uint64_t count = file ? kernel_counts_locks(file, pid, &whole) : 0;

	set(counts, THING_RECORD_LOCKS, file && whole, count);
}

/* "1234 (sleep) Z 1": a name may contain brackets. */
static bool has_ended(int pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[512];
	const char *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return false;
	state = strrchr(line, ')');
	return state && text_begins(state, ") Z");
}

/* Counts the ended children of one thread. Returns false if not all were read, or the kernel does
 * not tell (CONFIG_PROC_CHILDREN). */
static bool count_ended(pid_t pid, const char *thread, uint64_t end_ns, uint64_t *count)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[80];
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", pid, thread);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &child) == 1) {
		*count += has_ended(child);
		if (monotonic_ns() > end_ns)
			return false;
	}
	return file;
}

static void read_zombies(pid_t pid, struct kernel_counts *counts)
{
	_cleanup_closedir_ DIR *directory = NULL;
	uint64_t end_ns = monotonic_ns() + READ_NS, count = 0;
	struct dirent *entry;
	bool whole;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	directory = opendir(path);
	whole = directory;
	while (whole && (entry = readdir(directory))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			whole = count_ended(pid, entry->d_name, end_ns, &count);
	}
	set(counts, THING_ZOMBIES, whole, count);
}

void kernel_counts_read(pid_t pid, struct kernel_counts *counts)
{
	*counts = (struct kernel_counts){0};
	for (size_t i = 0; i < THING_MAX_; i++)
		counts->of[i].known = true;
	read_descriptors(pid, counts);
	read_timers(pid, counts);
	read_locks(pid, counts);
	read_zombies(pid, counts);
}
