/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon report`: shows a snapshot, profile, retention, or goroutines, from a recording. */
#ifndef LEAKMON_RUNS_STORED_REPORT_H
#define LEAKMON_RUNS_STORED_REPORT_H

#include "app/monitor/emit.h"
#include "output/output.h"
#include "report/store/recording.h"
#include "report/thread_report.h"

/* The part of a recording to show. */
struct show_options {
	const char *path;
	const char *at;	  /* NULL: the last */
	const char *host; /* of a fleet, only this one; or NULL */
	bool oom;	  /* list kills, and show one */
	bool retain_runs; /* show retentions instead of snapshots */
	bool profiles;	  /* show profiles */
	bool goroutines;  /* show goroutines */
	struct output_options output;
};

/* Runs it. Returns the exit code. */
int stored_report(const struct show_options *options);

/* -------- for stored_diff.c, too */

/* Return whether a recording has only these, and no snapshots. */
bool stored_profiles_only(const struct recording *recording);
bool stored_retentions_only(const struct recording *recording);
bool stored_goroutines_only(const struct recording *recording);

/* Returns 0 if a format can show this kind of stored data, or -EINVAL after a message. */
int stored_check_format(const char *name, enum output_kind kind);

/*
 * Read a stored profile or retention; `at` NULL: the last one. Return 0, or -errno after a message.
 */
int stored_profile_read(struct recording *recording, const char *at, struct profile_report *report);
int stored_retention_read(struct recording *recording, const char *at, size_t *position,
			  struct retain_result *result);
/*
 * Reads stored goroutines into a report of one process, if the format can show them; `at` NULL: the
 * last ones. Returns 0, or -errno after a message.
 */
int stored_goroutines_read(struct recording *recording, const char *at,
			   const struct output_options *output, size_t *position,
			   struct thread_report *report);

#endif
