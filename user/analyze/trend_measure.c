// SPDX-License-Identifier: GPL-2.0-or-later
/* What a series is like, in numbers; trend.c judges by them. */
#include <math.h>

#include "analyze/trend_parts.h"
#include "base/cleanup.h"

#define PARTS 6
/* A new high is higher by this share of the growth. */
#define NEW_HIGH 0.02
/* Level for so much of the time, it grows in steps; a step is larger by this share of the range. */
#define STAIRS_LEVEL 0.6
#define STAIRS_STEP 0.02
/* Of so few steps, the least is no less than this share of the largest, or they say nothing yet:
 * new highs of something that varies come in fewer and smaller steps. */
#define STAIRS_FEW 6
#define STAIRS_EQUAL 0.4

void trend_measure_range(struct trend *trend, const struct trend_point *points, size_t count)
{
	trend->points = count;
	trend->first = trend->minimum = trend->maximum = points[0].value;
	trend->last = points[count - 1].value;
	trend->span_s = points[count - 1].time_s - points[0].time_s;
	for (size_t i = 1; i < count; i++) {
		trend->minimum = MIN(trend->minimum, points[i].value);
		trend->maximum = MAX(trend->maximum, points[i].value);
		trend->integral += (points[i].value + points[i - 1].value) / 2 *
				   (points[i].time_s - points[i - 1].time_s);
	}
}

static double noise_about(const struct trend_point *points, size_t count, double slope)
{
	double intercept = trend_intercept(points, count, slope), deviations[TREND_POINTS_MAX];

	for (size_t i = 0; i < count; i++)
		deviations[i] = fabs(points[i].value - intercept - slope * points[i].time_s);
	return 1.4826 * trend_median(deviations, count); /* of a normal distribution */
}

void trend_measure_line(struct trend *trend, const struct trend_point *points, size_t count)
{
	struct trend_slope line = trend_theil_sen(points, count, 0);
	struct trend_rank_test test = trend_mann_kendall(points, count, line.slope);

	line = trend_theil_sen(points, count, test.deviation);
	trend->slope = line.slope;
	trend->slope_low = line.low;
	trend->slope_high = line.high;
	trend->growth = line.slope * trend->span_s;
	trend->z = test.z;
	trend->p = test.p;
	trend->effective_points = (double)count / test.correction;
	trend->r_squared = trend_r_squared(points, count);
	trend->noise = noise_about(points, count, line.slope);
}

/* From the median absolute deviation of the steps: no trend, and no single jump, shows in it. */
static double jitter_of(const struct trend_point *points, size_t count)
{
	double steps[TREND_POINTS_MAX], median;

	for (size_t i = 1; i < count; i++)
		steps[i - 1] = points[i].value - points[i - 1].value;
	median = trend_median(steps, count - 1);
	for (size_t i = 0; i < count - 1; i++)
		steps[i] = fabs(steps[i] - median);
	return 1.4826 * trend_median(steps, count - 1) / M_SQRT2;
}

/* The window in six parts, by their medians: a growth in steps has no slope, but levels. */
static void measure_parts(struct trend *trend, const struct trend_point *points, size_t count)
{
	size_t parts = MIN(count, (size_t)PARTS), rising = 0;
	double medians[PARTS] = {0}, net;

	if (parts < 2)
		return;
	for (size_t i = 0; i < parts; i++) {
		size_t begin = i * count / parts, end = (i + 1) * count / parts;

		medians[i] = trend_median_of(points + begin, end - begin);
	}
	/* A tenth of its share is enough to count as a rise, so that noise of equals does not. */
	net = fabs(medians[parts - 1] - medians[0]) / (double)(parts - 1);
	for (size_t i = 1; i < parts; i++)
		rising += medians[i] - medians[i - 1] > net / 10;
	trend->consistency = (double)rising / (double)(parts - 1);
	for (size_t i = 0; parts == PARTS && i < ARRAY_SIZE(trend->thirds); i++) {
		static const size_t ends[] = {2, 4, 5}, begins[] = {0, 1, 3};

		trend->thirds[i] =
			(medians[ends[i]] - medians[begins[i]]) * 2 / (double)(ends[i] - begins[i]);
	}
}

static double largest_step(const struct trend_point *points, size_t count)
{
	size_t edge = MAX(count / 10, (size_t)1);
	double net = trend_median_of(points + count - edge, edge) - trend_median_of(points, edge);
	double largest = 0;

	for (size_t i = 1; i < count; i++)
		largest = MAX(largest, points[MIN(i + 1, count - 1)].value - points[i - 1].value);
	return net > 0 ? largest / net : 0;
}

static void measure_stalls(struct trend *trend, const struct trend_point *points, size_t count)
{
	double high = points[0].value, since_s = points[0].time_s;
	bool risen = false;

	for (size_t i = 1; i < count; i++) {
		if (points[i].value < high + NEW_HIGH * trend->growth)
			continue;
		/* Before the first rise there was no growth that could stall. */
		if (risen)
			trend->stall_max_s = MAX(trend->stall_max_s, points[i].time_s - since_s);
		risen = true;
		high = points[i].value;
		since_s = points[i].time_s;
	}
	trend->stalled_s = points[count - 1].time_s - since_s;
}

struct stairs {
	size_t level; /* pairs of points without a movement */
	size_t steps; /* neighbouring rises are one */
	double least, largest, step;
};

static void stairs_end_step(struct stairs *stairs)
{
	if (stairs->step <= 0)
		return;
	stairs->least = stairs->steps ? MIN(stairs->least, stairs->step) : stairs->step;
	stairs->largest = MAX(stairs->largest, stairs->step);
	stairs->steps++;
	stairs->step = 0;
}

static bool has_few_unequal_steps(const struct trend *trend, const struct trend_point *points,
				  size_t count)
{
	double movement = STAIRS_STEP * (trend->maximum - trend->minimum);
	struct stairs stairs = {0};

	for (size_t i = 1; i < count; i++) {
		double step = points[i].value - points[i - 1].value;

		if (step > movement) {
			stairs.step += step;
			continue;
		}
		stairs_end_step(&stairs);
		stairs.level += step >= -movement;
	}
	stairs_end_step(&stairs);
	return (double)stairs.level >= STAIRS_LEVEL * (double)(count - 1) &&
	       stairs.steps < STAIRS_FEW && stairs.least < STAIRS_EQUAL * stairs.largest;
}

void trend_measure_course(struct trend *trend, const struct trend_point *points, size_t count)
{
	measure_parts(trend, points, count);
	trend->jitter = jitter_of(points, count);
	trend->recent = trend->growth > 0 ? trend->thirds[2] / (trend->growth / 3) : 0;
	trend->step_share = largest_step(points, count);
	trend->few_unequal_steps = has_few_unequal_steps(trend, points, count);
	if (trend->growth > 0)
		measure_stalls(trend, points, count);
}
