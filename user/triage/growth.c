// SPDX-License-Identifier: GPL-2.0-or-later
#include "triage/growth.h"

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

/* The mean of the points added since the last one was taken. */
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

/* Below this confidence a suspect is not worth its probes. */
#define CONFIDENCE_MIN 0.5
#define KIB 1024.0

/*
 * quantum   growth within one window that is worth a word. /proc may lag by 32 pages per CPU
 *           (percpu counters since Linux 6.2), glibc takes memory in steps of 132 KiB, and
 *           what wanders by hundreds of KiB rises for minutes now and then. Slower leaks show in
 *           longer windows.
 * bytes     what one of it is worth when kinds are compared. Leaked threads and mappings hold
 *           memory too: a thread must outweigh its own touched stack and its two mappings, so that
 *           the cause is named and not its effect; a leaked block of 128 KiB or more is a mapping
 *           of its own, and there the memory outweighs it.
 */
static const struct {
	const char *name;
	double quantum, bytes;
} kinds[] = {
	[QUANTITY_HEAP] = {"heap", 1024 * KIB, 1},
	[QUANTITY_MAPPING] = {"mapping", 16, 16 * KIB},
	[QUANTITY_THREADS] = {"threads", 4, 256 * KIB},
	[QUANTITY_FILES] = {"files", 8, 32 * KIB},
};

_Static_assert(ARRAY_SIZE(kinds) == QUANTITY_MAX_, "a row for every quantity");

/* And growth below this share of what is there is no growth worth a word either. */
#define QUANTUM_SHARE 0.002

/* The last third grew by less than this share of the middle one's: it slows down. */
#define SLOWING 0.6

/* A tail is no faster than the last third of what it is the tail of, with room for noise. */
#define TAIL_MARGIN 1.5

struct window {
	struct trend trend;
	struct trend_point points[SERIES_POINTS];
	size_t count;
};

/* The highest point of the window's later half that is older than `before_s`. */
static double maximum_before(const struct window *window, double before_s)
{
	double maximum = 0;

	for (size_t i = window->count / 2; i < window->count; i++) {
		if (window->points[i].time_s < before_s)
			maximum = MAX(maximum, window->points[i].value);
	}
	return maximum;
}

static bool is_tail(const struct trend *coarse, const struct trend *fine)
{
	double tail = coarse->thirds[2] / (coarse->span_s / 3);

	return coarse->verdict == TREND_PLATEAU &&
	       coarse->thirds[2] <= SLOWING * coarse->thirds[1] &&
	       fine->slope <= MAX(tail, 0) * TAIL_MARGIN;
}

/* Whether what the finer window shows as growth is part of something older. */
static bool explains(const struct window *coarse, const struct window *fine, bool next)
{
	const struct trend *older = &coarse->trend;
	/* Means cut the tips off: by what is gained from one to the next, and half of that. */
	double tip = coarse->count > 1
			     ? 1.5 * fine->trend.slope * older->span_s / (double)(coarse->count - 1)
			     : 0;

	if (older->verdict == TREND_CHURNING && fine->trend.last <= older->maximum + tip)
		return true;
	/* Only what was there not long before: a peak of hours ago hides no leak of today. */
	if (next && older->verdict != TREND_TOO_EARLY && !trend_is_suspect(older->verdict) &&
	    fine->trend.last <=
		    maximum_before(coarse, fine->points[0].time_s) + (older->falls >= 2 ? tip : 0))
		return true;
	return is_tail(older, &fine->trend);
}

/* The longest window whose growth no longer one explains; SERIES_LEVELS: nothing grows. */
static size_t deciding(const struct window windows[SERIES_LEVELS])
{
	for (size_t i = SERIES_LEVELS; i-- > 0;) {
		bool explained = false;

		if (!trend_is_suspect(windows[i].trend.verdict))
			continue;
		for (size_t above = i + 1; above < SERIES_LEVELS; above++)
			explained |= explains(&windows[above], &windows[i], above == i + 1);
		if (!explained)
			return i;
	}
	return SERIES_LEVELS;
}

