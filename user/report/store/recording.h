/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a recording into the same structs that a live run produces, so that every format and every
 * comparison works without the target, on any machine.
 *
 * A recording may come from someone else: it is untrusted. Numbers are checked for type and range,
 * references for existence, texts for length; an invalid value ends the reading with a message.
 * Nothing in the file's schema is run (no triggers, no views, no functions). The cost of a call is
 * bounded in proportion to the file's size.
 */
#ifndef LEAKMON_STORE_RECORDING_H
#define LEAKMON_STORE_RECORDING_H

#include "report/history.h"
#include "report/report.h"

struct recording;
struct task_report;
struct task_series;
struct memory_history;
struct profile_report;
struct retain_result;
struct stored_diagnoses;

struct recording_snapshot {
	uint64_t sequence; /* ascending, possibly with gaps */
	struct timespec time;
	uint64_t monotonic_ns;
	char *label; /* untrusted, or NULL; owned by the recording */
	bool full;
	size_t base; /* index of the full one on which it is based */
	uint64_t rows;
};

/* A run of `leakmon retain`. */
struct recording_retain {
	int64_t number;
	struct timespec time;
	pid_t pid;
	char comm[16];
	const char *label; /* untrusted, or NULL; lives as long as the recording */
};

/* A report of `leakmon record --profile`. */
struct recording_profile {
	int64_t number;
	struct timespec time;
	size_t oom_kills; /* number of its OOM-killed processes */
};

/* The goroutines of a Go program at one time. */
struct recording_goroutines {
	int64_t number;
	struct timespec time;
	pid_t pid;
	uint64_t start_ticks; /* identifies a process, with the PID */
	char comm[16];
	uint64_t count;
};

/* Opens and checks. Returns 0, or -errno after a message that describes the defect. */
int recording_open(struct recording **recording, const char *path);
void recording_close(struct recording *recording);

/* Returns all of them, in order; none if there are retain runs. Valid until recording_close(). */
const struct recording_snapshot *recording_snapshots(const struct recording *recording,
						     size_t *count);
/* Returns the host where it was made, untrusted; "" if unknown. */
const char *recording_host(const struct recording *recording);
/* Returns the number of snapshots, or profiles, whose writing failed. */
uint64_t recording_missed(const struct recording *recording);
/*
 * Returns the hosts of a fleet (app/runs/merge.h), by name; none: it is of one host. Valid until
 * recording_close().
 */
const struct report_host *recording_hosts(const struct recording *recording, size_t *count);

/*
 * Finds the snapshot named by `at`: a sequence number; "first" or "last"; a label; a time,
 * "2026-11-20 13:00[:05]", "13:00[:05]" (of the day of the last snapshot) or "-10min" before the
 * last: the latest snapshot not after it. NULL: the last. Returns 0; -ENOENT or -EINVAL after a
 * message.
 */
int recording_find(const struct recording *recording, const char *at, size_t *position);

/* Returns the runs of `leakmon retain`, in order; possibly none. Valid until recording_close(). */
const struct recording_retain *recording_retains(const struct recording *recording, size_t *count);
/* Finds one of these runs; `at`, *position and the result are those of recording_find(). */
int recording_find_retain(const struct recording *recording, const char *at, size_t *position);
/* Reads a run. Returns 0, or -errno after a message. The caller calls retain_result_free(). */
int recording_read_retain(struct recording *recording, size_t position,
			  struct retain_result *result);

/*
 * List, find and read profiles, like runs of `leakmon retain`. The caller calls
 * profile_report_free() before recording_close(), because the recording owns the texts.
 */
const struct recording_profile *recording_profiles(const struct recording *recording,
						   size_t *count);
int recording_find_profile(const struct recording *recording, const char *at, size_t *position);
int recording_read_profile(struct recording *recording, size_t position,
			   struct profile_report *report);

/*
 * List, find and read readings of goroutines, like runs of `leakmon retain`. The caller calls
 * task_report_free() before recording_close(), because the recording owns the texts.
 */
const struct recording_goroutines *recording_goroutines(const struct recording *recording,
							size_t *count);
int recording_find_goroutines(const struct recording *recording, const char *at, size_t *position);
int recording_read_goroutines(struct recording *recording, size_t position,
			      struct task_report *report);
/*
 * Reads the counts of each of its groups over time, up to it. Returns 0, or -errno after a message.
 * Free with task_series_free().
 */
int recording_goroutine_series(struct recording *recording, size_t position,
			       struct task_series *series);

/*
 * Reads the snapshot at that position. site.index is a number of the recording, sites have no
 * addresses. Returns 0, or -errno after a message. Free with snapshot_free().
 */
int recording_read(struct recording *recording, size_t position, struct snapshot *snapshot);

/*
 * Reads the composition of memory, process by process, up to that snapshot: empty if not recorded.
 * A series is found by the PID and the key of a process. Returns 0, or -errno after a message;
 * texts are the recording's. Free with memory_history_free().
 */
int recording_memory(struct recording *recording, size_t position, struct memory_history *history);

/*
 * Fills ids and frames of a report on such a snapshot; strings live as long as the recording.
 * Returns 0, or -errno after a message.
 */
int recording_name(struct recording *recording, struct report *report);

/*
 * Reads the answers of `record --diagnose` up to that time; NULL: all. Returns 0, or -errno after a
 * message; texts are the recording's. Free with stored_diagnoses_free().
 */
int recording_diagnoses(struct recording *recording, const struct timespec *until,
			struct stored_diagnoses *diagnoses);

/*
 * Reads the series up to and including that snapshot, named. Of a long recording, full snapshots
 * only: they suffice for every graph, and reading all would take seconds. Returns 0, or -errno
 * after a message.
 */
int recording_history(struct recording *recording, size_t position, struct history *history);

#endif
