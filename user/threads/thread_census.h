/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LEAKMON_THREADS_THREAD_CENSUS_H
#define LEAKMON_THREADS_THREAD_CENSUS_H

#include <stdio.h>
#include <time.h>

#include "collect/owners.h"
#include "report/snapshot.h"
#include "symbol/symbolizer.h"
#include "threads/thread_holders.h"
#include "threads/thread_table.h"

/* The threads of the watched processes at one time: what `leakmon threads` prints. */

struct dead_thread {
	struct lm_thread thread;
	uint64_t stack_start, stack_end; /* equal: given by the program, or not found */
	uint64_t resident_bytes;	 /* of it */
	uint64_t heap_bytes, heap_count; /* outstanding blocks that it allocated */
};

/* Dead threads that were made by the same stack to run the same function. */
struct thread_group {
	uint32_t site;
	bool before_attach; /* that is when they were made: nobody saw by whom */
	uint64_t start_routine;
	size_t first, count; /* in thread_census.dead */
	uint64_t oldest_died_ns, newest_died_ns;
	uint64_t stack_bytes, resident_bytes, heap_bytes, heap_count;
	size_t depth;
	uint64_t addresses[LM_MAX_FRAMES]; /* of pthread_create's caller, and its callers */
	enum lm_walk_end end;
	struct frames stack, start; /* owned */
	struct thread_holder_list holders;
};

struct thread_census {
	lm_process_key process; /* 0: it has no ledger yet */
	uint32_t pid;
	char comm[16];
	const char *why;	/* its threads cannot be followed; NULL: they are. Borrowed */
	const char *why_before; /* the same of those that were there before the attach */
	size_t dead_before;	/* of `dead`: made before the attach */
	uint64_t alive;
	struct lm_thread_ledger ledger;
	uint64_t stack_bytes, resident_bytes; /* of dead threads */
	uint64_t heap_bytes, heap_count;
	VEC(struct dead_thread) dead;	 /* by group, then by age */
	VEC(struct thread_group) groups; /* most threads first */
	struct thread_holding *holding;	 /* who has their pthread_ts; NULL: not asked */
};

struct thread_report {
	struct timespec time;
	uint64_t sequence, now_ns; /* CLOCK_MONOTONIC */
	bool show_threads, colour;
	bool everywhere; /* all processes: those without dead threads are only counted */
	bool heap;	 /* heap_bytes and heap_count are known */
	VEC(struct thread_census) processes;
};

/*
 * The census of one process from the table; names are not filled in. Set census->pid and
 * census->process before. `owners` says what the dead hold on the heap; NULL: it is not tracked.
 * 0 or -ENOMEM.
 */
int thread_census_take(struct thread_census *census, const struct thread_table *table,
		       const struct owners *owners, const struct bpf_side *bpf);
/* The same as plain numbers; `alive` is left as it is. 0 or -ENOMEM (free the figures). */
int thread_census_figures(const struct thread_census *census, uint64_t now_ns,
			  struct thread_figures *figures);
/* The dead threads of the table, to be filled in by a reading of the heap. 0 or -ENOMEM. */
int thread_table_owners(const struct thread_table *table, struct owners *owners);
void thread_census_free(struct thread_census *census);
void thread_report_free(struct thread_report *report);

#endif
