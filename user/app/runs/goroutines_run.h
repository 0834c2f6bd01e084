/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Goroutines in `leakmon threads`: beside the dead threads of a Go program with a thread library,
 * or alone for one without, which needs no probes.
 */
#ifndef LEAKMON_RUNS_GOROUTINES_RUN_H
#define LEAKMON_RUNS_GOROUTINES_RUN_H

#include "app/runs/threads_run.h"
#include "report/thread_report.h"

/* Earlier readings of each program, for comparison. Zero-initialise. */
struct task_histories {
	VEC(struct tasks_of) list;
};

/* Compares a reading of that process with earlier ones, unless it failed. Returns 0 or -ENOMEM. */
int task_histories_add(struct task_histories *histories, uint32_t pid, struct task_report *report);

/* Reads the goroutines of a census's process, if it is a Go program. Returns 0 or -ENOMEM. */
int goroutines_add(struct task_histories *histories, struct thread_census *census);
void task_histories_free(struct task_histories *histories);

/*
 * Returns whether all targets are Go programs without a C library, and so without its threads and
 * malloc.
 */
bool go_programs_only(const struct selector_config *chosen);
/* Reports their goroutines until they end, or as long as requested. Returns the exit code. */
int goroutines_run(const struct threads_options *options);

#endif
