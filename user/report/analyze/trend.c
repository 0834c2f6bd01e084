// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/analyze/trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Order statistics, Theil's and Sen's slope, and the least-squares line's R². */

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

/* Partitions the values around the pivot; [low, high] becomes the range of values equal to it. */
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

/*
 * Returns the k-th smallest value; reorders the values. Hoare's selection, in three parts, because
 * slopes of equal values are equal.
 */
static double select_kth(double *values, size_t count, size_t k)
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
	upper = select_kth(values, count, count / 2);
	return count % 2 ? upper : (upper + select_kth(values, count, count / 2 - 1)) / 2;
}

static double trend_median_of(const struct trend_point *points, size_t count)
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
	result.low = select_kth(slopes, pairs, below);
	result.high = select_kth(slopes, pairs, above);
	result.slope = trend_median(slopes, pairs);
	return result;
}

/* Median of value - slope * time. */
static double intercept_of(const struct trend_point *points, size_t count, double slope)
{
	double values[TREND_POINTS_MAX] = {0};

	for (size_t i = 0; i < count; i++)
		values[i] = points[i].value - slope * points[i].time_s;
	return trend_median(values, count);
}

static double trend_r_squared(const struct trend_point *points, size_t count)
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

/* Mann and Kendall's test for a monotonic trend, with Hamed and Rao's variance. */

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

/* Computes the ranks of the residuals from the slope, centred; equal ones share the mean rank. */
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
 * Hamed and Rao (1998), equation 13. Lags are used up to the first insignificant one: later ones
 * are noise. Never below 1: negative autocorrelation must not increase significance here.
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

/* Turning points: a movement counts once it has reversed by the threshold. */

enum direction { UNDECIDED, UP, DOWN };

static void trough_add(struct trend_zigzag *zigzag, const struct trend_point *point)
{
	if (zigzag->trough_count == ARRAY_SIZE(zigzag->troughs)) {
		zigzag->trough_count /= 2;
		for (size_t i = 0; i < zigzag->trough_count; i++) {
			const struct trend_point *one = &zigzag->troughs[2 * i], *other = one + 1;

			zigzag->troughs[i] = one->value <= other->value ? *one : *other;
		}
	}
	zigzag->troughs[zigzag->trough_count++] = *point;
}

/* Adds the movement from one turning point to the next; the last movement is still open. */
static void movement_add(struct trend_zigzag *zigzag, enum direction direction,
			 const struct trend_point *from, const struct trend_point *to)
{
	if (direction == UP) {
		zigzag->rise += to->value - from->value;
	} else {
		zigzag->fall += from->value - to->value;
		zigzag->falls++;
	}
}

void trend_zigzag(struct trend_zigzag *zigzag, const struct trend_point *points, size_t count,
		  double threshold)
{
	enum direction direction = UNDECIDED;
	const struct trend_point *from = points, *low = points, *high = points;

	*zigzag = (struct trend_zigzag){0};
	for (size_t i = 1; i < count; i++) {
		const struct trend_point *point = &points[i];

		low = point->value < low->value ? point : low;
		high = point->value > high->value ? point : high;
		if (direction != UP && point->value - low->value >= threshold) {
			if (direction == DOWN)
				movement_add(zigzag, DOWN, from, low);
			trough_add(zigzag, low);
			direction = UP;
			from = low;
			high = point;
		} else if (direction != DOWN && high->value - point->value >= threshold) {
			if (direction == UP)
				movement_add(zigzag, UP, from, high);
			direction = DOWN;
			from = high;
			low = point;
		}
	}
	if (direction == UP)
		movement_add(zigzag, UP, from, high);
	else if (direction == DOWN)
		movement_add(zigzag, DOWN, from, low);
}

/* Descriptive measures of a series; trend.c judges by them. */

#define PARTS 6

/* A new high exceeds the previous one by this share of the growth. */
#define NEW_HIGH 0.02

/* With this share of level time, it grows in steps; a step exceeds this share of the range. */
#define STAIRS_LEVEL 0.6
#define STAIRS_STEP 0.02

/*
 * With this few steps, the smallest must be at least this share of the largest, or they prove
 * nothing yet: new highs of a fluctuating series come in fewer and smaller steps.
 */
