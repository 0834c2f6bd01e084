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

#include "analyze/history.h"
#include "analyze/trend.h"
#include "analyze/verdict.h"
#include "base/poisson.h"

/* Nothing is called leaking that has been seen for less, however many snapshots there are; in a
 * process that warms up (VERDICT_WARM_UP_S), for less than that. */
#define SITE_LEAK_S 10.0
#define SITE_LEAK_YOUNG_S 20.0

/* Nor what has gained less: tables fill for minutes, such as that of the methods that a JVM has
 * compiled, up to 96 KB of them in a small server. Until then it is growing. Not a share of
 * what the process holds, for that is known only from the attach on. */
#define SITE_LEAK_BYTES (128u << 10)

/* Of what the call stacks of one call have gained together, a part worth naming. */
#define SITE_MERGED_SHARE 0.01

/* What several call stacks hold that differ only in code that was compiled while the process ran.
 */
struct merged_trend {
	size_t stacks; /* 0: the verdict is the site's own */
	uint64_t native;
	uint64_t bytes;
	struct trend trend;
	double per_s; /* of its slope, the part of this site: as much as of what was gained */
};

struct site_trend {
	/*
	 * trend.verdict, but for three things that it does not see: where what was allocated early
	 * is gone again and there are more blocks, nothing leaks, however the total grows; what is
	 * held steadily by other blocks each time is churning, not steady; and where the low points
	 * rise all the time, something grows below what comes and goes.
	 */
	enum trend_verdict verdict;
	struct trend trend; /* of the bytes held, per second */
	struct early early; /* while the verdict is too-early */
	double integral_byte_s;
	double survival; /* of the blocks allocated since the first snapshot, the share that is
			    still there, 0..1; negative: none were allocated */
	double turnover; /* blocks freed since the first snapshot, per block held at the end */
	double older_share[SITE_AGES_MAX_]; /* share of its blocks that are at least
					       site_age_limits_ns[i] old; only if has_ages */
	bool has_ages;
	bool low_points_rise; /* from each eighth of the time to the next */
	bool too_little;      /* it would be suspect but for a growth of a few small blocks, or of
				 a ten-thousandth of what its process holds */
	/* It would be leaking, but has not been seen for long enough, or has gained too little. */
	bool too_short, too_small;
	double gained;	      /* bytes, since it held least */
	double process_age_s; /* 0: not known; it warms up below VERDICT_WARM_UP_S */
	/* Of a program that samples itself: the hits of its sampler by which the site has grown
	 * within trend.span_s, and the limits of that in bytes, 95 %; else 0. */
	double hits;
	struct bounds growth_limits;
	bool too_few_hits; /* it would be suspect, but that may be chance: they reach down to 0 */
	bool blocks_grow;  /* they are replaced, and hold more for being larger, not for being
			      more: their age says nothing then */
	/*
	 * A call of a runtime that compiles comes by ever new stacks, each of which grows for a
	 * while: where all of them together are suspect, or more so than this one, it has their
	 * verdict if it had a part in their growth. All other numbers stay its own, but for
	 * `gained`, so that sums over sites are right.
	 */
	struct merged_trend merged;
};

/* About 100 microseconds for a site that moves. trend_verdict_name() puts the verdict into a word.
 */
void site_trend_of(struct site_trend *trend, const struct history *history,
		   const struct history_site *site);
/* The same for a process' total, without ages. */
void site_trend_of_process(struct site_trend *trend, const struct history *history,
			   const struct history_process *process);

/* What a site is ranked by with --sort growth: bytes per second, and only if it is real; of what
 * was judged together, its part. */
double site_trend_growth(const struct site_trend *trend);

/*
 * One line of evidence, such as "+1.2 KiB/s (95%: +1.1 to +1.3), R² 0.98, 100% of the blocks it
 * allocated are still there". Returns text.
 */
#define EVIDENCE_SIZE 384
char *site_trend_evidence(const struct site_trend *trend, char text[EVIDENCE_SIZE]);

#endif
