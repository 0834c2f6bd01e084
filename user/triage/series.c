// SPDX-License-Identifier: GPL-2.0-or-later
#include "triage/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
