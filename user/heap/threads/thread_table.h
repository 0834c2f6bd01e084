/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contents of the threads family's maps at one time. */
#ifndef LEAKMON_THREADS_THREAD_TABLE_H
#define LEAKMON_THREADS_THREAD_TABLE_H

#include "base/hash.h"
#include "base/vec.h"
#include "leakmon_thread.h"
#include "trace/probe/loader.h"

struct thread_table {
	VEC(struct lm_thread) threads; /* on the ledger, alive and dead; by process, then by age */
	VEC(struct thread_process) processes;
};

struct thread_process {
	lm_process_key key;
	struct lm_thread_ledger ledger;
};

/* Reads the maps. Returns 0 or -errno, and leaves *table untouched on error. */
int thread_table_read(const struct bpf_side *bpf, struct thread_table *table);
void thread_table_free(struct thread_table *table);

/*
 * Deletes the entries of ended processes, the keys of `ended`, from the maps. Returns 0 or -errno.
 */
int thread_table_purge(const struct bpf_side *bpf, const struct hash *ended);

/* Returns whether the thread has ended without being joined. */
static inline bool thread_is_dead(const struct lm_thread *thread)
{
	return thread->died_ns || !thread->tid;
}

/* The threads of a process as the kernel lists them at one time. */

struct thread_tasks {
	lm_process_key process;
	uint32_t leader; /* getpid() in the process's own PID namespace */
	bool leader_lives;
	VEC(struct lm_task) list; /* by ascending inner_tid */
};

/*
 * Reads the tasks of a process. Returns 0; -ESRCH: no running thread; or -errno. *tasks is
 * untouched on error.
 */
int thread_tasks_read(const struct bpf_side *bpf, pid_t pid, struct thread_tasks *tasks);

/* Makes reports show the process even if no probe ever fires in it. Returns 0 or -errno. */
int thread_tasks_open_process(const struct bpf_side *bpf, pid_t pid);
void thread_tasks_free(struct thread_tasks *tasks);

/* Finds a task by its tid in the process's own namespace, or NULL. */
const struct lm_task *thread_tasks_find(const struct thread_tasks *tasks, uint32_t inner_tid);

#endif
