/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads family beside the heap: attached to the same processes, shown in the same reports. */
#ifndef LEAKMON_MONITOR_SESSION_THREADS_H
#define LEAKMON_MONITOR_SESSION_THREADS_H

#include "app/monitor/session.h"
#include "heap/threads/thread_census.h"
#include "heap/threads/thread_table.h"
#include "trace/collect/owners.h"

/* Threads at the time of one snapshot. Zero-initialise. */
struct session_threads {
	struct thread_table table;
	struct owners owners;
	bool keeps; /* what follows is filled in, for whoever asks for single threads */
	VEC(struct thread_census) censuses; /* of each process of the snapshot, in its order */
};

/*
 * Probes the thread libraries that a process has mapped. That it cannot be done is said, and no
 * reason not to watch its heap. Nothing without session.follows_threads.
 */
void session_threads_attach(struct session *session, struct tracked *tracked,
			    const struct process *process);

/*
 * Before anything is attached to, for probes that are not set on single processes: finds the files
 * that must not have any. 0, or -errno after a message.
 */
int session_threads_everywhere(struct session *session);

/* Before the heap is read. 0 or -errno. */
int session_threads_take(struct session *session, struct session_threads *threads);

/* After it: fills in snapshot_process.threads. 0 or -errno. */
int session_threads_fill(struct session *session, struct session_threads *threads,
			 struct snapshot *snapshot);

/* A collect_options.on_ended: gives up what is known of the threads of ended processes. */
int session_threads_ended(void *session, const struct hash *ended);

void session_threads_free(struct session_threads *threads);

#endif
