/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a recording: one transaction per snapshot, so that whatever ends the monitor leaves every
 * snapshot that was committed. Others may read the file meanwhile (write-ahead log).
 */
#ifndef LEAKMON_STORE_RECORDER_H
#define LEAKMON_STORE_RECORDER_H

#include "report/report.h"

/* A day of 1,000 sites at 5 s, three of ten of which change every time. */
#define RECORDER_KEEP_BYTES_DEFAULT (UINT64_C(190) << 20)
#define RECORDER_KEEP_BYTES_MIN (UINT64_C(1) << 20)

struct recorder_options {
	/*
	 * Most bytes on disk; 0: no limit. When they are reached, snapshots give way one by one,
	 * so that what is long ago keeps a coarser view: never the first, the latest or one with a
	 * label.
	 */
	uint64_t keep_bytes;
	uint64_t keep_ns; /* forget snapshots older than this; 0: none */
};

struct recorder;

/* Makes the file, which must not be there yet. 0, or -errno after an error message. */
int recorder_open(struct recorder **recorder, const char *path,
		  const struct recorder_options *options);

/*
 * Adds the report's snapshot, of all sites that the report has: build it without a cut. `label` may
 * be NULL. 0; -errno after a message: the file is as it was before, and the next call may succeed.
 */
int recorder_append(struct recorder *recorder, const struct report *report, const char *label,
		    bool last);

/* How many appends have failed. */
uint64_t recorder_missed(const struct recorder *recorder);
uint64_t recorder_snapshots(const struct recorder *recorder);

/* Puts everything into the one file and closes it. NULL is allowed. */
void recorder_close(struct recorder *recorder);

#endif
