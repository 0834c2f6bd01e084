/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The course of a quantity over time: pure statistics on (time, value) points, whatever the value
 * is (anonymous memory of a process, outstanding bytes of a site, threads, open files).
 *
 * Everything robust: one wild point, ties and irregular intervals change no verdict.
 *   slope         median of all pairwise slopes; H. Theil (1950), P. K. Sen (1968), with Sen's
 *                 confidence interval
 *   significance  H. B. Mann (1945), M. Kendall (1975), variance corrected for ties, and for
 *                 autocorrelation by K. H. Hamed and A. R. Rao, J. Hydrology 204 (1998): smooth
 *                 series hold fewer independent points than they hold points. Not where the line
 *                 explains 99 % of the variance: of 10,000 random walks, with points that depend on
 *                 each other as much as any, not one of any length looks so
 *   ups and downs turning points that stand out by a threshold ("zigzag"), so that noise is no
 *                 movement; a trend below a sawtooth is the trend of its troughs
 *
 * A verdict speaks of the given window. A series that grew for hours and then stopped is judged
 * again when the window has moved past the growth. What is said of a process or a site takes
 * windows of several lengths and what was said before into account: report/analyze/verdict.h.
 */
#ifndef LEAKMON_ANALYZE_TREND_H
#define LEAKMON_ANALYZE_TREND_H

#include "report/trend.h"

/* More points than this are averaged in groups before slopes are taken; others see all of them. */
#define TREND_POINTS_MAX 128

/* Fewer have no verdict, unless options say otherwise. */
#define TREND_POINTS_MIN 12

struct trend_options {
	double quantum;	   /* least growth that matters, in the unit of the values; > 0 */
	size_t points_min; /* 0: TREND_POINTS_MIN */
};

/* Fills *trend. Allocates nothing; `count` may be 0. About 100 µs for 128 points. */
void trend_judge(struct trend *trend, const struct trend_point *points, size_t count,
		 const struct trend_options *options);

/* For the figures that are there: see `confidence`; 0 unless the verdict is a suspect's. */
double trend_confidence(const struct trend *trend);

/* The pieces of trend.c. Counts are at most TREND_POINTS_MAX unless a comment says otherwise. */

/* 0 for an empty array. Reorders. */
double trend_median(double *values, size_t count);

struct trend_slope {
	double slope, low, high;
};

/* `deviation` is the standard deviation of S, for the confidence interval. */
struct trend_slope trend_theil_sen(const struct trend_point *points, size_t count,
				   double deviation);

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
