// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/growth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define FIRST_CAPACITY 8

static struct series_point *level_slot(struct series_level *level)
{
	struct series_point *grown;
	uint32_t capacity;

	if (level->count < level->capacity)
		return &level->points[level->count++];
	if (level->capacity == SERIES_POINTS) {
		struct series_point *slot = &level->points[level->oldest];

		level->oldest = (level->oldest + 1) % SERIES_POINTS;
		return slot;
	}
	capacity = level->capacity ? level->capacity * 2 : FIRST_CAPACITY;
	grown = reallocarray(level->points, capacity, sizeof(*grown));
	if (!grown)
		return NULL;
	level->points = grown;
	level->capacity = capacity;
	return &level->points[level->count++];
}

static int level_add(struct series_level *level, double time_s, const struct quantities *quantities)
{
	struct series_point *slot = level_slot(level);

	if (!slot)
		return -ENOMEM;
	slot->time_cs = (uint32_t)(time_s * 100 + 0.5);
	for (size_t i = 0; i < QUANTITY_MAX_; i++)
		slot->values[i] = (float)quantities->values[i];
	level->time_sum_s += time_s;
	for (size_t i = 0; i < QUANTITY_MAX_; i++)
		level->sums[i] += quantities->values[i]; /* NAN stays NAN */
	level->folded++;
	return 0;
}

/*
 * Returns the mean time of the points added since the last fold, and sets *mean to their mean
 * values.
 */
static double level_fold(struct series_level *level, struct quantities *mean)
{
	double time_s = level->time_sum_s / level->folded;

	for (size_t i = 0; i < QUANTITY_MAX_; i++)
		mean->values[i] = level->sums[i] / level->folded;
	memset(level->sums, 0, sizeof(level->sums));
	level->time_sum_s = 0;
	level->folded = 0;
	return time_s;
}

static void widen_range(struct series *series, const struct quantities *quantities)
{
	if (!series->levels[0].count)
		series->minimum = series->maximum = *quantities;
	for (size_t i = 0; i < QUANTITY_MAX_; i++) {
		series->minimum.values[i] = fmin(series->minimum.values[i], quantities->values[i]);
		series->maximum.values[i] = fmax(series->maximum.values[i], quantities->values[i]);
	}
}

/*
 * Gives a long-lived series room for all coarser levels at once: gradual allocation over hours
 * would look like a leak of leakmon's own.
 */
static int series_make_room(struct series *series)
{
	for (size_t i = 1; i < SERIES_LEVELS; i++) {
		struct series_level *level = &series->levels[i];

		level->points = calloc(SERIES_POINTS, sizeof(*level->points));
		if (!level->points)
			return -ENOMEM;
		level->capacity = SERIES_POINTS;
	}
	return 0;
}

int series_add(struct series *series, double time_s, const struct quantities *quantities)
{
	struct quantities folded = *quantities;
	int error;

	widen_range(series, quantities);
	for (size_t i = 0; i < SERIES_LEVELS; i++) {
		struct series_level *level = &series->levels[i];

		error = level_add(level, time_s, &folded);
		if (error || level->folded < SERIES_FOLD)
			return error;
		if (!series->levels[1].points)
			error = series_make_room(series);
		if (error)
			return error;
		time_s = level_fold(level, &folded);
	}
	return 0;
}

size_t series_points(const struct series *series, size_t level, enum quantity quantity,
		     struct trend_point points[SERIES_POINTS])
{
	const struct series_level *from = &series->levels[level];
	size_t count = 0;

	for (uint32_t i = 0; i < from->count; i++) {
		const struct series_point *point =
			&from->points[(from->oldest + i) % from->capacity];

		if (isnan(point->values[quantity]))
			continue;
		points[count++] =
			(struct trend_point){point->time_cs / 100.0, point->values[quantity]};
	}
	return count;
}

void series_free(struct series *series)
{
	for (size_t i = 0; i < SERIES_LEVELS; i++)
		free(series->levels[i].points);
	memset(series, 0, sizeof(*series));
}

/* Below this confidence a suspect neither warrants probes nor is called leaking. */
#define CONFIDENCE_MIN 0.5
/*
 * Above this confidence, leaking stands. Caches fill in diminishing steps: below it, the finest
 * window must agree, and rise at several of its readings.
 */
#define CONFIDENCE_SURE 0.85
#define LEVEL_SHARE_MAX 0.85
#define KIB 1024.0

/*
 * The weight of one unit in bytes, to compare kinds. Leaked threads and mappings hold memory too: a
 * thread must outweigh its own touched stack and its two mappings, so that the report names the
 * cause rather than its effect; a leaked block of 128 KiB or more is itself a mapping, and there
 * the memory outweighs it.
 */
