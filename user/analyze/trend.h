/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a quantity does over time: pure statistics on (time, value) points, whatever the value is
 * (anonymous memory of a process, outstanding bytes of a site, threads, open files).
 *
 * Everything robust: one wild point, ties and irregular intervals change no verdict.
 *   slope         median of all pairwise slopes; H. Theil (1950), P. K. Sen (1968), with Sen's
 *                 confidence interval
 *   significance  H. B. Mann (1945), M. Kendall (1975), variance corrected for ties, and for
 *                 autocorrelation by K. H. Hamed and A. R. Rao, J. Hydrology 204 (1998): smooth
 *                 series hold fewer independent points than they hold points. Not where the line
 *                 explains 99 % of the variance: of 10,000 random walks, whose points depend on
 *                 each other as much as any, not one of any length looks so
 *   ups and downs turning points that stand out by a threshold ("zigzag"), so that noise is no
 *                 movement; a trend below a sawtooth is the trend of its troughs
 *
 * A verdict speaks of the given window. A series that grew for hours and then stopped is judged
 * again when the window has moved past the growth. What is said of a process or a site takes
 * windows of several lengths and what was said before into account: analyze/verdict.h.
 */
#ifndef LEAKMON_ANALYZE_TREND_H
#define LEAKMON_ANALYZE_TREND_H

#include <stdbool.h>
#include <stddef.h>

/* More points than this are averaged in groups before slopes are taken; others see all of them. */
#define TREND_POINTS_MAX 128

struct trend_point {
	double time_s; /* never descends */
	double value;
};

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

struct trend_options {
	double quantum;	   /* least growth that matters, in the unit of the values; > 0 */
	size_t points_min; /* 0: 12 */
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
	bool few_unequal_steps; /* it is level but for them */
	double stalled_s;	/* since the last new high */
	double stall_max_s;	/* between two new highs before that */
	double rise, fall;	/* sums of the movements that stand out */
	size_t falls;		/* how many of them went down */
	bool by_troughs;	/* the growth is that of the lower turning points */
	double integral;	/* of value over time (trapezoid), e.g. byte-seconds of residency */
	bool keeps_leaking;	/* good enough to go on being called leaking, see verdict.h */
};

/* Fills *trend. Allocates nothing; `count` may be 0. About 100 µs for 128 points. */
void trend_judge(struct trend *trend, const struct trend_point *points, size_t count,
		 const struct trend_options *options);

/* "too-early", "steady", "one-off", "plateau", "churning", "growing", "leaking". */
const char *trend_verdict_name(enum trend_verdict verdict);

/* Whether a verdict asks for somebody's attention: growing or leaking. */
bool trend_is_suspect(enum trend_verdict verdict);

/* Of the figures that are there: see `confidence`; 0 unless the verdict is a suspect's. */
double trend_confidence(const struct trend *trend);

/* The pieces of trend.c. Counts are at most TREND_POINTS_MAX unless a comment says otherwise. */

/* The k-th smallest, k < count, of any count; reorders the values. */
double trend_select(double *values, size_t count, size_t k);

/* 0 for an empty array. Reorders. */
double trend_median(double *values, size_t count);

struct trend_slope {
	double slope, low, high;
};

/* `deviation` is the standard deviation of S, for the confidence interval. */
struct trend_slope trend_theil_sen(const struct trend_point *points, size_t count,
				   double deviation);

/* Median of value - slope * time. */
double trend_intercept(const struct trend_point *points, size_t count, double slope);

struct trend_rank_test {
	double s, deviation; /* of S, corrected for ties and autocorrelation */
	double correction;   /* >= 1, of the variance */
	double z, p;
};

/* `slope` is taken out before the autocorrelation is looked for. */
struct trend_rank_test trend_mann_kendall(const struct trend_point *points, size_t count,
					  double slope);

/* Movements that stand out by `threshold`, of any number of points. */
struct trend_zigzag {
	double rise, fall;
	size_t falls;
	/* Where a fall ended, and the first point if the series began by rising. When there are
	 * more, neighbours are merged into the lower one. */
	struct trend_point troughs[TREND_POINTS_MAX];
	size_t trough_count;
};

void trend_zigzag(struct trend_zigzag *zigzag, const struct trend_point *points, size_t count,
		  double threshold);

#endif
