// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/history_series.h"

#include <errno.h>

#include "base/cleanup.h"

#define DEFAULT_MAX_TIMES 240
#define NS_PER_S 1e9

static size_t max_times(const struct history *history)
{
	return history->limits.max_times ? MAX(history->limits.max_times, 4) : DEFAULT_MAX_TIMES;
}

struct history_point history_point_at(const struct history_series *series, size_t time)
{
	if (time < series->first || time - series->first >= series->points.count)
		return (struct history_point){0};
	return series->points.items[time - series->first];
}

/* Whether time `i` stays when the others make room. */
static bool time_stays(const struct history *history, size_t i)
{
	return i % 2 == 0 || history->times.items[i].label || i + 1 == history->times.count;
}

static void series_thin(const struct history *history, struct history_series *series)
{
	size_t kept = 0, before = 0;

	for (size_t i = 0; i < series->first; i++)
		before += time_stays(history, i);
	for (size_t i = 0; i < series->points.count; i++) {
		if (time_stays(history, series->first + i))
			series->points.items[kept++] = series->points.items[i];
	}
	series->first = before;
	series->points.count = kept;
}

/* Forgets every second time. */
static void history_thin(struct history *history)
{
	size_t kept = 0, count = history->times.count;

	for (size_t i = 0; i < history->sites.count; i++)
		series_thin(history, &history->sites.items[i].series);
	for (size_t i = 0; i < history->processes.count; i++)
		series_thin(history, &history->processes.items[i].series);
	for (size_t i = 0; i < count; i++) {
		struct history_time time = history->times.items[i];

		if (time_stays(history, i))
			history->times.items[kept++] = time;
		else
			free(time.label);
	}
	history->times.count = kept;
}

/* Labels alone could fill the room: then the oldest ones give way too. */
static void history_make_room(struct history *history)
{
	size_t limit = max_times(history);

	if (history->times.count < limit)
		return;
	history_thin(history);
	if (history->times.count < limit)
		return;
	for (size_t i = 1; i + 1 < history->times.count; i++) {
		free(history->times.items[i].label);
		history->times.items[i].label = NULL;
	}
	history_thin(history);
}

int history_time_add(struct history *history, const struct snapshot *snapshot, const char *label)
{
	_cleanup_free_ char *copy = label ? strdup(label) : NULL;
	struct history_time *time;

	if (label && !copy)
		return -ENOMEM;
	history_make_room(history);
	time = vec_push(&history->times);
	if (!time)
		return -ENOMEM;
	*time = (struct history_time){.sequence = snapshot->sequence,
				      .time = snapshot->time,
				      .monotonic_ns = snapshot->monotonic_ns,
				      .label = TAKE_PTR(copy)};
	return 0;
}

/* Seconds between the latest snapshot and the one before. */
static double latest_step_s(const struct history *history)
{
	size_t count = history->times.count;
	uint64_t from, to;

	if (count < 2)
		return 0;
	from = history->times.items[count - 2].monotonic_ns;
	to = history->times.items[count - 1].monotonic_ns;
	return to > from ? (double)(to - from) / NS_PER_S : 0;
}

int history_series_add(const struct history *history, struct history_series *series,
		       struct history_point point)
{
	size_t now = history->times.count - 1;
	struct history_point before = history_point_at(series, now ? now - 1 : 0), *place;

	if (!series->points.count) {
		series->first = now;
		before = (struct history_point){0};
	}
	if (now)
		series->integral_byte_s +=
			((double)before.bytes + (double)point.bytes) / 2 * latest_step_s(history);
	place = vec_push(&series->points);
	if (!place)
		return -ENOMEM;
	*place = point;
	return 0;
}

/* What is no longer there has been freed, as far as anybody can tell. */
static struct history_point gone_after(const struct history_series *series)
{
	struct history_point point = series->points.items[series->points.count - 1];

	point.bytes = point.count = point.oldest_ns = 0;
	point.freed_bytes = point.allocated_bytes;
	point.freed_count = point.allocated_count;
	return point;
}

/* Brings a series that the snapshot did not mention up to the latest time. */
int history_series_catch_up(const struct history *history, struct history_series *series)
{
	if (!series->points.count || series->first + series->points.count == history->times.count)
		return 0;
	return history_series_add(history, series, gone_after(series));
}
