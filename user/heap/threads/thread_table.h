/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contents of the threads family's maps at one time. */
#ifndef LEAKMON_THREADS_THREAD_TABLE_H
#define LEAKMON_THREADS_THREAD_TABLE_H

#include "base/hash.h"
#include "base/vec.h"
#include "leakmon_thread.h"
#include "trace/probe/loader.h"

struct thread_table {
	VEC(struct lm_thread) threads; /* on the ledger, living and dead; by process, then by age */
	VEC(struct thread_process) processes;
};

struct thread_process {
	lm_process_key key;
	struct lm_thread_ledger ledger;
};

/* 0 or -errno, and *table untouched. */
int thread_table_read(const struct bpf_side *bpf, struct thread_table *table);
void thread_table_free(struct thread_table *table);

/*
 * Gives up what the maps hold of processes that have ended: the keys of `ended`. 0 or -errno.
 */
int thread_table_purge(const struct bpf_side *bpf, const struct hash *ended);

/* Whether it ended and nobody has taken its pthread_t. */
static inline bool thread_is_dead(const struct lm_thread *thread)
{
	return thread->died_ns || !thread->tid;
}

/* The threads of a process as the kernel has them at one time. */

struct thread_tasks {
	lm_process_key process;
	uint32_t leader; /* what the process calls itself: getpid() in its own PID namespace */
	bool leader_lives;
	VEC(struct lm_task) list; /* by ascending inner_tid */
};

/* 0; -ESRCH: it has no thread that runs; -errno. *tasks is untouched on error. */
int thread_tasks_read(const struct bpf_side *bpf, pid_t pid, struct thread_tasks *tasks);

/* Has the process shown in reports, even if it never does what is probed. 0 or -errno. */
int thread_tasks_open_process(const struct bpf_side *bpf, pid_t pid);
void thread_tasks_free(struct thread_tasks *tasks);

/* By what the process itself calls the thread; NULL: there is none. */
const struct lm_task *thread_tasks_find(const struct thread_tasks *tasks, uint32_t inner_tid);

#endif
