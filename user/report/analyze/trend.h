/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The course of a quantity over time: pure statistics on (time, value) points of any quantity
 * (anonymous memory of a process, outstanding bytes of a site, threads, open files).
 *
 * All methods are robust: one outlier, ties and irregular intervals change no verdict.
 *   slope         median of all pairwise slopes; H. Theil (1950), P. K. Sen (1968), with Sen's
 *                 confidence interval
 *   significance  H. B. Mann (1945), M. Kendall (1975), variance corrected for ties, and for
 *                 autocorrelation by K. H. Hamed and A. R. Rao, J. Hydrology 204 (1998): smooth
 *                 series have fewer independent points than points. Not if the line explains 99 %
 * of the variance: of 10,000 random walks, the most dependent of series, none of any length looks
 * like that ups and downs turning points that stand out by a threshold ("zigzag"), so that noise is
 * no movement; a trend below a sawtooth is the trend of its troughs
 *
 * A verdict applies to the given window. A series that grew for hours and then stopped is judged
 * again when the window has moved past the growth. Verdicts on processes and sites also use windows
 * of several lengths and earlier verdicts: report/analyze/verdict.h.
 */
#ifndef LEAKMON_ANALYZE_TREND_H
#define LEAKMON_ANALYZE_TREND_H

#include "report/trend.h"

/* More points than this are averaged in groups for slopes; other measures use all of them. */
#define TREND_POINTS_MAX 128

/* Minimum number of points for a verdict, unless options set another. */
#define TREND_POINTS_MIN 12

struct trend_options {
	double quantum;	   /* smallest growth that matters, in the unit of the values; > 0 */
	size_t points_min; /* 0: TREND_POINTS_MIN */
};

/* Fills *trend. Allocates nothing; `count` may be 0. About 100 µs for 128 points. */
void trend_judge(struct trend *trend, const struct trend_point *points, size_t count,
		 const struct trend_options *options);

/*
 * Returns the confidence of the present figures: see `confidence`; 0 unless the verdict is a
 * suspect's.
 */
double trend_confidence(const struct trend *trend);

/* The parts of trend.c. Counts are at most TREND_POINTS_MAX unless stated otherwise. */

/* Returns 0 for an empty array. Reorders the values. */
double trend_median(double *values, size_t count);

struct trend_slope {
	double slope, low, high;
};

/* Estimates the slope by Theil and Sen. `deviation` is the standard deviation of S, for the
 * confidence interval. */
struct trend_slope trend_theil_sen(const struct trend_point *points, size_t count,
				   double deviation);

struct trend_rank_test {
	double s, deviation; /* of S, corrected for ties and autocorrelation */
	double correction;   /* >= 1, of the variance */
	double z, p;
};

/* Tests for a trend by Mann and Kendall. `slope` is removed before autocorrelation is measured. */
struct trend_rank_test trend_mann_kendall(const struct trend_point *points, size_t count,
					  double slope);

/* Movements that stand out by `threshold`, of any number of points. */
struct trend_zigzag {
	double rise, fall;
	size_t falls;
	/*
	 * The ends of falls, and the first point if the series began by rising. If there are more,
	 * neighbours are merged into the lower one.
	 */
	struct trend_point troughs[TREND_POINTS_MAX];
	size_t trough_count;
};

void trend_zigzag(struct trend_zigzag *zigzag, const struct trend_point *points, size_t count,
		  double threshold);

#endif
