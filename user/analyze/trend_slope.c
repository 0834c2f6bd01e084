// SPDX-License-Identifier: GPL-2.0-or-later
/* Order statistics, Theil's and Sen's slope, and the least-squares line's R². */
#include <math.h>

#include "analyze/trend_parts.h"
#include "base/cleanup.h"

#define PAIRS_MAX (TREND_POINTS_MAX * (TREND_POINTS_MAX - 1) / 2)
#define Z_95 1.959964 /* two-sided */

static void swap(double *one, double *other)
{
	double kept = *one;

	*one = *other;
	*other = kept;
}

static double middle_of_three(const double *values, size_t low, size_t high)
{
	double a = values[low], b = values[low + (high - low) / 2], c = values[high];

	return MAX(MIN(a, b), MIN(MAX(a, b), c));
}

/* Narrows [low, high] to values equal to the pivot, what is below it before, what is above behind.
 */
static void partition(double *values, double pivot, size_t *low, size_t *high)
{
	size_t i = *low;

	while (i <= *high) {
		if (values[i] < pivot)
			swap(&values[i++], &values[(*low)++]);
		else if (values[i] > pivot)
			swap(&values[i], &values[(*high)--]); /* the pivot is below: no wrap */
		else
			i++;
	}
}

/* Hoare's selection, in three parts, since slopes of equal values are equal. */
double trend_select(double *values, size_t count, size_t k)
{
	size_t low = 0, high = count - 1;

	while (low < high) {
		size_t first = low, last = high;

		partition(values, middle_of_three(values, low, high), &first, &last);
		if (k >= first && k <= last)
			break;
		if (k < first)
			high = first - 1;
		else
			low = last + 1;
	}
	return values[k];
}

double trend_median(double *values, size_t count)
{
	double upper;

	if (!count)
		return 0;
	upper = trend_select(values, count, count / 2);
	return count % 2 ? upper : (upper + trend_select(values, count, count / 2 - 1)) / 2;
}

double trend_median_of(const struct trend_point *points, size_t count)
{
	double values[TREND_POINTS_MAX] = {0};

	for (size_t i = 0; i < count; i++)
		values[i] = points[i].value;
	return trend_median(values, count);
}

static size_t pairwise_slopes(double *slopes, const struct trend_point *points, size_t count)
{
	size_t pairs = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t j = i + 1; j < count; j++) {
			double time = points[j].time_s - points[i].time_s;

			if (time > 0)
				slopes[pairs++] = (points[j].value - points[i].value) / time;
		}
	}
	return pairs;
}

/* Sen (1968): the interval between the order statistics (N - C) / 2 and (N + C) / 2 + 1. */
struct trend_slope trend_theil_sen(const struct trend_point *points, size_t count, double deviation)
{
	double slopes[PAIRS_MAX], half = Z_95 * deviation / 2;
	size_t pairs = pairwise_slopes(slopes, points, count), below, above;
	struct trend_slope result = {0};
	double centre = (double)pairs / 2;

	if (!pairs)
		return result;
	below = centre > half ? (size_t)(centre - half) : 0;
	above = MIN((size_t)(centre + half), pairs - 1);
	result.low = trend_select(slopes, pairs, below);
	result.high = trend_select(slopes, pairs, above);
	result.slope = trend_median(slopes, pairs);
	return result;
}

double trend_intercept(const struct trend_point *points, size_t count, double slope)
{
	double values[TREND_POINTS_MAX] = {0};

	for (size_t i = 0; i < count; i++)
		values[i] = points[i].value - slope * points[i].time_s;
	return trend_median(values, count);
}

double trend_r_squared(const struct trend_point *points, size_t count)
{
	double time = 0, value = 0, tt = 0, vv = 0, tv = 0;

	for (size_t i = 0; i < count; i++) {
		time += points[i].time_s / (double)count;
		value += points[i].value / (double)count;
	}
	for (size_t i = 0; i < count; i++) {
		double dt = points[i].time_s - time, dv = points[i].value - value;

		tt += dt * dt;
		vv += dv * dv;
		tv += dt * dv;
	}
	return tt > 0 && vv > 0 ? tv * tv / (tt * vv) : 0;
}