#define STAIRS_FEW 6
#define STAIRS_EQUAL 0.4

/* Range and span, of one or more points. */
static void trend_measure_range(struct trend *trend, const struct trend_point *points, size_t count)
{
	trend->points = count;
	trend->first = trend->minimum = trend->maximum = points[0].value;
	trend->last = points[count - 1].value;
	trend->span_s = points[count - 1].time_s - points[0].time_s;
	for (size_t i = 1; i < count; i++) {
		trend->minimum = MIN(trend->minimum, points[i].value);
		trend->maximum = MAX(trend->maximum, points[i].value);
	}
}

static double noise_about(const struct trend_point *points, size_t count, double slope)
{
	double intercept = intercept_of(points, count, slope), deviations[TREND_POINTS_MAX];

	for (size_t i = 0; i < count; i++)
		deviations[i] = fabs(points[i].value - intercept - slope * points[i].time_s);
	return 1.4826 * trend_median(deviations, count); /* of a normal distribution */
}

/* Residuals this small cannot produce the line, autocorrelated or not. */
#define R_SQUARED_SURE 0.99
/* Nor if every step goes up as well: 14 of them by chance are one case in 16,384. */
#define R_SQUARED_STEPS 0.9
#define STEPS_SURE 14

static bool rises_in_all_steps(const struct trend_point *points, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (points[i].value <= points[i - 1].value)
			return false;
	}
	return count > STEPS_SURE;
}

static void forget_autocorrelation(struct trend_rank_test *test)
{
	double factor = sqrt(test->correction);

	test->z *= factor;
	test->deviation /= factor;
	test->correction = 1;
	test->p = erfc(test->z / M_SQRT2) / 2;
}

/* Slope, its significance, and the noise about it. */
static void trend_measure_line(struct trend *trend, const struct trend_point *points, size_t count)
{
	struct trend_slope line = trend_theil_sen(points, count, 0);
	struct trend_rank_test test = trend_mann_kendall(points, count, line.slope);

	trend->r_squared = trend_r_squared(points, count);
	if (trend->r_squared >= R_SQUARED_SURE ||
	    (trend->r_squared >= R_SQUARED_STEPS && rises_in_all_steps(points, count)))
		forget_autocorrelation(&test);
	line = trend_theil_sen(points, count, test.deviation);
	trend->slope = line.slope;
	trend->slope_low = line.low;
	trend->slope_high = line.high;
	trend->growth = line.slope * trend->span_s;
	trend->z = test.z;
	trend->p = test.p;
	trend->effective_points = (double)count / test.correction;
	trend->noise = noise_about(points, count, line.slope);
}

/* From the median absolute deviation of the steps: insensitive to a trend or a single jump. */
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

/* Six parts of the window, by their medians: growth in steps has no slope, but levels. */
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
	/* A rise must exceed a tenth of its share, so that noise of equal values does not count. */
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
	size_t steps; /* neighbouring rises count as one */
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

/* A movement is more than a tenth of a step of even growth. */
static void measure_level(struct trend *trend, const struct trend_point *points, size_t count)
{
	double movement = (trend->maximum - trend->minimum) / (double)(count - 1) / 10;
	size_t level = 0;

	for (size_t i = 1; i < count; i++)
		level += fabs(points[i].value - points[i - 1].value) <= movement;
	trend->level_share = (double)level / (double)(count - 1);
}

/* The course: thirds, jitter, steps and stalls; growth and span_s are known. */
static void trend_measure_course(struct trend *trend, const struct trend_point *points,
				 size_t count)
{
	measure_parts(trend, points, count);
	trend->jitter = jitter_of(points, count);
	trend->recent = trend->growth > 0 ? trend->thirds[2] / (trend->growth / 3) : 0;
	trend->step_share = largest_step(points, count);
	measure_level(trend, points, count);
	trend->few_unequal_steps = has_few_unequal_steps(trend, points, count);
	if (trend->growth > 0)
		measure_stalls(trend, points, count);
}

/* One-sided; strict, because a node has thousands of series and each is judged repeatedly. */
#define P_LEAKING 1e-4
#define P_GROWING 1e-3

