/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict on a quantity over time, and the figures behind it: plain data, judged in
 * analyze/. */
#ifndef LEAKMON_REPORT_TREND_H
#define LEAKMON_REPORT_TREND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/poisson.h"
#include "report/snapshot.h"

struct trend_point {
	double time_s; /* never descends */
	double value;
};

/* Younger processes fill caches, open files and start threads: they warm up. */
#define TREND_WARM_UP_S 600.0

/* In the order in which they concern an operator. */
enum trend_verdict {
	TREND_TOO_EARLY, /* fewer than points_min points */
	TREND_STEADY,	 /* no movement that matters, or downwards */
	TREND_ONE_OFF,	 /* one jump upwards, or a few unequal ones, level before and after */
	TREND_PLATEAU,	 /* grew early in the window, not lately: a cache that is warm */
	TREND_CHURNING,	 /* up and down again: batches, garbage collection, a cache that turns over
			  */
	TREND_GROWING,	 /* grows, but in few steps, or slowing down, or not for sure */
	TREND_LEAKING,	 /* grows all the time, at a rate that does not fall */
	TREND_MAX_,
};

/* The verdict and the figures that it stands on. Rates are per second. */
struct trend {
	enum trend_verdict verdict;
	/*
	 * 0..1, that the growth is real and goes on: (1 - 2p) of a rise, times the share of the
	 * window's parts that grew, times the recent rate over the whole one's (at most 1).
	 */
	double confidence;
	size_t points;
	double span_s;
	double first, last, minimum, maximum; /* values */
	double slope;			      /* Theil-Sen; of the troughs if by_troughs */
	double slope_low, slope_high;	      /* 95 % */
	double growth;			      /* slope * span_s */
	double z;			      /* of Mann-Kendall's S, corrected; > 0: rising */
	double p;			      /* one-sided, of a rise */
	double effective_points;	      /* points / Hamed and Rao's correction */
	double r_squared;		      /* of the least-squares line */
	double noise;			      /* standard deviation about the line, from the median
						 absolute deviation */
	double jitter;	    /* standard deviation of what neighbouring points do beside the trend */
	double thirds[3];   /* growth in each third of the window */
	double recent;	    /* that of the last third over a third of `growth`; 0 without growth */
	double consistency; /* of six parts of the window, the share of steps that went up */
	double step_share;  /* of the net growth, what came between a point and its next but one */
	double level_share; /* of the steps between neighbours, those without a movement */
	bool few_unequal_steps; /* it is level but for them */
	double stalled_s;	/* since the last new high */
	double stall_max_s;	/* between two new highs before that */
	double rise, fall;	/* sums of the movements that stand out */
	size_t falls;		/* how many of them went down */
	bool by_troughs;	/* the growth is that of the lower turning points */
	bool keeps_leaking;	/* good enough to go on being called leaking, see verdict.h */
};

/* "too-early", "steady", "one-off", "plateau", "churning", "growing", "leaking". */
const char *trend_verdict_name(enum trend_verdict verdict);

/* Whether a verdict asks for attention: growing or leaking. */
bool trend_is_suspect(enum trend_verdict verdict);

/* A judgement before there is a verdict: see early_judge(). */
struct early {
	size_t readings; /* 0: too few, and nothing else is known */
	double span_s;
	double per_s; /* median slope (Theil-Sen) */
	bool grows;
};

/* When something that grows will be at a limit: see time_left_judge(). */
struct time_left {
	bool known; /* it surely grows, and enough of it was seen */
	double seconds, low,
		high; /* from the last point on; 95 %; high: INFINITY if it may never */
	double per_s;
	size_t points; /* that it stands on: the latest ones, in which the rate did not change */
};

/* Bytes held by several call stacks that differ only in code that was compiled while the process
 * ran. */
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
	/* It would be leaking, but its process freed as many blocks that are not tracked. */
	bool replaces;
	double gained;	      /* bytes, since it held least */
	double process_age_s; /* 0: not known; it warms up below TREND_WARM_UP_S */
	/* For a program that samples itself: the hits of its sampler by which the site has grown
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

/* Its process warms up. */
bool site_trend_is_young(const struct site_trend *trend);

/* The key of --sort growth: bytes per second, and only if it is real; of what was judged together,
 * its part. */
double site_trend_growth(const struct site_trend *trend);

/*
 * One line of evidence, such as "+1.2 KiB/s (95%: +1.1 to +1.3), R² 0.98, 100% of the blocks it
 * allocated are still there". Returns text.
 */
#define EVIDENCE_SIZE 384
char *site_trend_evidence(const struct site_trend *trend, char text[EVIDENCE_SIZE]);

#endif
