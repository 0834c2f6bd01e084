/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dead threads by creator, and the holders of the handles that could still join them: plain data.
 */
#ifndef LEAKMON_REPORT_THREAD_REPORT_H
#define LEAKMON_REPORT_THREAD_REPORT_H

#include <time.h>

#include "base/text.h"
#include "base/vec.h"
#include "leakmon_thread.h"
#include "report/task_report.h"
#include "report/retain_result.h"
#include "report/runtime_figures.h"
#include "process/symbol/symbolizer.h"

/* Threads of one group with their pthread_t in one place: a root, or blocks of a class. */
struct thread_holder {
	enum verdict verdict; /* VERDICT_LOST: nothing holds it */
	size_t count;	      /* threads */
	uint64_t first, last; /* in the root or block: the lowest and the highest offset */
	/* index in holding->result.paths of a path to one of them; RESULT_NONE: none */
	uint32_t path;
};

struct thread_holder_list {
	VEC(struct thread_holder) list; /* most threads first */
	/* Threads with a stack in a block of the heap, or joined meanwhile. */
	size_t unknown;
};

/* Targets of the paths to a process's holders. */
struct thread_holding {
	int err;		     /* nonzero: why nothing was found */
	struct retain_result result; /* of the paths */
	/*
	 * From this index on, result.paths lead to objects of a managed language's ended threads:
	 * one path per class.
	 */
	size_t ended;
};

/* The threads of the watched processes at one time: the output of `leakmon threads`. */

struct dead_thread {
	struct lm_thread thread;
	uint64_t stack_start, stack_end; /* equal: supplied by the program, or not found */
	uint64_t resident_bytes;	 /* of it */
	uint64_t heap_bytes, heap_count; /* outstanding blocks allocated by it */
};

/* Dead threads that one stack created to run one function. */
struct thread_group {
	uint32_t site;
	bool before_attach; /* created before: their creator is unknown */
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

/* Live threads of one group that wait at the same place. */
#define LIVE_WAIT_FRAMES 16
struct live_wait {
	size_t count, depth;		      /* depth 0: they were running */
	uint64_t addresses[LIVE_WAIT_FRAMES]; /* innermost first */
	struct frames stack;		      /* owned */
};

/* Live threads that one stack created to run one function. */
struct live_group {
	uint64_t id;
	size_t count;
	bool before_attach;  /* their creator is unknown */
	bool main;	     /* the process's initial thread */
	int64_t first_count; /* at the first report, since_ns ago; negative: this is the first */
	uint64_t since_ns;
	uint64_t start_routine; /* 0: unknown */
	size_t depth;
	uint64_t addresses[LM_MAX_FRAMES]; /* of pthread_create's caller, and its callers */
	struct frames stack, start;	   /* owned */
	VEC(struct live_wait) waits;	   /* most threads first */
};

struct thread_census {
	lm_process_key process; /* 0: no ledger yet */
	uint32_t pid;
	char comm[16];
	const char *why;	/* why its threads cannot be followed; NULL: they are. Borrowed */
	const char *why_before; /* the same for threads from before the attach */
	size_t dead_before;	/* of `dead`: created before the attach */
	uint64_t alive;
	struct lm_thread_ledger ledger;
	uint64_t stack_bytes, resident_bytes; /* of dead threads */
	uint64_t heap_bytes, heap_count;
	VEC(struct dead_thread) dead;	 /* by group, then by age */
	VEC(struct thread_group) groups; /* most threads first */
	VEC(struct live_group) live;	 /* most threads first; empty: not requested */
	/* no thread library: its native threads are not followed */
	bool no_library;
	struct task_report *goroutines; /* of a Go program; owned; NULL: not one */
	/* From a recording, over time; borrowed; NULL: unknown. */
	const struct task_series *goroutine_series;
	VEC(struct runtime_figures) runtimes; /* figures of their threads */
	struct task_report *virtual_threads;  /* of a JVM with virtual threads; owned; NULL: none */
	struct thread_holding *holding;	      /* holders of their pthread_t; NULL: not requested */
	/* Name of a runtime whose threads' objects can outlive them; NULL: none. Borrowed */
	const char *managed;
};

struct thread_report {
	struct timespec time;
	uint64_t sequence, now_ns; /* CLOCK_MONOTONIC */
	bool show_threads;
	struct text_form form;
	bool stored;	   /* goroutines of a recording only */
	const char *since; /* the basis of comparison, "a.lkm #3"; NULL: their first reading */
	bool everywhere;   /* all processes: those without dead threads are only counted */
	bool heap;	   /* heap_bytes and heap_count are known */
	VEC(struct thread_census) processes;
};

/*
 * Figures of a struct thread_census, and of its ledger; of groups; heap_bytes and heap_count are
 * known if thread_report.heap.
 */
struct figures;
extern const struct figures thread_count_figures, thread_ledger_figures, thread_group_figures,
	live_group_figures;

void thread_census_free(struct thread_census *census);
void thread_report_free(struct thread_report *report);

/* Returns why nothing was found, for a nonzero err. Static, or strerror()'s. */
const char *thread_holding_why(const struct thread_holding *holding);

#endif
