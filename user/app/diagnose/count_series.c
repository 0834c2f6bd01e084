// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/diagnose/count_series.h"

#include "base/cleanup.h"

#define PARTS 3
/* Readings required in each part: the minimum of fewer may be the top of a burst. */
#define PART_READINGS_MIN 2

/* Any program fluctuates by fewer threads or descriptors. */
#define GROWTH_MIN 5
#define GROWTH_SHARE 20 /* and by 1/N of the first value */

void count_series_add(struct count_series *series, double at_s, uint64_t value)
{
	if (series->count == COUNT_SERIES_MAX)
		series->count--;
	series->readings[series->count].at_s = at_s;
	series->readings[series->count].value = value;
	series->count++;
}

static size_t part_of(const struct count_series *series, size_t i)
{
	double begin_s = series->readings[0].at_s;
	double span_s = series->readings[series->count - 1].at_s - begin_s;
	double share = span_s > 0 ? (series->readings[i].at_s - begin_s) / span_s : 0;

	return MIN((size_t)(share * PARTS), PARTS - 1);
}

enum count_trend count_series_trend(const struct count_series *series)
{
	uint64_t lowest[PARTS] = {UINT64_MAX, UINT64_MAX, UINT64_MAX}, end;
	size_t readings[PARTS] = {0};

	for (size_t i = 0; i < series->count; i++) {
		size_t part = part_of(series, i);

		lowest[part] = MIN(lowest[part], series->readings[i].value);
		readings[part]++;
	}
	for (size_t i = 0; i < PARTS; i++) {
		if (readings[i] < PART_READINGS_MIN)
			return COUNT_TREND_UNKNOWN;
	}
	end = series->readings[series->count - 1].value;
	return lowest[1] >= lowest[0] && lowest[2] >= lowest[1] && lowest[2] > lowest[0] &&
			       end > lowest[2]
		       ? COUNT_TREND_RISES
		       : COUNT_TREND_STANDS;
}

bool count_grew(const struct diagnosed_count *count)
{
	uint64_t least = MAX(GROWTH_MIN, count->before / GROWTH_SHARE);

	return count->known && count->now >= count->before + least;
}
