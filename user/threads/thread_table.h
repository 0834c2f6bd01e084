/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the threads family's maps hold at one time. */
#ifndef LEAKMON_THREADS_THREAD_TABLE_H
#define LEAKMON_THREADS_THREAD_TABLE_H

#include "base/hash.h"
#include "base/vec.h"
#include "leakmon_thread.h"
#include "probe/loader.h"

struct thread_table {
	VEC(struct lm_thread) threads; /* on the books, living and dead; by process, then by age */
	VEC(struct thread_process) processes;
};

struct thread_process {
	lm_process_key key;
	struct lm_thread_books books;
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

#endif
