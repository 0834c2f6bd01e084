/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One profiled process: its samples, its window budget, and its memory over time. */
#ifndef LEAKMON_PROFILE_PROFILE_TARGET_H
#define LEAKMON_PROFILE_PROFILE_TARGET_H

#include <time.h>

#include "app/profile/exact.h"
#include "app/profile/profiled.h"
#include "app/profile/window_scheduler.h"
#include "leakmon_abi.h"
#include "report/analyze/trend.h"
#include "report/heap_floor.h"

struct runtime;

/* Whether garbage in a runtime's heap may hold blocks of malloc, by collections of all of it. */
struct garbage_watch {
	unsigned looks;
	const struct runtime *runtime;
	bool holds;	    /* it may: a runtime of which that is known */
	uint64_t full;	    /* collections so far */
	double collected_s; /* when the last one was noticed; 0: none was yet */
};

/* A look at the process `pid`, while there is something to look for. */
void garbage_watch_look(struct garbage_watch *watch, pid_t pid, double now_s);
/* What such a look has found. */
void garbage_watch_note(struct garbage_watch *watch, const struct heap_floor *floor, double now_s);
/* Whether blocks that have lived for PROFILE_AGE_LEAK may be garbage's. */
bool garbage_watch_doubts(const struct garbage_watch *watch, double now_s);

struct profile_target {
	pid_t pid;
	uint64_t start_ticks;
	lm_process_key key; /* that has these figures; 0: none yet */
	char comm[16];
	struct container *container; /* owned; NULL: none */
	struct profiled profiled;
	struct garbage_watch garbage;
	struct window_budget budget;
	struct exact_tracking exact;
	double apart_s; /* CPU time that exact tracking has cost it beside `budget` */
	clockid_t clock;
	bool is_due, ended;
	double growth; /* bytes per second for sure, by the latest report: growing ones come first
			*/
	double turn_s; /* when it had its latest window, or came */
	double refused_until_s, refused_for_s; /* it could not be probed: not asked again before */
	uint64_t dropped;
	uint64_t missed;		    /* windows that could not be opened, or read in time */
	int missed_why;			    /* errno of the latest */
	double memory_bytes, memory_read_s; /* negative: not known, not read yet */
	VEC(struct trend_point) memory;	    /* bytes over time */
};

/* Updates comm; it stays as it was if it cannot be read. */
void profile_target_read_comm(struct profile_target *target);

/* Adds a reading of its memory; no effect if it cannot be read. */
void profile_target_read_memory(struct profile_target *target, double now_s);

/* CPU time that the process has used, in seconds; 0: it has ended. */
double profile_target_cpu_s(const struct profile_target *target);

/* After an exec: the figures of the program before are dropped. `key` is that of the new one, 0 if
 * it is not known yet. */
void profile_target_restart(struct profile_target *target, uint64_t seed, lm_process_key key);

/* Frees it; its probes are gone then. */
void profile_target_free(struct profile_target *target);

#endif
