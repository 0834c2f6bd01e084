// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/level.h"

#include <math.h>

#include "analyze/site_trend.h"
#include "base/cleanup.h"

#define NS_PER_S 1e9

struct level_window level_window(const struct history *history, size_t at, size_t span)
{
	size_t size = MIN(MAX(span / LEVEL_SHARE, (size_t)1), (size_t)LEVEL_SNAPSHOTS) - 1;
	size_t behind = history->times.count - 1 - at;
	size_t before = MIN(size - MIN(size / 2, behind), at);

	return (struct level_window){
		.first = at - before,
		.at = at,
		.last = at + MIN(size - before, behind),
	};
}

static void range_of(struct level *level, const struct history_series *series,
		     const struct level_window *window)
{
	struct history_point point = history_point_at(series, window->at);

	level->low_bytes = level->high_bytes = point.bytes;
	level->low_count = level->high_count = point.count;
	for (size_t i = window->first; i <= window->last; i++) {
		point = history_point_at(series, i);
		level->low_bytes = MIN(level->low_bytes, point.bytes);
		level->high_bytes = MAX(level->high_bytes, point.bytes);
		level->low_count = MIN(level->low_count, point.count);
		level->high_count = MAX(level->high_count, point.count);
	}
}

struct steps {
	size_t up, all;
	bool down; /* ever, as far as is known */
};

static struct steps steps_count(const struct history_series *series,
				const struct level_window *window)
{
	struct steps steps = {.all = window->last - window->first};

	for (size_t i = window->first; i < window->last; i++) {
		struct history_point from = history_point_at(series, i);
		struct history_point to = history_point_at(series, i + 1);

		steps.up += to.bytes > from.bytes || to.count > from.count;
	}
	for (size_t i = 1; i < series->points.count && !steps.down; i++)
		steps.down = series->points.items[i].bytes < series->points.items[i - 1].bytes ||
			     series->points.items[i].count < series->points.items[i - 1].count;
	return steps;
}

/* The least of the latest LEVEL_HELD snapshots up to this one, as far as the window goes. */
static void held_lately(struct level *level, const struct history_series *series,
			const struct level_window *window)
{
	for (size_t i = window->first; i <= window->at; i++) {
		struct history_point point = history_point_at(series, i);

		if (window->at - i >= LEVEL_HELD)
			continue;
		level->bytes = MIN(level->bytes, point.bytes);
		level->count = MIN(level->count, point.count);
	}
}

static double seconds_between(const struct history *history, size_t from, size_t to)
{
	return ((double)history->times.items[to].monotonic_ns -
		(double)history->times.items[from].monotonic_ns) /
	       NS_PER_S;
}

/* The least, with the growth from there to the snapshot; never more than was there. */
static void low_points(struct level *level, const struct history *history,
		       const struct history_site *site, const struct level_window *window)
{
	struct history_point now = history_point_at(&site->series, window->at);
	struct site_trend trend;
	double bytes = (double)now.bytes, growth;

	site_trend_of(&trend, history, site);
	growth = site_trend_growth(&trend);
	level->bytes = level->low_bytes;
	level->count = level->low_count;
	level->grows = growth > 0;
	if (!level->grows || !now.bytes)
		return;
	for (size_t i = window->first; i <= window->last; i++)
		bytes = fmin(bytes, (double)history_point_at(&site->series, i).bytes +
					    growth * seconds_between(history, i, window->at));
	level->bytes = MAX((uint64_t)fmax(bytes, 0), MIN(level->low_bytes, now.bytes));
	level->count =
		(uint64_t)round((double)level->bytes / (double)now.bytes * (double)now.count);
}

void level_of(struct level *level, const struct history *history, const struct history_site *site,
	      const struct level_window *window)
{
	struct history_point now = history_point_at(&site->series, window->at);
	struct steps steps = steps_count(&site->series, window);

	*level = (struct level){.bytes = now.bytes, .count = now.count};
	range_of(level, &site->series, window);
	if (steps.down)
		low_points(level, history, site, window);
	else if (2 * steps.up < steps.all)
		held_lately(level, &site->series, window);
}
