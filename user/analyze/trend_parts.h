/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pieces of trend.c. Counts are at most TREND_POINTS_MAX unless a comment says otherwise. */
#ifndef LEAKMON_ANALYZE_TREND_PARTS_H
#define LEAKMON_ANALYZE_TREND_PARTS_H

#include "analyze/trend.h"

/* The k-th smallest, k < count, of any count; reorders the values. */
double trend_select(double *values, size_t count, size_t k);
/* 0 for an empty array. Reorders. */
double trend_median(double *values, size_t count);
double trend_median_of(const struct trend_point *points, size_t count);

struct trend_slope {
	double slope, low, high;
};

/* `deviation` is the standard deviation of S, for the confidence interval. */
struct trend_slope trend_theil_sen(const struct trend_point *points, size_t count,
				   double deviation);
/* Median of value - slope * time. */
double trend_intercept(const struct trend_point *points, size_t count, double slope);
double trend_r_squared(const struct trend_point *points, size_t count);

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

/* Range, span and integral; of any number of points but none. */
void trend_measure_range(struct trend *trend, const struct trend_point *points, size_t count);
/* Slope, its significance, and the noise about it. */
void trend_measure_line(struct trend *trend, const struct trend_point *points, size_t count);
/* How it went: thirds, jitter, steps and stalls; growth and span_s are known. */
void trend_measure_course(struct trend *trend, const struct trend_point *points, size_t count);

#endif
