/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every figure that is measured, with what it aims at, and the samples taken of each. */
#ifndef LEAKMON_BENCH_FIGURES_H
#define LEAKMON_BENCH_FIGURES_H

#include <math.h>
#include <stddef.h>

#include "base/vec.h"
#include "child.h"

enum figure {
	PAIR_UNTRACED,
	PAIR_TRACKED,
	PAIR_FLOOR,
	PAIR_ENTRY,
	PAIR_ENTRY_FLOOR,
	PAIR_HEAPTRACK,
	PAIR_MEMLEAK,
	RATIO_FLOOR,
	RATIO_ENTRY,
	RATIO_HEAPTRACK,
	RATIO_MEMLEAK,
	THREAD_UNTRACED,
	THREAD_TRACKED,
	RATIO_THREAD,
	DEPTH_FLOOR,
	DEPTH_TRACKED,
	DEPTH_CHANGING,
	DEPTH_MEMLEAK,
	DEPTH_MEMLEAK_CHANGING,
	RATIO_DEPTH,
	RATIO_DEPTH_CHANGING,
	WALK_FRAME,
	WALK_20,
	WALK_FRAME_AGAIN,
	WALK_20_AGAIN,
	LIBRARIES_ATTACH,
	LIBRARIES_MAPPED,
	NAMES_SITES,
	NAMES_FRAMES,
	NAMES_FUNCTIONS,
	NAMES_LINES,
	NAMES_WITH_LINES,
	NAMES_RSS,
	NAMES_RSS_AFTER,
	SAMPLED_UNTRACED,
	SAMPLED_TRACED,
	SAMPLED_LEFT,
	RATIO_SAMPLED,
	RATIO_SAMPLED_LEFT,
	BYSTANDER_UNTRACED,
	BYSTANDER_TRACED,
	RATIO_BYSTANDER,
	START_END,
	ATTACH,
	EXIT,
	MEMLEAK_ATTACH,
	MEMLEAK_EXIT,
	ATTACH_MULTI,
	STOP_MULTI,
	DETACH_MULTI,
	ATTACH_PERF,
	STOP_PERF,
	DETACH_PERF,
	LAUNCH,
	BLOCKS_SNAPSHOT,
	BLOCKS_RSS,
	BLOCKS_MISSING,
	RETAIN_SMALL_ALL,
	RETAIN_SMALL_PAUSE,
	RETAIN_ALL,
	RETAIN_PAUSE,
	RETAIN_RSS,
	RETAIN_BUSY_ALL,
	RETAIN_BUSY_PAUSE,
	RETAIN_LINKED_ALL,
	RETAIN_LINKED_BYTES,
	RETAIN_LINKED_LARGE_ALL,
	RETAIN_LINKED_LARGE_BYTES,
	RETAIN_LINKED_HUGE_ALL,
	RETAIN_LINKED_HUGE_BYTES,
	SITES_FIRST,
	SITES_LATER,
	SITES_MISSING,
	SITES_LOST,
	IDLE_CPU,
	IDLE_RSS,
	SQLITE_ALLOCATIONS,
	SQLITE_UNTRACED,
	SQLITE_LEAKMON,
	SQLITE_HEAPTRACK,
	SQLITE_SCRIPT,
	SQLITE_ATTACHED,
	SQLITE_MEMLEAK,
	SQLITE_RATIO_ATTACHED,
	SQLITE_RATIO_LEAKMON,
	SQLITE_RATIO_HEAPTRACK,
	CROWD_ATTACH,
	CROWD_LEAVE,
	CROWD_BOTH,
	CROWD_BYSTANDER_ALONE,
	CROWD_BYSTANDER,
	CROWD_LARGE_ATTACH,
	CROWD_LARGE_LEAVE,
	CROWD_LARGE_BOTH,
	CROWD_RATIO_BYSTANDER,
	TRIAGE_CPU,
	TRIAGE_RSS,
	TRIAGE_REDIS_ALONE,
	TRIAGE_REDIS_BESIDE,
	RATIO_TRIAGE_REDIS,
	TRIAGE_REDIS_LOW,
	TRIAGE_REDIS_HIGH,
	TRIAGE_REDIS_CPU_ALONE,
	TRIAGE_REDIS_CPU_BESIDE,
	RATIO_TRIAGE_REDIS_CPU,
	TRIAGE_CROWD,
	TRIAGE_RANK,
	TRIAGE_FIRST,
	TRIAGE_ACCUSED,
	REDIS_SET,
	REDIS_GET,
	REDIS_LPUSH,
	REDIS_SET_TRACKED,
	REDIS_GET_TRACKED,
	REDIS_LPUSH_TRACKED,
	REDIS_SET_ENTRY,
	REDIS_GET_ENTRY,
	REDIS_LPUSH_ENTRY,
	REDIS_SET_RATIO_TRACKED,
	REDIS_GET_RATIO_TRACKED,
	REDIS_LPUSH_RATIO_TRACKED,
	REDIS_SET_RATIO_ENTRY,
	REDIS_GET_RATIO_ENTRY,
	REDIS_LPUSH_RATIO_ENTRY,
	PROFILE_SET_ALONE,
	PROFILE_GET_ALONE,
	PROFILE_LPUSH_ALONE,
	PROFILE_SET,
	PROFILE_GET,
	PROFILE_LPUSH,
	PROFILE_SET_RATIO,
	PROFILE_GET_RATIO,
	PROFILE_LPUSH_RATIO,
	PROFILE_SERVER_ALONE,
	PROFILE_SERVER,
	PROFILE_SERVER_RATIO,
	PROFILE_P999_ALONE,
	PROFILE_P999,
	PROFILE_SPENT,
	PROFILE_WINDOWS,
	PROFILE_CPU,
	PROFILE_RSS,
	PROFILE_SQLITE_ALONE,
	PROFILE_SQLITE,
	PROFILE_SQLITE_RATIO,
	PROFILE_PYTHON_ALONE,
	PROFILE_PYTHON,
	PROFILE_PYTHON_RATIO,
	DIAGNOSE_QUIET_ALONE,
	DIAGNOSE_QUIET,
	DIAGNOSE_QUIET_LOST,
	DIAGNOSE_QUIET_P99_ALONE,
	DIAGNOSE_QUIET_P99,
	DIAGNOSE_QUIET_P99_RATIO,
	DIAGNOSE_QUIET_LONGEST_ALONE,
	DIAGNOSE_QUIET_LONGEST,
	DIAGNOSE_BUSY_ALONE,
	DIAGNOSE_BUSY,
	DIAGNOSE_BUSY_LOST,
	DIAGNOSE_BUSY_P99_ALONE,
	DIAGNOSE_BUSY_P99,
	DIAGNOSE_BUSY_P99_RATIO,
	DIAGNOSE_BUSY_LONGEST_ALONE,
	DIAGNOSE_BUSY_LONGEST,
	FIGURE_MAX_,
};

