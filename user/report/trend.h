/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict on a quantity over time, and the figures behind it: plain data, computed in analyze/.
 */
#ifndef LEAKMON_REPORT_TREND_H
#define LEAKMON_REPORT_TREND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/poisson.h"
#include "report/snapshot.h"

struct trend_point {
	double time_s; /* never decreases */
	double value;
};

/* Younger processes fill caches, open files and start threads: they warm up. */
#define TREND_WARM_UP_S 600.0

/* In order of importance to an operator. */
enum trend_verdict {
	TREND_TOO_EARLY, /* fewer than points_min points */
	TREND_STEADY,	 /* no movement that matters, or a decrease */
	TREND_ONE_OFF,	 /* one jump upwards, or a few unequal ones, level before and after */
	TREND_PLATEAU,	 /* grew early in the window, not lately: a warm cache */
	TREND_CHURNING,	 /* up and down: batches, garbage collection, a cache that turns over */
	TREND_GROWING,	 /* grows, but in few steps, or slowing down, or not for certain */
	TREND_LEAKING,	 /* grows continually, at a rate that does not fall */
	TREND_MAX_,
};

/* The verdict and the figures on which it is based. Rates are per second. */
struct trend {
	enum trend_verdict verdict;
	/*
	 * 0..1, that the growth is real and continues: (1 - 2p) of a rise, times the share of the
	 * window's parts that grew, times the recent rate relative to the overall one (at most 1).
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
	/* standard deviation about the line, from the median absolute deviation */
	double noise;
	double jitter;	    /* standard deviation of neighbouring points beside the trend */
	double thirds[3];   /* growth in each third of the window */
	double recent;	    /* the last third's growth over a third of `growth`; 0 without growth */
	double consistency; /* share of upward steps between six parts of the window */
	double step_share;  /* share of the net growth between a point and its next but one */
	double level_share; /* share of steps between neighbours without a movement */
	bool few_unequal_steps; /* level except for these */
	double stalled_s;	/* since the last new high */
	double stall_max_s;	/* longest time between two new highs before that */
	double rise, fall;	/* sums of the movements that stand out */
	size_t falls;		/* number of downward ones */
	bool by_troughs;	/* the growth is that of the lower turning points */
	bool keeps_leaking;	/* sufficient to remain leaking, see verdict.h */
};

/* Returns "too-early", "steady", "one-off", "plateau", "churning", "growing", "leaking". */
const char *trend_verdict_name(enum trend_verdict verdict);

/* Returns whether a verdict asks for attention: growing or leaking. */
bool trend_is_suspect(enum trend_verdict verdict);

/* A judgement before a verdict is possible: see early_judge(). */
struct early {
	size_t readings; /* 0: too few, and nothing else is known */
	double span_s;
	double per_s; /* median slope (Theil-Sen) */
	bool grows;
};

/* When a growing quantity will reach a limit: see time_left_judge(). */
struct time_left {
	bool known; /* it certainly grows, and was observed long enough */
	/* from the last point on; 95 %; high: INFINITY if possibly never */
	double seconds, low, high;
	double per_s;
	size_t points; /* number of points used: the latest ones, with a constant rate */
};

/* Bytes held by several call stacks that differ only in JIT-compiled code. */
struct merged_trend {
	size_t stacks; /* 0: the verdict is the site's own */
	uint64_t native;
	uint64_t bytes;
	struct trend trend;
	double per_s; /* this site's part of its slope: its share of the gain */
};

struct site_trend {
	/*
	 * trend.verdict, with three corrections from other evidence: if early allocations are gone
	 * and the number of blocks rises, nothing leaks, however the total grows; a level held by
	 * different blocks each time is churning, not steady; and if the low points rise steadily,
	 * something grows below the fluctuation.
	 */
	enum trend_verdict verdict;
	struct trend trend; /* of the bytes held, per second */
	struct early early; /* while the verdict is too-early */
	double integral_byte_s;
	/*
	 * share of the blocks allocated since the first snapshot that still exist, 0..1; negative:
	 * none were allocated
	 */
	double survival;
	double turnover; /* blocks freed since the first snapshot, per block held at the end */
	/* share of its blocks at least site_age_limits_ns[i] old; only if has_ages */
	double older_share[SITE_AGES_MAX_];
	bool has_ages;
	bool low_points_rise; /* from each eighth of the time to the next */
	/*
	 * it would be suspect, but growth is a few small blocks, or a ten-thousandth of its
	 * process's memory
	 */
	bool too_little;
	/* It would be leaking, but was not observed long enough, or has gained too little. */
	bool too_short, too_small;
	/* It would be leaking, but its process freed as many untracked blocks. */
	bool replaces;
	double gained;	      /* bytes, since its minimum */
	double process_age_s; /* 0: unknown; it warms up below TREND_WARM_UP_S */
	/*
	 * For a program that samples itself: the hits of its sampler by which the site has grown
	 * within trend.span_s, and their 95 % limits in bytes; else 0.
	 */
	double hits;
	struct bounds growth_limits;
	bool too_few_hits; /* it would be suspect, but that may be chance: the limits include 0 */
	/*
	 * replaced blocks hold more because they are larger, not because they are more: their age
	 * proves nothing
	 */
	bool blocks_grow;
	/*
	 * In a runtime that compiles, one call has ever new stacks, each of which grows for a
	 * while: if all of them together are suspect, or more so than this one, it takes their
	 * verdict if it had a part in their growth. All other numbers remain its own, except
	 * `gained`, so that sums over sites are correct.
	 */
	struct merged_trend merged;
};

/* Returns whether its process warms up. */
bool site_trend_is_young(const struct site_trend *trend);

/* Returns the key of --sort growth: bytes per second, only if real; of merged sites, its part. */
double site_trend_growth(const struct site_trend *trend);

/*
 * Formats one line of evidence, such as "+1.2 KiB/s (95%: +1.1 to +1.3), R² 0.98, 100% of the
 * blocks it allocated are still there". Returns text.
 */
#define EVIDENCE_SIZE 384
char *site_trend_evidence(const struct site_trend *trend, char text[EVIDENCE_SIZE]);

#endif