/* Nothing grows: the longest window that has something to tell names it. */
static size_t telling(const struct window windows[SERIES_LEVELS])
{
	size_t found = 0;

	for (size_t i = 0; i < SERIES_LEVELS; i++) {
		if (!trend_is_suspect(windows[i].trend.verdict) &&
		    windows[i].trend.verdict >= windows[found].trend.verdict)
			found = i;
	}
	return found;
}

static void judge_levels(struct growth *growth, const struct series *series,
			 struct trend_options options)
{
	struct window windows[SERIES_LEVELS];

	for (size_t i = 0; i < SERIES_LEVELS; i++) {
		struct window *window = &windows[i];

		options.points_min = i ? 0 : GROWTH_READINGS_MIN;
		window->count = series_points(series, i, growth->kind, window->points);
		trend_judge(&window->trend, window->points, window->count, &options);
	}
	growth->level = deciding(windows);
	if (growth->level == SERIES_LEVELS)
		growth->level = telling(windows);
	growth->evidence = windows[growth->level].trend;
	/* Growth that an older window explains, and that has no other word. */
	if (trend_is_suspect(growth->evidence.verdict) && deciding(windows) == SERIES_LEVELS) {
		growth->evidence.verdict = TREND_CHURNING;
		growth->evidence.confidence = 0;
	}
}

/* Nothing has ever moved by as much as matters. */
static void judge_still(struct growth *growth, const struct series *series,
			struct trend_options options)
{
	struct trend_point points[SERIES_POINTS];
	size_t count = series_points(series, 0, growth->kind, points);

	options.points_min = GROWTH_READINGS_MIN;
	trend_judge(&growth->evidence, points, count, &options);
}

/*
 * The verdict on one quantity. Resolutions that disagree are settled so: growth that stays within
 * the range of an older churning is churning; growth that is the tail of an older one that slows
 * down is a plateau; else the longest window that grows decides, since it knows the rate best.
 */
static void judge(struct growth *growth, const struct series *series, enum quantity quantity)
{
	struct trend_options options = {
		.quantum = fmax(kinds[quantity].quantum,
				QUANTUM_SHARE * series->minimum.values[quantity]),
	};
	double range = series->maximum.values[quantity] - series->minimum.values[quantity];

	*growth = (struct growth){.kind = quantity};
	if (range >= options.quantum)
		judge_levels(growth, series, options);
	else
		judge_still(growth, series, options);
	growth->verdict = growth->evidence.verdict;
	growth->confidence = growth->evidence.confidence;
	growth->per_s = growth->evidence.slope;
	growth->low_per_s = growth->evidence.slope_low;
	growth->high_per_s = growth->evidence.slope_high;
	growth->urgency = growth->per_s * kinds[quantity].bytes * growth->confidence;
}

int growth_compare(const struct growth *one, const struct growth *other)
{
	int verdicts = (int)trend_is_suspect(other->verdict) * (int)other->verdict -
		       (int)trend_is_suspect(one->verdict) * (int)one->verdict;

	if (verdicts)
		return verdicts;
	return (one->urgency < other->urgency) - (one->urgency > other->urgency);
}

void growth_of(struct growth *growth, const struct series *series)
{
	double memory_per_s;

	judge(growth, series, QUANTITY_HEAP);
	memory_per_s = growth->per_s;
	for (enum quantity i = QUANTITY_HEAP + 1; i < QUANTITY_MAX_; i++) {
		struct growth other;

		judge(&other, series, i);
		if (growth_compare(&other, growth) < 0)
			*growth = other;
	}
	growth->memory_per_s = memory_per_s;
}

const char *growth_kind_name(enum quantity kind)
{
	return kinds[kind].name;
}

bool growth_is_worth_probes(const struct growth *growth)
{
	return trend_is_suspect(growth->verdict) && growth->confidence >= CONFIDENCE_MIN;
}
