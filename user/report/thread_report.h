/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dead threads by creator, and the holders of what could still join them: plain data. */
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
	enum verdict verdict; /* VERDICT_LOST: nobody keeps it */
	size_t count;	      /* threads */
	uint64_t first, last; /* in the root or block: the lowest and the highest offset */
	uint32_t path;	      /* in holding->result.paths: to one of them; RESULT_NONE: none */
};

struct thread_holder_list {
	VEC(struct thread_holder) list; /* most threads first */
	/* Threads with a stack in a block of the heap, or joined meanwhile. */
	size_t unknown;
};

/* Subjects of the paths of a process's holders. */
struct thread_holding {
	int err;		     /* 0; else nothing was found out, and why */
	struct retain_result result; /* of the paths */
	/* From this place on, result.paths lead to objects of a managed language's threads that
	 * have ended: one path for each class of them. */
	size_t ended;
};

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
	bool before_attach; /* that is when they were made: their creator is unknown */
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

/* Living threads of one group that wait at the same place. */
#define LIVE_WAIT_FRAMES 16
struct live_wait {
	size_t count, depth;		      /* depth 0: they ran */
	uint64_t addresses[LIVE_WAIT_FRAMES]; /* innermost first */
	struct frames stack;		      /* owned */
};

/* Living threads that were made by the same stack to run the same function. */
struct live_group {
	uint64_t id;
	size_t count;
	bool before_attach;  /* their creator is unknown */
	bool main;	     /* the thread that the process began with */
	int64_t first_count; /* at the first report, since_ns ago; negative: this is it */
	uint64_t since_ns;
	uint64_t start_routine; /* 0: not known */
	size_t depth;
	uint64_t addresses[LM_MAX_FRAMES]; /* of pthread_create's caller, and its callers */
	struct frames stack, start;	   /* owned */
	VEC(struct live_wait) waits;	   /* most threads first */
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
	VEC(struct live_group) live;	 /* most threads first; empty: not asked for */
	bool no_library;		 /* of threads: its native ones are not followed */
	struct task_report *goroutines;	 /* of a Go program; owned; NULL: it is none */
	/* Of a recording, over time; borrowed; NULL: not known. */
	const struct task_series *goroutine_series;
	VEC(struct runtime_figures) runtimes; /* what these say of their threads */
	struct task_report *virtual_threads;  /* of a JVM that uses any; owned */
	struct thread_holding *holding;	      /* holders of their pthread_t; NULL: not asked for */
	/* Of a runtime whose threads' objects can outlive them: its name; NULL: of none.
	 * Borrowed */
	const char *managed;
};

struct thread_report {
	struct timespec time;
	uint64_t sequence, now_ns; /* CLOCK_MONOTONIC */
	bool show_threads;
	struct text_form form;
	bool stored;	   /* goroutines of a recording, and nothing else */
	const char *since; /* what they are compared with, "a.lkm #3"; NULL: their first reading */
	bool everywhere;   /* all processes: those without dead threads are only counted */
	bool heap;	   /* heap_bytes and heap_count are known */
	VEC(struct thread_census) processes;
};

/* Of a struct thread_census, and of its ledger; of groups; heap_bytes and heap_count are known if
 * thread_report.heap. */
struct figures;
extern const struct figures thread_count_figures, thread_ledger_figures, thread_group_figures,
	live_group_figures;

void thread_census_free(struct thread_census *census);
void thread_report_free(struct thread_report *report);

/* Why nothing was found out: of an err that is not 0. Static, or strerror()'s. */
const char *thread_holding_why(const struct thread_holding *holding);

#endif
