/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles in a recording: each report of `leakmon record --profile` is one, in one transaction,
 * independent of the others. The reader is part of recording.h.
 */
#ifndef LEAKMON_STORE_PROFILE_RUNS_H
#define LEAKMON_STORE_PROFILE_RUNS_H

#include "report/profile_report.h"
#include "report/store/recorder.h"

struct profile_recorder;

/*
 * Creates the file, which must not exist. When it reaches keep_bytes, or profiles are older than
 * keep_ns, the oldest ones but the first are dropped. Returns 0, or -errno after a message.
 */
int profile_recorder_open(struct profile_recorder **recorder, const char *path,
			  const struct recorder_options *options);

/* Appends the report with its sites. Returns 0; -errno after a message: the file is unchanged. */
int profile_recorder_append(struct profile_recorder *recorder, const struct profile_report *report);

uint64_t profile_recorder_count(const struct profile_recorder *recorder);
uint64_t profile_recorder_missed(const struct profile_recorder *recorder);

/* Merges the log into the file and closes it. NULL is allowed. */
void profile_recorder_close(struct profile_recorder *recorder);

#endif
