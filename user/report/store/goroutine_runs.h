/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Goroutines of Go programs in a recording, in the tables `goroutines` and `goroutine_groups`:
 * readings at intervals, independent of snapshots. The reader is part of recording.h.
 */
#ifndef LEAKMON_STORE_GOROUTINE_RUNS_H
#define LEAKMON_STORE_GOROUTINE_RUNS_H

#include "report/store/recorder.h"
#include "report/task_report.h"

/* Groups kept of a reading: the largest, and the growing ones. */
#define GOROUTINE_GROUPS_KEPT 200
/* They take at most this share of --keep; then every other reading is dropped. */
#define GOROUTINES_SHARE 4

struct goroutine_recorder;

/* Opens the file, or creates it. Returns 0, or -errno after a message. */
int goroutine_recorder_open(struct goroutine_recorder **recorder, const char *path,
			    const struct recorder_options *options);

/*
 * Adds a reading. If they take too much of keep_bytes, or are older than keep_ns, some are dropped,
 * but never the first or the last of a process. Returns 0; -errno after a message: the file is
 * unchanged, and the next call may succeed.
 */
int goroutine_recorder_append(struct goroutine_recorder *recorder,
			      const struct task_reading *reading);

/* Return the number of readings appended, and of failures. NULL is allowed. */
uint64_t goroutine_recorder_count(const struct goroutine_recorder *recorder);
uint64_t goroutine_recorder_missed(const struct goroutine_recorder *recorder);

/* Merges the log into the file and closes it. NULL is allowed. */
void goroutine_recorder_close(struct goroutine_recorder *recorder);

#endif
