// SPDX-License-Identifier: GPL-2.0-or-later
#include "triage/growth.h"

#include <math.h>

#include "base/cleanup.h"

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
