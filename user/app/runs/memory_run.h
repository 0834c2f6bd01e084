/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon memory`: reads processes at intervals, or a core file. */
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
	struct pause_options pause;	/* for named processes: no others are stopped */
	struct schedule schedule;
	struct output_options output;
};

/* Runs it. Returns the exit code. */
int memory_run(const struct memory_options *options);

#endif
