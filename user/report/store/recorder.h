/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a recording: one transaction per snapshot, so that every committed snapshot survives any
 * end of the monitor. Others may read the file meanwhile (write-ahead log).
 */
#ifndef LEAKMON_STORE_RECORDER_H
#define LEAKMON_STORE_RECORDER_H

#include "report/report.h"

/* A day of 1,000 sites at 5 s, with three in ten changing every time. */
#define RECORDER_KEEP_BYTES_DEFAULT (UINT64_C(190) << 20)
#define RECORDER_KEEP_BYTES_MIN (UINT64_C(1) << 20)

struct recorder_options {
	/*
	 * Maximum bytes on disk; 0: no limit. When they are reached, snapshots are dropped one by
	 * one, so that the distant past becomes coarser: never the first, the latest or one with a
	 * label.
	 */
	uint64_t keep_bytes;
	uint64_t keep_ns; /* drop snapshots older than this; 0: none */
};

struct recorder;

/* Creates the file, which must not exist. Returns 0, or -errno after an error message. */
int recorder_open(struct recorder **recorder, const char *path,
		  const struct recorder_options *options);

/*
 * Adds the report's snapshot, with all sites in the report: build it without a cut. `label` may be
 * NULL. Returns 0; -errno after a message: the file is unchanged, and the next call may succeed.
 */
int recorder_append(struct recorder *recorder, const struct report *report, const char *label,
		    bool last);

/* Returns the number of failed appends. */
uint64_t recorder_missed(const struct recorder *recorder);
uint64_t recorder_snapshots(const struct recorder *recorder);

/* Merges the log into the file and closes it. NULL is allowed. */
void recorder_close(struct recorder *recorder);

#endif