/* A trend must exceed the noise by this many of its standard deviations. */
#define NOISE_MARGIN 2.0

/* Below this many, fluctuation beside it is noise, not churning. */
#define NOISE_MARGIN_SURE 5.0
#define LEVEL_MARGIN 3.0

/* Below this share of the overall rate, the last third has come to rest. */
#define RECENT_PLATEAU 0.2
#define RECENT_STEADY_RATE 0.5

/* The first third grew by this factor more than the last. */
#define STEEP_BEGINNING 3.0
#define CONSISTENT 0.75
#define STEP_ONE_OFF 0.75

/* Without a new high for longer than ever, and for this share of the window: it has stopped. */
#define STALL_FACTOR 2.0
#define STALL_SPAN 0.1

/* A series called leaking needs less to remain so. */
#define KEPT_RECENT 0.35
#define KEPT_CONSISTENCY 0.6
#define KEPT_STALL_FACTOR 3.0
#define KEPT_STALL_SPAN 0.2

/* Churning: falls, as a share of rises. */
#define FALL_CHURNING 0.5

/* A movement stands out by this share of the range; */
#define ZIGZAG_RANGE 0.2

/* and a range below this share of the level is no churning. */
#define RANGE_STEADY 0.05

/* Averages groups of neighbours, so that at most TREND_POINTS_MAX are left. */
static size_t thin(struct trend_point *thinned, const struct trend_point *points, size_t count)
{
	size_t group = (count + TREND_POINTS_MAX - 1) / TREND_POINTS_MAX, result = 0;

	for (size_t begin = 0; begin < count; begin += group) {
		size_t size = MIN(group, count - begin);
		struct trend_point *mean = &thinned[result++];

		*mean = (struct trend_point){0};
		for (size_t i = begin; i < begin + size; i++) {
			mean->time_s += points[i].time_s / (double)size;
			mean->value += points[i].value / (double)size;
		}
	}
	return result;
}

static bool has_stopped(const struct trend *trend)
{
	return trend->stalled_s > STALL_FACTOR * trend->stall_max_s &&
	       trend->stalled_s > STALL_SPAN * trend->span_s;
}

/*
 * Returns whether it came to rest, or is about to: no growth in the last third, or far less than in
 * the first one, and not by chance. Slow growth after a steep beginning is judged again once the
 * window has passed the beginning.
 */
static bool has_flattened(const struct trend *trend)
{
	double first = trend->thirds[0], last = trend->thirds[2];

	if (trend->recent < RECENT_PLATEAU)
		return true;
	return last * STEEP_BEGINNING < first && first - last > NOISE_MARGIN * trend->jitter;
}

/* Returns whether the rise is real, matters, and is not noise. */
static bool rises(const struct trend *trend, double quantum)
{
	return trend->p < P_GROWING && trend->growth >= quantum &&
	       trend->growth >= NOISE_MARGIN * trend->noise;
}

/*
 * Below a sawtooth the level after each fall counts: the remainder of a collection or a batch. The
 * whole series must rise with it, because one low point among few makes a trend of troughs.
 */
static bool rises_by_troughs(struct trend *trend, const struct trend_zigzag *zigzag,
			     const struct trend_options *options)
{
	struct trend below = {.span_s = trend->span_s};

	if (zigzag->trough_count < 5 || trend->p >= P_GROWING)
		return false;
	trend_measure_line(&below, zigzag->troughs, zigzag->trough_count);
	trend_measure_course(&below, zigzag->troughs, zigzag->trough_count);
	if (!rises(&below, options->quantum) || below.recent < RECENT_PLATEAU)
		return false;
	trend->by_troughs = true;
	trend->slope = below.slope;
	trend->slope_low = below.slope_low;
	trend->slope_high = below.slope_high;
	trend->growth = below.growth;
	trend->recent = below.recent;
	memcpy(trend->thirds, below.thirds, sizeof(trend->thirds));
	return true;
}

