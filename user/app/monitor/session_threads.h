/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracks threads beside the heap: attached to the same processes, shown in the same reports. */
#ifndef LEAKMON_MONITOR_SESSION_THREADS_H
#define LEAKMON_MONITOR_SESSION_THREADS_H

#include "app/monitor/session.h"
#include "heap/threads/thread_census.h"
#include "heap/threads/thread_table.h"
#include "trace/collect/owners.h"

/* The threads at the time of one snapshot. Zero-initialise. */
struct session_threads {
	struct thread_table table;
	struct owners owners;
	bool keeps; /* fill in `censuses`, for callers that need single threads */
	VEC(struct thread_census) censuses; /* one for each process of the snapshot, in its order */
};

/*
 * Probes the thread libraries that a process has mapped. A failure is logged, and its heap is
 * watched anyway. Does nothing without session.follows_threads.
 */
void session_threads_attach(struct session *session, struct tracked *tracked,
			    const struct process *process);

/*
 * Finds the files that must not be probed, for probes on files rather than processes; call it
 * before the first attachment. Returns 0, or -errno after a message.
 */
int session_threads_everywhere(struct session *session);

/* Reads the threads; call it before the heap is read. Returns 0 or -errno. */
int session_threads_take(struct session *session, struct session_threads *threads);

/* Fills in snapshot_process.threads; call it after the heap was read. Returns 0 or -errno. */
int session_threads_fill(struct session *session, struct session_threads *threads,
			 struct snapshot *snapshot);

/* Implements collect_options.on_ended: purges the threads of ended processes. */
int session_threads_ended(void *session, const struct hash *ended);

void session_threads_free(struct session_threads *threads);

#endif
