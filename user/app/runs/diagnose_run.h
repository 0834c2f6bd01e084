/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `leakmon diagnose`: combines readings of memory, a profile and scans of the heap into one answer
 * for each process.
 */
#ifndef LEAKMON_RUNS_DIAGNOSE_RUN_H
#define LEAKMON_RUNS_DIAGNOSE_RUN_H

#include "app/profile/profile_options.h"
#include "process/pause/stop.h"

/* With more processes, each would get too little of the budget. */
#define DIAGNOSE_PROCESSES_MAX 3

struct diagnose_options {
	struct profile_options profile; /* its schedule is set by the run */
	struct pause_options pause;
	uint64_t for_ns;
	bool everywhere; /* no target: diagnose the suspects of a triage of the machine */
};

_Static_assert(!offsetof(struct diagnose_options, profile.session),
	       "a session's options stand first");

/* Diagnoses. Returns the exit code: EXIT_LEAK if a process leaks, or grows steadily. */
int diagnose_run(const struct diagnose_options *options);

#endif