static const double worth_bytes[] = {
	[QUANTITY_HEAP] = 1,	     [QUANTITY_MAPPING] = 16 * KIB, [QUANTITY_THREADS] = 256 * KIB,
	[QUANTITY_FILES] = 32 * KIB, [QUANTITY_CHARGED] = 1,
};
_Static_assert(ARRAY_SIZE(worth_bytes) == QUANTITY_MAX_, "a row for every quantity");

/* Returns seconds from the first reading of a level to its i-th, from 0. */
static double seconds_to(const struct series_level *level, size_t i)
{
	uint32_t time_cs = level->points[(level->oldest + i) % level->capacity].time_cs;

	return (time_cs - level->points[level->oldest].time_cs) / 100.0;
}

/*
 * Returns the readings needed for a verdict: fewer where the budget makes them rare, over the same
 * time.
 */
static size_t readings_needed(const struct series *series)
{
	const struct series_level *level = &series->levels[0];

	for (size_t i = TREND_POINTS_MIN - 1; i + 1 < GROWTH_READINGS_MIN && i < level->count;
	     i++) {
		if (seconds_to(level, i) >= GROWTH_SPAN_S)
			return i + 1;
	}
	return GROWTH_READINGS_MIN;
}

static bool is_sure(const struct trend *evidence, const struct trend *finest)
{
	if (evidence->confidence >= CONFIDENCE_SURE)
		return true;
	return evidence->confidence >= CONFIDENCE_MIN && finest->verdict == TREND_LEAKING &&
	       finest->level_share < LEVEL_SHARE_MAX;
}

static void judge_levels(struct growth *growth, const struct series *series,
			 const struct trend_options *options)
{
	struct verdict_window windows[SERIES_LEVELS];
	struct judgement judgement;

	for (size_t i = 0; i < SERIES_LEVELS; i++)
		windows[i].count = series_points(series, i, growth->kind, windows[i].points);
	verdict_judge(&judgement, windows, SERIES_LEVELS, options);
	growth->level = judgement.window;
	growth->evidence = judgement.evidence;
	growth->verdict = judgement.evidence.verdict;
	if (growth->verdict == TREND_LEAKING && !is_sure(&judgement.evidence, &windows[0].trend))
		growth->verdict = TREND_GROWING;
}

/* Judges a series whose whole range is insignificant. */
static void judge_still(struct growth *growth, const struct series *series,
			const struct trend_options *options)
{
	struct trend_point points[SERIES_POINTS];
	size_t count = series_points(series, 0, growth->kind, points);

	trend_judge(&growth->evidence, points, count, options);
	growth->verdict = growth->evidence.verdict;
}

/*
 * A straight line of 64 MiB a minute or more over FAST_S is called growing without further
 * readings: an operator with two minutes of memory left must hear of it, and its call stacks get
 * sampled. Whether it will continue is open, so it is not called leaking, and its confidence is
 * halved at first.
 */
#define FAST_S 25.0
#define FAST_READINGS_MIN 6
#define FAST_PER_S (64 * 1024 * KIB / 60)
#define FAST_R_SQUARED 0.98
#define FAST_STEP_SHARE_MAX 0.45
#define FAST_RECENT 0.7
#define FAST_P 0.01

static bool is_fast_line(const struct trend *trend)
{
	return trend->p < FAST_P && trend->recent >= FAST_RECENT && trend->span_s >= FAST_S &&
	       trend->slope_low >= FAST_PER_S && trend->r_squared >= FAST_R_SQUARED &&
	       trend->consistency >= 1 && trend->step_share <= FAST_STEP_SHARE_MAX &&
	       trend->falls == 0;
}

static void judge_fast(struct growth *growth, const struct series *series,
		       const struct trend_options *options)
{
	struct trend_options sooner = {options->quantum, FAST_READINGS_MIN};
	struct trend_point points[SERIES_POINTS];
	struct trend trend;

	if (growth->verdict != TREND_TOO_EARLY ||
	    (growth->kind != QUANTITY_HEAP && growth->kind != QUANTITY_CHARGED))
		return;
	trend_judge(&trend, points, series_points(series, 0, growth->kind, points), &sooner);
	if (!is_fast_line(&trend))
		return;
	growth->evidence = trend;
	growth->evidence.verdict = growth->verdict = TREND_GROWING;
	growth->evidence.confidence = trend_confidence(&growth->evidence) *
				      (0.5 + 0.5 * fmin(trend.span_s / GROWTH_SPAN_S, 1));
}

/* Growth without a verdict ranks by its rate so far, after all growth with one. */
static void judge_early(struct growth *growth, const struct series *series, double quantum)
{
	struct trend_point points[SERIES_POINTS];
	size_t count = series_points(series, 0, growth->kind, points);

	early_judge(&growth->early, points, count, quantum);
	if (growth->early.grows)
		growth->urgency = growth->early.per_s * worth_bytes[growth->kind];
}

