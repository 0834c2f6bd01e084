/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a series of one site (or process) says: growth with its confidence, and a verdict in a word
 * with its evidence. Adds to analyze/trend.h what only allocations have: how much of what was
 * allocated survives (a cache that turns over holds a lot, allocates a lot and leaks nothing), how
 * old it is, and how many byte-seconds it has cost. Whether it grows is decided by
 * analyze/verdict.h, as for processes in triage; of what does not grow, every point that is kept
 * tells how it came about.
 */
#ifndef LEAKMON_ANALYZE_SITE_TREND_H
#define LEAKMON_ANALYZE_SITE_TREND_H

#include "report/history.h"
#include "analyze/trend.h"
#include "analyze/verdict.h"

/* Nothing is called leaking that has been seen for less, however many snapshots there are; in a
 * process that warms up (TREND_WARM_UP_S), for less than that. */
#define SITE_LEAK_S 10.0
#define SITE_LEAK_YOUNG_S 20.0

/* Nor what has gained less: tables fill for minutes, such as that of the methods that a JVM has
 * compiled, up to 96 KB of them in a small server. Until then it is growing. Not a share of
 * what the process holds, for that is known only from the attach on. */
#define SITE_LEAK_BYTES (128u << 10)

/* Of what the call stacks of one call have gained together, a part worth naming. */
#define SITE_MERGED_SHARE 0.01

/* About 100 microseconds for a site that moves. trend_verdict_name() puts the verdict into a word.
 */
void site_trend_of(struct site_trend *trend, const struct history *history,
		   const struct history_site *site);
/* The same for a process' total, without ages. */
void site_trend_of_process(struct site_trend *trend, const struct history *history,
			   const struct history_process *process);

#endif
