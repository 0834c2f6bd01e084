/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Judgement on a series of one site (or process): growth with its confidence, and a verdict in a
 * word with its evidence. Adds to report/analyze/trend.h what only allocations have: how much of
 * what was allocated survives (a cache that turns over holds a lot, allocates a lot and leaks
 * nothing), how old it is, and how many byte-seconds it has cost. Whether it grows is decided by
 * report/analyze/verdict.h, as for processes in triage; of what does not grow, every point that is
 * kept shows how it came about.
 */
#ifndef LEAKMON_ANALYZE_SITE_TREND_H
#define LEAKMON_ANALYZE_SITE_TREND_H

#include "report/history.h"
#include "report/analyze/trend.h"
#include "report/analyze/verdict.h"

/* For what the call stacks of one call have gained together, a part worth naming. */
#define SITE_MERGED_SHARE 0.01

/* About 100 microseconds for a site that moves. trend_verdict_name() puts the verdict into a
 * word. */
void site_trend_of(struct site_trend *trend, const struct history *history,
		   const struct history_site *site);
/* The same for a process' total, without ages. */
void site_trend_of_process(struct site_trend *trend, const struct history *history,
			   const struct history_process *process);

/*
 * The part of a site that stays around a snapshot, as opposed to what was in flight when it was
 * taken: two snapshots of a program that leaks nothing differ by whatever request they met.
 *
 * It is the least that the site held in a window of snapshots around the one in question, since
 * nothing below that was freed in that window. For steady growth the least is too little: a site
 * that has never given anything back and rises in at least half of the steps holds what it holds
 * now, one that rises now and then what it has held for LEVEL_HELD snapshots. Of what comes and
 * goes above something that grows for sure, the growth since the low points is added.
 */

/* A window of at most so many snapshots, and a quarter of those that there are. */
#define LEVEL_SNAPSHOTS 16
#define LEVEL_SHARE 4
#define LEVEL_HELD 3

struct level {
	uint64_t bytes, count;		/* what stays */
	uint64_t low_bytes, high_bytes; /* between which it moved in the window */
	uint64_t low_count, high_count;
	bool grows; /* for sure: its bounds move with it */
};

/* Points of a history, the last one included; `at` is one of them. */
struct level_window {
	size_t first, at, last;
};

/*
 * Around times.items[at]: as much of it behind as before, if there is so much. `span` is how many
 * snapshots there are to share, say those from one to the other. One snapshot alone is a window,
 * too, and then what it holds is what stays.
 */
struct level_window level_window(const struct history *history, size_t at, size_t span);

void level_of(struct level *level, const struct history *history, const struct history_site *site,
	      const struct level_window *window);

#endif
