/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What both ways of `leakmon retain` do: from a heap image to what is written. */
#ifndef LEAKMON_COMMAND_RETAIN_RUN_H
#define LEAKMON_COMMAND_RETAIN_RUN_H

#include <stdio.h>

#include "analyze/report.h"
#include "command/command.h"
#include "output/retain.h"
#include "retain/result.h"
#include "retain/retain.h"
#include "sandbox/worker.h"
#include "symbol/symbolizer.h"

struct retain_run {
	const struct retain_options *options;
	const struct output_format *format;
	FILE *out;
	struct worker *worker;
	struct symbolizer *symbolizer;
	VEC(struct retain_result) earlier; /* the latest result of each process */
	uint64_t runs;
};

/* What was tracked of one process: nothing, if all is zero. */
struct retain_tracked {
	struct tracked_block *blocks; /* by address */
	size_t count;
	const struct report_site **sites; /* by number - 1 */
	size_t site_count;
	uint64_t dropped; /* allocations that could not be tracked */
	bool complete;	  /* since the process began, and none is missing */
};

/* 0, or -errno after an error message. */
int retain_run_open(struct retain_run *run, const struct retain_options *options);
void retain_run_close(struct retain_run *run);

/* The heap image, on the heap; NULL after an error message. */
struct retain *retain_run_begin(struct retain_run *run, pid_t pid);

/* Concludes, writes and frees it. 0, or -errno after an error message. */
int retain_run_finish(struct retain_run *run, struct retain *retain,
		      const struct retain_tracked *tracked);

/* Without BPF: reads no more than the heap itself. Returns the exit code. */
int retain_run_census(const struct retain_options *options);

/* Watches for an interval first, so that blocks have call stacks. Returns the exit code. */
int retain_run_tracked(const struct retain_options *options);

#endif
