// SPDX-License-Identifier: GPL-2.0-or-later
/* Mann and Kendall's test for a monotonic trend, with Hamed and Rao's variance. */
#include <math.h>
#include <stdlib.h>

#include "analyze/trend_parts.h"
#include "base/cleanup.h"

/* A lag counts when its autocorrelation is outside what white noise shows in 95 of 100 cases. */
#define Z_95 1.959964

static int compare(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

static double sum_of_signs(const struct trend_point *points, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t j = i + 1; j < count; j++)
			sum += (points[j].value > points[i].value) -
			       (points[j].value < points[i].value);
	}
	return sum;
}

static double pairs_term(double count)
{
	return count * (count - 1) * (2 * count + 5);
}

/* Kendall (1975): n(n-1)(2n+5)/18, less the same for each group of equal values. */
static double variance_of_s(const struct trend_point *points, size_t count)
{
	double sorted[TREND_POINTS_MAX], variance = pairs_term((double)count);

	for (size_t i = 0; i < count; i++)
		sorted[i] = points[i].value;
	qsort(sorted, count, sizeof(*sorted), compare);
	for (size_t begin = 0, end; begin < count; begin = end) {
		for (end = begin + 1; end < count && sorted[end] == sorted[begin]; end++)
			;
		variance -= pairs_term((double)(end - begin));
	}
	return variance / 18;
}

/* Ranks of what is left when the slope is taken out, centred; equal ones share the mean rank. */
static void residual_ranks(double *ranks, const struct trend_point *points, size_t count,
			   double slope)
{
	double residuals[TREND_POINTS_MAX];

	for (size_t i = 0; i < count; i++)
		residuals[i] = points[i].value - slope * (points[i].time_s - points[0].time_s);
	for (size_t i = 0; i < count; i++) {
		double rank = 0;

		for (size_t j = 0; j < count; j++)
			rank += (residuals[j] < residuals[i]) - (residuals[j] > residuals[i]);
		ranks[i] = rank / 2;
	}
}

static double autocovariance(const double *ranks, size_t count, size_t lag)
{
	double sum = 0;

	for (size_t i = 0; i + lag < count; i++)
		sum += ranks[i] * ranks[i + lag];
	return sum;
}

/*
 * Hamed and Rao (1998), equation 13. Lags are taken up to the first insignificant one: those
 * behind it are noise. Never below 1: negative autocorrelation makes no trend surer here.
 */
static double variance_correction(const double *ranks, size_t count)
{
	double n = (double)count, sum = 0, variance = autocovariance(ranks, count, 0);

	for (size_t lag = 1; variance > 0 && lag + 3 < count; lag++) {
		double left = n - (double)lag;
		double correlation = autocovariance(ranks, count, lag) / variance;

		if (correlation <= Z_95 / sqrt(n))
			break;
		sum += left * (left - 1) * (left - 2) * correlation;
	}
	return 1 + 2 * sum / (n * (n - 1) * (n - 2));
}

struct trend_rank_test trend_mann_kendall(const struct trend_point *points, size_t count,
					  double slope)
{
	struct trend_rank_test test = {.correction = 1, .p = 0.5};
	double ranks[TREND_POINTS_MAX], variance;

	if (count < 4)
		return test;
	variance = variance_of_s(points, count);
	if (variance <= 0) /* all equal */
		return test;
	residual_ranks(ranks, points, count, slope);
	test.correction = variance_correction(ranks, count);
	test.deviation = sqrt(variance * test.correction);
	test.s = sum_of_signs(points, count);
	/* Continuity: S moves in steps of two. */
	test.z = fabs(test.s) > 1 ? (test.s - copysign(1, test.s)) / test.deviation : 0;
	test.p = erfc(test.z / M_SQRT2) / 2;
	return test;
}
