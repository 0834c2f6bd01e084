/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon diff`: compares two snapshots, profiles or retentions, of one recording or of two. */
#ifndef LEAKMON_RUNS_STORED_DIFF_H
#define LEAKMON_RUNS_STORED_DIFF_H

#include "app/monitor/emit.h"
#include "report/analyze/diff_build.h"

struct diff_options {
	const char *before, *after; /* optionally with @SEQ; after NULL: the end of `before` */
	enum diff_group by;
	bool retain_runs, profiles, goroutines; /* compare these instead of snapshots */
	struct output_options output;
};

/* Runs it. Returns the exit code. */
int stored_diff(const struct diff_options *options);

#endif
