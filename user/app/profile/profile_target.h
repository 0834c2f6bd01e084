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

/* Tells from full collections whether garbage in a runtime's heap may hold blocks of malloc. */
struct garbage_watch {
	unsigned looks;
	const struct runtime *runtime;
	bool holds;	    /* its runtime is known to hold such blocks */
	uint64_t full;	    /* full collections so far */
	double collected_s; /* when the latest collection was noticed; 0: none yet */
};

/* Reads the heap of the process `pid`, unless it is known to have no such runtime. */
void garbage_watch_look(struct garbage_watch *watch, pid_t pid, double now_s);
/* Takes the figures of one reading, as garbage_watch_look() does. */
void garbage_watch_note(struct garbage_watch *watch, const struct heap_floor *floor, double now_s);
/* Returns whether garbage may hold blocks that have lived for PROFILE_AGE_LEAK. */
bool garbage_watch_doubts(const struct garbage_watch *watch, double now_s);

struct profile_target {
	pid_t pid;
	uint64_t start_ticks;
	lm_process_key key; /* of these figures; 0: none yet */
	char comm[16];
	struct container *container; /* owned; NULL: not in a container */
	struct profiled profiled;
	struct garbage_watch garbage;
	struct window_budget budget;
	struct exact_tracking exact;
	double apart_s; /* CPU time lost to exact tracking outside `budget` */
	clockid_t clock;
	bool is_due, ended;
	/* certain growth in bytes per second, from the latest report: ranks the targets */
	double growth;
	double turn_s; /* time of its latest window, or of its arrival */
	/* after a refusal: time of the next attempt, and the pause */
	double refused_until_s, refused_for_s;
	uint64_t dropped;
	uint64_t missed; /* windows that could not be opened, or not read in time */
	int missed_why;	 /* errno of the latest missed window */
	double memory_bytes, memory_read_s; /* negative: unknown, not yet read */
	VEC(struct trend_point) memory;	    /* bytes over time */
};

/* Updates comm; leaves it untouched if it cannot be read. */
void profile_target_read_comm(struct profile_target *target);

/* Adds a reading of its memory; does nothing if it cannot be read. */
void profile_target_read_memory(struct profile_target *target, double now_s);

/* Returns the CPU time of the process, in seconds; 0: it has ended. */
double profile_target_cpu_s(const struct profile_target *target);

/*
 * Drops the figures of the old program after an exec. `key`: of the new program; 0: not yet known.
 */
void profile_target_restart(struct profile_target *target, uint64_t seed, lm_process_key key);

/* Removes its probes and frees it. */
void profile_target_free(struct profile_target *target);

#endif
