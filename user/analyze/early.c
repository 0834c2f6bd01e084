// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/early.h"

#include <math.h>

#include "base/cleanup.h"

/* Fewer steps than this know no deviation of their own. */
#define STEPS_MIN 6

/* Of the steps about the rate, whatever the pauses; from the median, so one jump does not show. */
static double deviation_of(const struct trend_point *points, size_t count, double per_s)
{
	double steps[TREND_POINTS_MAX];

	if (count <= STEPS_MIN)
		return 0;
	for (size_t i = 1; i < count; i++)
		steps[i - 1] = fabs(points[i].value - points[i - 1].value -
				    per_s * (points[i].time_s - points[i - 1].time_s));
	return 1.4826 * trend_median(steps, count - 1);
}

static bool grows(const struct trend_point *points, size_t count, double per_s, double quantum)
{
	double deviation = fmax(quantum / 2, deviation_of(points, count, per_s)), ratio = 0;
	double accept = log((1 - EARLY_MISSED) / EARLY_FALSE);
	double reject = log(EARLY_MISSED / (1 - EARLY_FALSE));

	for (size_t i = 1; i < count; i++) {
		double step = (points[i].value - points[i - 1].value) / deviation;

		/* A little more than half of what decides, so that two can and one cannot. */
		ratio += fmin(step - 0.5, 0.51 * accept);
		if (ratio >= accept)
			return points[count - 1].value > points[0].value;
		if (ratio <= reject)
			ratio = 0;
	}
	return false;
}

void early_judge(struct early *early, const struct trend_point *points, size_t count,
		 double quantum)
{
	*early = (struct early){0};
	if (count < EARLY_READINGS_MIN || count > TREND_POINTS_MAX ||
	    points[count - 1].time_s <= points[0].time_s)
		return;
	early->readings = count;
	early->span_s = points[count - 1].time_s - points[0].time_s;
	early->per_s = trend_theil_sen(points, count, 0).slope;
	early->grows = early->per_s > 0 && grows(points, count, early->per_s, quantum);
}
