/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a recording: the same structs that a live run hands on, so that every format and every
 * comparison works without the target, on any machine.
 *
 * A recording may come from somebody else: nothing in it is believed. Numbers are checked for type
 * and range, references for existence, texts for length; what does not fit ends the reading with a
 * message. Nothing that the file's schema says is run (no triggers, no views, no functions). What a
 * call may cost grows with the file's size, and no further.
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
	uint64_t sequence; /* ascending, not without gaps */
	struct timespec time;
	uint64_t monotonic_ns;
	char *label; /* untrusted, or NULL; owned by the recording */
	bool full;
	size_t base; /* position of the full one that it builds on */
	uint64_t rows;
};

/* A run of `leakmon retain`. */
struct recording_retain {
	int64_t number;
	struct timespec time;
	pid_t pid;
	char comm[16];
	const char *label; /* untrusted, or NULL; as long as the recording */
};

/* A report of `leakmon record --profile`. */
struct recording_profile {
	int64_t number;
	struct timespec time;
	size_t oom_kills; /* of its processes, those that were killed for want of memory */
};

/* The goroutines of a Go program at one time. */
struct recording_goroutines {
	int64_t number;
	struct timespec time;
	pid_t pid;
	uint64_t start_ticks; /* with the PID: one process */
	char comm[16];
	uint64_t count;
};

/* Opens and checks. 0, or -errno after a message that says what is wrong with the file. */
int recording_open(struct recording **recording, const char *path);
void recording_close(struct recording *recording);

/* All of them, in order; none if there are retain runs. Good until recording_close(). */
const struct recording_snapshot *recording_snapshots(const struct recording *recording,
						     size_t *count);
/* Where it was made, untrusted; "" if not known. */
const char *recording_host(const struct recording *recording);
/* How many snapshots, or profiles, could not be written into it. */
uint64_t recording_missed(const struct recording *recording);
/* For a fleet (app/runs/merge.h), by name; none: it is of one host. Good until
 * recording_close(). */
const struct report_host *recording_hosts(const struct recording *recording, size_t *count);

/*
 * The snapshot meant by `at`: a sequence number; "first" or "last"; a label; a time, "2026-11-20
 * 13:00[:05]", "13:00[:05]" (of the day of the last snapshot) or "-10min" before the last: the
 * latest snapshot that is not after it. NULL: the last. 0; -ENOENT or -EINVAL after a message.
 */
int recording_find(const struct recording *recording, const char *at, size_t *position);

/* The runs of `leakmon retain`, in order; perhaps none. Good until recording_close(). */
const struct recording_retain *recording_retains(const struct recording *recording, size_t *count);
/* As recording_find(), among these. */
int recording_find_retain(const struct recording *recording, const char *at, size_t *position);
/* 0, or -errno after a message. Free with retain_result_free(). */
int recording_read_retain(struct recording *recording, size_t position,
			  struct retain_result *result);

/* The profiles, in order; perhaps none. As above; free with profile_report_free(), before the
 * recording is closed: texts are the recording's. */
const struct recording_profile *recording_profiles(const struct recording *recording,
						   size_t *count);
int recording_find_profile(const struct recording *recording, const char *at, size_t *position);
int recording_read_profile(struct recording *recording, size_t position,
			   struct profile_report *report);

/* Readings of goroutines, in order; perhaps none. As above; free with task_report_free(),
 * before the recording is closed: texts are the recording's. */
const struct recording_goroutines *recording_goroutines(const struct recording *recording,
							size_t *count);
int recording_find_goroutines(const struct recording *recording, const char *at, size_t *position);
int recording_read_goroutines(struct recording *recording, size_t position,
			      struct task_report *report);
/* How many there were of each of its groups, up to it. Free with task_series_free(). */
int recording_goroutine_series(struct recording *recording, size_t position,
			       struct task_series *series);

/*
 * The snapshot at that moment. site.index is a number of the recording, sites have no addresses. 0,
 * or -errno after a message. Free with snapshot_free().
 */
int recording_read(struct recording *recording, size_t position, struct snapshot *snapshot);

/*
 * Where memory was, process by process, up to that snapshot: empty if that was not recorded. A
 * series is found by the PID and the key of a process. 0, or -errno after a message; texts are the
 * recording's. Free with memory_history_free().
 */
int recording_memory(struct recording *recording, size_t position, struct memory_history *history);

/* Fills ids and frames of a report on such a snapshot; strings live as long as the recording. */
int recording_name(struct recording *recording, struct report *report);

/*
 * Answers of `record --diagnose` up to that time; NULL: all. 0, or -errno after a message; texts
 * are the recording's. Free with stored_diagnoses_free().
 */
int recording_diagnoses(struct recording *recording, const struct timespec *until,
			struct stored_diagnoses *diagnoses);

/*
 * The series up to and with that snapshot, named. Of a long recording, full snapshots only: that
 * many points are enough for every graph, and reading them all would take seconds.
 */
int recording_history(struct recording *recording, size_t position, struct history *history);

#endif
