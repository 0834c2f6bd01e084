// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/trend.h"

#include <math.h>
#include <string.h>

#include "analyze/trend_parts.h"
#include "base/cleanup.h"

#define POINTS_MIN 12

/* One-sided; strict, since a node has thousands of series and each is judged again and again. */
#define P_LEAKING 1e-4
#define P_GROWING 1e-3
/* A trend must stand out of the noise by this many of its standard deviations. */
#define NOISE_MARGIN 2.0
/* By so many, what goes up and down beside it is noise and no churning. */
#define NOISE_MARGIN_SURE 5.0
#define LEVEL_MARGIN 3.0
/* Below this share of the whole rate the last third has come to rest. */
#define RECENT_PLATEAU 0.2
#define RECENT_STEADY_RATE 0.5
/* The first third grew by so much more than the last. */
#define STEEP_BEGINNING 3.0
#define CONSISTENT 0.75
#define STEP_ONE_OFF 0.75
/* Without a new high for longer than ever, and for this share of the window: it has stopped. */
#define STALL_FACTOR 2.0
#define STALL_SPAN 0.1
/* Up and down again: what fell, as a share of what rose. */
#define FALL_CHURNING 0.5
/* A movement stands out by this share of the range; */
#define ZIGZAG_RANGE 0.2
/* and a range below this share of the level is no churning. */
#define RANGE_STEADY 0.05

/* Groups of neighbours become their mean, so that at most TREND_POINTS_MAX are left. */
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
 * Came to rest, or is about to: nothing in the last third, or far less than in the first one, and
 * not by chance. What grows on slowly behind a steep beginning is judged again once the window has
 * passed the beginning.
 */
static bool has_flattened(const struct trend *trend)
{
	double first = trend->thirds[0], last = trend->thirds[2];

	if (trend->recent < RECENT_PLATEAU)
		return true;
	return last * STEEP_BEGINNING < first && first - last > NOISE_MARGIN * trend->jitter;
}

/* A rise that is there, matters, and is no noise. */
static bool rises(const struct trend *trend, double quantum)
{
	return trend->p < P_GROWING && trend->growth >= quantum &&
	       trend->growth >= NOISE_MARGIN * trend->noise;
}

/*
 * Below a sawtooth the level after each fall tells: what a collector or a batch leaves behind. The
 * whole series must rise with it, since one low point among few makes a trend of troughs.
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

static enum trend_verdict verdict_of_rise(const struct trend *trend)
{
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

/* Grew by more than noise although no trend goes through the window: it has ended, or just begun.
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

static double confidence_of(const struct trend *trend)
{
	double sure = MAX(1 - 2 * trend->p, 0.0), lasting = MIN(MAX(trend->recent, 0.0), 1.0);

	return trend_is_suspect(trend->verdict) ? sure * trend->consistency * lasting : 0;
}

void trend_judge(struct trend *trend, const struct trend_point *points, size_t count,
		 const struct trend_options *options)
{
	size_t needed = options->points_min ? options->points_min : POINTS_MIN;
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
	trend->confidence = confidence_of(trend);
}

const char *trend_verdict_name(enum trend_verdict verdict)
{
	static const char *const names[] = {
		[TREND_TOO_EARLY] = "too-early", [TREND_STEADY] = "steady",
		[TREND_ONE_OFF] = "one-off",	 [TREND_PLATEAU] = "plateau",
		[TREND_CHURNING] = "churning",	 [TREND_GROWING] = "growing",
		[TREND_LEAKING] = "leaking",
	};
	_Static_assert(ARRAY_SIZE(names) == TREND_MAX_, "a name for every verdict");

	return names[verdict];
}

bool trend_is_suspect(enum trend_verdict verdict)
{
	return verdict == TREND_GROWING || verdict == TREND_LEAKING;
}
