/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon memory`: readings of processes, or one of a core file, from the first to the last. */
#ifndef LEAKMON_RUNS_MEMORY_RUN_H
#define LEAKMON_RUNS_MEMORY_RUN_H

#include "app/monitor/emit.h"
#include "app/monitor/report_loop.h"
#include "process/pause/stop.h"
#include "process/proc/core.h"
#include "process/proc/selector.h"

struct memory_options {
	struct selector_config targets; /* none: every process */
	struct core_options core;	/* path NULL: processes */
	struct pause_options pause;	/* of processes that are named: nothing else is stopped */
	struct schedule schedule;
	struct output_options output;
};

/* Returns the exit code. */
int memory_run(const struct memory_options *options);

#endif