/*
 * A starting process grows below this share of its average rate since its birth: growth at that
 * rate totals less than four times the growth before.
 */
#define WARM_UP_PACE 0.8

static double last_reading_s(const struct series *series)
{
	const struct series_level *level = &series->levels[0];

	if (!level->count)
		return NAN;
	return level->points[(level->oldest + level->count - 1) % level->capacity].time_cs / 100.0;
}

/*
 * Recent growth covers the latest quarter of its life, at least a minute: the startup is no
 * evidence of the present.
 */
#define RECENT_SHARE 0.25
#define RECENT_MIN_S 60.0
#define RECENT_POINTS 3 /* averaged at each end */

static double mean_value(const struct trend_point *points, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += points[i].value;
	return sum / (double)count;
}

/*
 * Returns the recent rate in units per second, or that of the whole window if too little is known.
 */
static double recent_per_s(const struct growth *growth, const struct series *series)
{
	double now_s = last_reading_s(series), since_s;
	struct trend_point points[SERIES_POINTS];
	size_t count = 0, from = 0;

	since_s = now_s - fmax(RECENT_SHARE * growth->age_s, RECENT_MIN_S);
	/* Use the finest level that reaches back that far. */
	for (size_t level = 0; level < SERIES_LEVELS && !(count && points[0].time_s <= since_s);
	     level++)
		count = series_points(series, level, growth->kind, points);
	while (from < count && points[from].time_s < since_s)
		from++;
	if (count - from < 2 * RECENT_POINTS)
		return growth->per_s;
	since_s = points[count - 2].time_s - points[from + 1].time_s;
	return since_s > 0 ? (mean_value(points + count - RECENT_POINTS, RECENT_POINTS) -
			      mean_value(points + from, RECENT_POINTS)) /
				     since_s
			   : growth->per_s;
}

/* Returns whether the growth since the warm-up alone looks like a leak; too few readings do not. */
static bool leaks_when_warm(const struct growth *growth, const struct series *series,
			    const struct trend_options *options, double warm_s)
{
	struct trend_point points[SERIES_POINTS];
	struct trend trend = {.verdict = TREND_TOO_EARLY};

	for (size_t level = growth->level + 1; level-- > 0 && trend.verdict == TREND_TOO_EARLY;) {
		size_t count = series_points(series, level, growth->kind, points), from = 0;

		while (from < count && points[from].time_s < warm_s)
			from++;
		trend_judge(&trend, points + from, count - from, options);
	}
	return trend.verdict == TREND_LEAKING || trend.keeps_leaking;
}

/*
 * A starting program slows down. A young process is warming up unless its recent growth matches its
 * average since birth. An older one is, as long as the deciding window reaches back into its
 * warm-up, unless the rest of the window agrees with the verdict.
 */
static bool is_warming_up(const struct growth *growth, const struct series *series,
			  const struct trend_options *options, double born_s)
{
	const struct trend *evidence = &growth->evidence;
	double per_s = fmin(growth->per_s, recent_per_s(growth, series));
	double warm_s = born_s + TREND_WARM_UP_S;
	double began_s = born_s + growth->age_s - evidence->span_s;
	bool slows = per_s * growth->age_s < WARM_UP_PACE * evidence->last;

	/* An unknown age means no warm-up: comparisons with NAN fail. */
	if (growth->age_s < TREND_WARM_UP_S)
		return slows;
	return began_s < warm_s && slows && !leaks_when_warm(growth, series, options, warm_s);
}

/* Downgrades growth that is too small or too early to be called leaking. */
static void judge_floors(struct growth *growth, const struct series *series,
			 const struct trend_options *options, double range, double born_s)
{
	growth->age_s = last_reading_s(series) - born_s;
	if (!trend_is_suspect(growth->verdict))
		return;
	growth->warms_up = is_warming_up(growth, series, options, born_s);
	if (growth->verdict == TREND_LEAKING &&
	    (growth->warms_up || range < verdict_limits(SUBJECT_QUANTITY + growth->kind)->leaking))
		growth->verdict = TREND_GROWING;
}

