/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon threads`: reports dead threads, at intervals, with the holders of their pthread_t. */
#ifndef LEAKMON_RUNS_THREADS_RUN_H
#define LEAKMON_RUNS_THREADS_RUN_H

#include "app/monitor/session.h"
#include "process/pause/stop.h"

struct threads_options {
	struct session_options session;
	struct pause_options pause;
	bool show_threads; /* list each dead one */
	bool heap;	   /* track the heap, too */
	bool holders;	   /* find the holders of their pthread_t */
};

_Static_assert(!offsetof(struct threads_options, session), "a session's options stand first");

/* Runs it. Returns the exit code. */
int threads_run(const struct threads_options *options);

#endif