static bool churns(const struct trend *trend)
{
	double level = MAX(fabs(trend->minimum), fabs(trend->maximum));

	if (trend->p < P_LEAKING && trend->growth >= NOISE_MARGIN_SURE * trend->noise)
		return false;
	return trend->falls >= 2 && trend->fall >= FALL_CHURNING * trend->rise &&
	       trend->maximum - trend->minimum >= RANGE_STEADY * level;
}

static bool keeps_leaking(const struct trend *trend)
{
	bool stopped = trend->stalled_s > KEPT_STALL_FACTOR * trend->stall_max_s &&
		       trend->stalled_s > KEPT_STALL_SPAN * trend->span_s;

	return trend->p < P_GROWING && trend->recent >= KEPT_RECENT &&
	       trend->consistency >= KEPT_CONSISTENCY && trend->step_share < STEP_ONE_OFF &&
	       trend->thirds[2] * STEEP_BEGINNING >= trend->thirds[0] && !stopped;
}

static enum trend_verdict verdict_of_rise(struct trend *trend)
{
	trend->keeps_leaking = keeps_leaking(trend);
	if (trend->step_share >= STEP_ONE_OFF)
		return TREND_ONE_OFF;
	if (!trend->by_troughs && trend->few_unequal_steps)
		return TREND_ONE_OFF;
	if (has_flattened(trend) || (!trend->by_troughs && has_stopped(trend)))
		return TREND_PLATEAU;
	if (trend->p < P_LEAKING && trend->slope_low > 0 && trend->recent >= RECENT_STEADY_RATE &&
	    trend->thirds[2] >= trend->jitter && trend->consistency >= CONSISTENT)
		return TREND_LEAKING;
	return TREND_GROWING;
}

/*
 * It grew by more than noise although the window has no trend: the growth has ended, or just begun.
 */
static enum trend_verdict verdict_of_level(const struct trend *trend,
					   const struct trend_point *points, size_t count,
					   double quantum)
{
	size_t edge = MAX(count / 10, (size_t)1);
	double net = trend_median_of(points + count - edge, edge) - trend_median_of(points, edge);

	if (net < quantum || net < LEVEL_MARGIN * trend->noise)
		return TREND_STEADY;
	if (trend->step_share >= STEP_ONE_OFF)
		return TREND_ONE_OFF;
	return trend->recent < RECENT_PLATEAU ? TREND_PLATEAU : TREND_STEADY;
}

static enum trend_verdict verdict_of(struct trend *trend, const struct trend_point *points,
				     size_t count, const struct trend_zigzag *zigzag,
				     const struct trend_options *options)
{
	bool churning = churns(trend);

	if (churning && !rises_by_troughs(trend, zigzag, options))
		return TREND_CHURNING;
	if (churning || rises(trend, options->quantum))
		return verdict_of_rise(trend);
	return verdict_of_level(trend, points, count, options->quantum);
}

double trend_confidence(const struct trend *trend)
{
	double sure = MAX(1 - 2 * trend->p, 0.0), lasting = MIN(MAX(trend->recent, 0.0), 1.0);

	return trend_is_suspect(trend->verdict) ? sure * trend->consistency * lasting : 0;
}

void trend_judge(struct trend *trend, const struct trend_point *points, size_t count,
		 const struct trend_options *options)
{
	size_t needed = options->points_min ? options->points_min : TREND_POINTS_MIN;
	struct trend_point thinned[TREND_POINTS_MAX];
	struct trend_zigzag zigzag;
	size_t kept;

	*trend = (struct trend){.p = 0.5};
	if (count)
		trend_measure_range(trend, points, count);
	if (count < needed || trend->span_s <= 0)
		return;
	trend->verdict = TREND_STEADY;
	if (trend->maximum - trend->minimum < options->quantum)
		return;
	trend_zigzag(&zigzag, points, count,
		     MAX(options->quantum, ZIGZAG_RANGE * (trend->maximum - trend->minimum)));
	trend->rise = zigzag.rise;
	trend->fall = zigzag.fall;
	trend->falls = zigzag.falls;
	kept = thin(thinned, points, count);
	trend_measure_line(trend, thinned, kept);
	trend_measure_course(trend, thinned, kept);
	trend->verdict = verdict_of(trend, thinned, kept, &zigzag, options);
	trend->confidence = trend_confidence(trend);
}
