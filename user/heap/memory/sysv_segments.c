// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/memory/sysv_segments.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc/process_list.h"

/* Most seconds by which a creator may appear to start after its segment: both times are truncated
 * to a second. */
#define CLOCK_STEP_S 1

static int by_bytes(const void *left_pointer, const void *right_pointer)
{
	const struct sysv_segment *left = left_pointer, *right = right_pointer;
	uint64_t bytes[2] = {left->resident + left->swapped, right->resident + right->swapped};

	if (bytes[0] != bytes[1])
		return bytes[0] > bytes[1] ? -1 : 1;
	return left->id < right->id ? -1 : left->id > right->id;
}

static bool parse_line(const char *line, struct sysv_segment *segment)
{
	return sscanf(line,
		      "%" SCNd32 " %" SCNu32 " %*o %" SCNu64 " %d %*d %" SCNu64 " %*u %*u %" SCNu32
		      " %*u %*d %*d %" SCNd64 " %" SCNu64 " %" SCNu64,
		      (int32_t *)&segment->key, &segment->id, &segment->size, &segment->creator,
		      &segment->attached, &segment->uid, &segment->created_s, &segment->resident,
		      &segment->swapped) == 9;
}

int sysv_segments_parse(FILE *file, struct sysv_report *report)
{
	_cleanup_free_ char *line = NULL;
	struct sysv_report read = {.known = true};
	size_t size = 0;
	int error = 0;

	if (getline(&line, &size, file) < 0 || !strstr(line, "shmid"))
		return -EBADMSG;
	while (!error && getline(&line, &size, file) > 0) {
		struct sysv_segment segment = {0}, *kept;

		if (read.list.count == SYSV_SEGMENTS_MAX) {
			read.partial = true;
			break;
		}
		kept = parse_line(line, &segment) ? vec_push(&read.list) : NULL;
		if (kept)
			*kept = segment;
		else
			error = segment.size ? -ENOMEM : -EBADMSG;
	}
	if (error) {
		sysv_report_free(&read);
		return error;
	}
	*report = read;
	return 0;
}

/* Finds the name of the creator, unless its PID was reused. */
static void name_creator(struct sysv_segment *segment, int64_t boot_s)
{
	struct process_entry entry;

	if (segment->creator <= 0 || process_read(segment->creator, &entry))
		return;
	if (boot_s + (int64_t)(entry.start_ticks / (uint64_t)sysconf(_SC_CLK_TCK)) <=
	    segment->created_s + CLOCK_STEP_S)
		memcpy(segment->comm, entry.comm, sizeof(segment->comm));
}

static void name_creators(struct sysv_report *report)
{
	struct timespec now, up;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	for (size_t i = 0; i < report->list.count; i++)
		name_creator(&report->list.items[i], now.tv_sec - up.tv_sec);
}

static int read_here(struct sysv_report *report)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/sysvipc/shm", "re");

	return file ? sysv_segments_parse(file, report) : -errno;
}

struct entering {
	int namespace;
	struct sysv_report *report;
	int error;
};

/* Runs in a separate thread, because namespaces are per thread. */
static void *enter_and_read(void *context)
{
	struct entering *entering = context;

	entering->error =
		setns(entering->namespace, CLONE_NEWIPC) ? -errno : read_here(entering->report);
	return NULL;
}

static int read_there(int namespace, struct sysv_report *report)
{
	struct entering entering = {.namespace = namespace, .report = report};
	pthread_t thread;
	int error = pthread_create(&thread, NULL, enter_and_read, &entering);

	if (error)
		return -error;
	pthread_join(thread, NULL);
	return entering.error;
}

int sysv_segments_read(pid_t pid, struct sysv_report *report)
{
	_cleanup_close_ int namespace = -1;
	struct sysv_report read = {0};
	struct stat own, other;
	char path[64];
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%d/ns/ipc", (int)pid);
	if (pid)
	namespace = open(path, O_RDONLY | O_CLOEXEC);
	if (pid && namespace < 0)
		return -errno;
	if (!pid || (!stat("/proc/self/ns/ipc", &own) && !fstat(namespace, &other) &&
		     own.st_ino == other.st_ino))
		error = read_here(&read);
	else
		error = read_there(namespace, &read);
	if (error)
		return error;
	name_creators(&read);
	if (read.list.count)
		qsort(read.list.items, read.list.count, sizeof(*read.list.items), by_bytes);
	sysv_report_sum(&read);
	*report = read;
	return 0;
}

static bool concerns(const struct sysv_segment *segment, const struct memory_report *processes)
{
	for (size_t i = 0; i < processes->processes.count; i++) {
		const struct memory_process *process = &processes->processes.items[i];

		if (*segment->comm ? process->pid == segment->creator
				   : !segment->attached && process->status.uid == segment->uid)
			return true;
	}
	return false;
}

void sysv_segments_select(struct sysv_report *report, const struct memory_report *processes)
{
	size_t kept = 0;

	for (size_t i = 0; i < report->list.count; i++) {
		if (concerns(&report->list.items[i], processes))
			report->list.items[kept++] = report->list.items[i];
	}
	report->list.count = kept;
	sysv_report_sum(report);
}

static const struct sysv_segment *segment_find(const struct sysv_report *report,
					       const struct sysv_segment *segment)
{
	for (size_t i = 0; i < report->list.count; i++) {
		const struct sysv_segment *found = &report->list.items[i];

		/* The kernel increments an identifier when it reuses it. */
		if (found->id == segment->id && found->creator == segment->creator)
			return found;
	}
	return NULL;
}

void sysv_segments_compare(const struct sysv_report *before, uint64_t since_ms,
			   struct sysv_report *report)
{
	if (!before->known || before->partial || !report->known || report->partial)
		return;
	report->has_growth = true;
	report->since_ms = since_ms;
	report->growth = 0;
	for (size_t i = 0; i < report->list.count; i++) {
		struct sysv_segment *segment = &report->list.items[i];
		const struct sysv_segment *was = segment_find(before, segment);

		segment->is_new = !was;
		if (!segment->attached)
			report->growth += (int64_t)(segment->resident + segment->swapped);
		if (was && !was->attached)
			report->growth -= (int64_t)(was->resident + was->swapped);
	}
}