#define NO_AIM NAN

struct figure_row {
	const char *key; /* in JSON; never changes its meaning */
	const char *title;
	const char *unit;
	int decimals;
	double aim; /* upper limit of the median, or NO_AIM */
	/* A ratio: sample by sample, of figures taken in the same repetition. Else both are 0. */
	enum figure over, under;
};

extern const struct figure_row figure_rows[FIGURE_MAX_];

struct samples {
	VEC(double) values; /* in the order of repetitions */
	struct why why;	    /* why there are none, or fewer than there should be; "" if so */
};

struct results {
	struct samples figures[FIGURE_MAX_];
	struct why why; /* the last error */
};

struct summary {
	double median, minimum, maximum;
	const char *verdict; /* "met", "missed", "not measured", or "" without an aim */
};

void results_add(struct results *results, enum figure figure, double value);
/* 0 when the measurement may go on with other figures: -EINTR travels, everything else becomes,
 * out of results->why, the reason of the figures from first to last, which are taken together. */
int results_settle(struct results *results, enum figure first, enum figure last, int error);
/* Fills in what the samples imply. */
void results_ratios(struct results *results);
/* Leaves the numbers NAN when there are no samples. */
void figure_summarise(const struct results *results, enum figure figure, struct summary *summary);
void results_free(struct results *results);

#endif
