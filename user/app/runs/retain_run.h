/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `leakmon retain`: heap images and reports of processes tracked for an interval first, of
 * untracked ones (a census), or of a core file.
 */
#ifndef LEAKMON_RUNS_RETAIN_RUN_H
#define LEAKMON_RUNS_RETAIN_RUN_H

#include "app/monitor/session.h"
#include "process/pause/stop.h"
#include "process/proc/core.h"

struct retain_options {
	struct session_options session;
	struct pause_options pause;
	struct core_options core; /* path NULL: processes */
	bool census;		  /* without probes and BPF: only the heap's own evidence */
	bool own;		  /* only the heap profile that the process itself keeps */
	const char *recording;	  /* recording to create or append to, or NULL */
	const char *label;
	uint64_t address; /* show the paths to this block; 0: off */
	/* and paths to blocks of this class, or allocated below this site */
	const char *class, *site;
};

_Static_assert(!offsetof(struct retain_options, session), "a session's options stand first");

/* Runs it. Returns the exit code. */
int retain_run(const struct retain_options *options);

#endif