/* Judges one quantity. */
static void judge(struct growth *growth, const struct series *series, enum quantity quantity,
		  double born_s)
{
	struct trend_options options =
		verdict_options(SUBJECT_QUANTITY + quantity, series->minimum.values[quantity]);
	double range = series->maximum.values[quantity] - series->minimum.values[quantity];

	options.points_min = readings_needed(series);
	*growth = (struct growth){.kind = quantity};
	if (range >= options.quantum)
		judge_levels(growth, series, &options);
	else
		judge_still(growth, series, &options);
	judge_fast(growth, series, &options);
	growth->confidence = growth->evidence.confidence;
	growth->per_s = growth->evidence.slope;
	growth->low_per_s = growth->evidence.slope_low;
	growth->high_per_s = growth->evidence.slope_high;
	judge_floors(growth, series, &options, range, born_s);
	growth->urgency = growth->per_s * worth_bytes[quantity] * growth->confidence;
	if (growth->verdict == TREND_TOO_EARLY)
		judge_early(growth, series, options.quantum);
}

int growth_compare(const struct growth *one, const struct growth *other)
{
	int verdicts = (int)trend_is_suspect(other->verdict) * (int)other->verdict -
		       (int)trend_is_suspect(one->verdict) * (int)one->verdict;

	if (verdicts)
		return verdicts;
	return (one->urgency < other->urgency) - (one->urgency > other->urgency);
}

static double rate_of(const struct growth *growth)
{
	return growth->verdict == TREND_TOO_EARLY ? growth->early.per_s : growth->per_s;
}

/* Returns the least certain rate per second; 0: it may be chance. */
static double sure_rate_of(const struct growth *growth)
{
	if (growth->verdict == TREND_TOO_EARLY)
		return growth->early.grows ? growth->early.per_s : 0;
	return fmax(growth->low_per_s, 0);
}

/*
 * The maximum that one thread adds: its touched stack; the stack's mapping, its guard page
 * (pthread_create(3)) and another mapping. Both are effects of growing threads, even while the
 * verdict on the threads is the milder one.
 */
static const double brought_by_thread[QUANTITY_MAX_] = {
	[QUANTITY_HEAP] = 64 * KIB,
	[QUANTITY_MAPPING] = 3,
};

static bool is_brought(const struct growth *growth, const struct growth *threads)
{
	double brought_per_s = brought_by_thread[growth->kind] * sure_rate_of(threads);

	return brought_per_s > 0 && rate_of(growth) <= brought_per_s;
}

void growth_of(struct growth *growth, const struct series *series, double born_s)
{
	struct growth all[QUANTITY_MAX_];
	const struct growth *heap = &all[QUANTITY_HEAP], *threads = &all[QUANTITY_THREADS];
	const struct growth *most;

	for (enum quantity i = 0; i < QUANTITY_MAX_; i++)
		judge(&all[i], series, i, born_s);
	most = is_brought(heap, threads) ? threads : heap;
	for (enum quantity i = 0; i < QUANTITY_MAX_; i++) {
		if (!is_brought(&all[i], threads) && growth_compare(&all[i], most) < 0)
			most = &all[i];
	}
	*growth = *most;
	growth->memory_per_s = rate_of(heap);
}

void growth_of_quantity(struct growth *growth, const struct series *series, enum quantity quantity,
			double born_s)
{
	judge(growth, series, quantity, born_s);
}

bool growth_is_of(const struct series *series, enum quantity quantity, double born_s)
{
	struct growth growth;

	judge(&growth, series, quantity, born_s);
	return trend_is_suspect(growth.verdict);
}

/* A value below this share of the earlier one means that memory was given back. */
#define HELD_SHARE 0.9

static bool is_recent(double time_s, double now_s)
{
	return time_s > 0 && now_s - time_s < GROWTH_HOLD_S;
}

void growth_hold(struct held_growth *held, struct growth *growth, double value, double now_s)
{
	enum trend_verdict own = growth->verdict;

	if (growth->kind != QUANTITY_HEAP || own == TREND_TOO_EARLY)
		return;
	if (!held->first_s)
		held->first_s = now_s;
	if (trend_is_suspect(own)) {
		held->growth = *growth;
		held->suspect_s = now_s;
	} else if (is_recent(held->suspect_s, now_s) &&
		   value >= HELD_SHARE * held->growth.evidence.last) {
		double age_s = growth->age_s;

		*growth = held->growth;
		growth->age_s = age_s;
	} else if ((own == TREND_PLATEAU || own == TREND_ONE_OFF) &&
		   now_s - held->first_s < GROWTH_HOLD_S) {
		/* A garbage-collected heap is flat between two steps. */
		growth->verdict = TREND_TOO_EARLY;
	}
	if (own == TREND_LEAKING)
		held->leaking_s = now_s;
	else if (growth->verdict == TREND_GROWING && is_recent(held->leaking_s, now_s))
		growth->verdict = TREND_LEAKING;
}

bool growth_is_worth_probes(const struct growth *growth)
{
	return trend_is_suspect(growth->verdict) && !growth->warms_up &&
	       growth->confidence >= CONFIDENCE_MIN;
}
