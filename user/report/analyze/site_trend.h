/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Judges the series of a site (or process): growth with its confidence, and a verdict with its
 * evidence. Adds to report/analyze/trend.h the properties of allocations: how much of the allocated
 * memory survives (a cache that turns over holds a lot, allocates a lot and leaks nothing), its
 * age, and its cost in byte-seconds. report/analyze/verdict.h decides whether it grows, as for
 * processes in triage; a series that does not grow is described by all its points.
 */
#ifndef LEAKMON_ANALYZE_SITE_TREND_H
#define LEAKMON_ANALYZE_SITE_TREND_H

#include "report/history.h"
#include "report/analyze/trend.h"
#include "report/analyze/verdict.h"

/* Smallest part, worth naming, of the common growth of one call's stacks. */
#define SITE_MERGED_SHARE 0.01

/*
 * Judges a site. About 100 microseconds for a changing site. trend_verdict_name() names the
 * verdict.
 */
void site_trend_of(struct site_trend *trend, const struct history *history,
		   const struct history_site *site);
/* Judges a process's total, without ages. */
void site_trend_of_process(struct site_trend *trend, const struct history *history,
			   const struct history_process *process);

/*
 * The lasting part of a site around a snapshot, as opposed to memory in flight when it was taken:
 * two snapshots of a leak-free program differ by the requests they happened to meet.
 *
 * It is the minimum that the site held in a window of snapshots around the one in question, since
 * everything above was freed in that window. For steady growth the minimum is too low: for a site
 * that has never shrunk and rises in at least half of the steps, it is the present amount; for one
 * that rises now and then, the amount held for LEVEL_HELD snapshots. For fluctuation above certain
 * growth, the growth since the low points is added.
 */

/* Window size: at most this many snapshots, and a quarter of the existing ones. */
#define LEVEL_SNAPSHOTS 16
#define LEVEL_SHARE 4
#define LEVEL_HELD 3

struct level {
	uint64_t bytes, count;		/* the lasting part */
	uint64_t low_bytes, high_bytes; /* its range in the window */
	uint64_t low_count, high_count;
	bool grows; /* for certain: its bounds move with it */
};

/* Points of a history, inclusive; `at` is one of them. */
struct level_window {
	size_t first, at, last;
};

/*
 * Returns a window around times.items[at], symmetric if possible. `span` is the number of snapshots
 * available, e.g. from one to the other. A single snapshot is a window, too: then the lasting part
 * is the amount it holds.
 */
struct level_window level_window(const struct history *history, size_t at, size_t span);

void level_of(struct level *level, const struct history *history, const struct history_site *site,
	      const struct level_window *window);

#endif
