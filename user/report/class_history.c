// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/class_history.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define NS_PER_S 1e9

static struct class_series *series_of(struct class_history *history, uint64_t id)
{
	uint64_t *place = hash_put(&history->index, id, NULL);
	struct class_series *added;

	if (!place)
		return NULL;
	if (!*place) {
		added = vec_push(&history->list);
		if (!added)
			return NULL;
		*added = (struct class_series){.id = id};
		*place = history->list.count;
	}
	return &history->list.items[*place - 1];
}

/* Extends it to that many runs: it was absent before the last one. */
static int fill(struct class_series *series, size_t runs, uint64_t bytes)
{
	while (series->bytes.count < runs) {
		uint64_t *added = vec_push(&series->bytes);

		if (!added)
			return -ENOMEM;
		*added = series->bytes.count == runs ? bytes : 0;
	}
	return 0;
}

static void integrate(struct class_history *history)
{
	size_t runs = history->times.count;
	const struct timespec *last;
	double seconds;

	if (runs < 2)
		return;
	last = &history->times.items[runs - 1];
	seconds = (double)(last->tv_sec - last[-1].tv_sec) +
		  (double)(last->tv_nsec - last[-1].tv_nsec) / NS_PER_S;
	for (size_t i = 0; seconds > 0 && i < history->list.count; i++) {
		struct class_series *series = &history->list.items[i];
		const uint64_t *bytes = &series->bytes.items[runs - 1];

		series->integral_byte_s += ((double)bytes[-1] + (double)bytes[0]) / 2 * seconds;
	}
}

int class_history_add(struct class_history *history, const struct retain_result *result)
{
	struct timespec *time = vec_push(&history->times);
	size_t runs = history->times.count;
	int error = 0;

	if (!time)
		return -ENOMEM;
	*time = result->time;
	for (size_t i = 0; i < MIN(result->classes.count, (size_t)CLASS_HISTORY_TOP); i++) {
		const struct retained_class *class = &result->classes.items[i];
		struct class_series *series = series_of(history, class->id);

		if (!series || fill(series, runs, retained_class_live(class).bytes))
			return -ENOMEM;
	}
	for (size_t i = 0; !error && i < history->list.count; i++)
		error = fill(&history->list.items[i], runs, 0);
	if (!error)
		integrate(history);
	return error;
}

void class_history_free(struct class_history *history)
{
	for (size_t i = 0; i < history->list.count; i++)
		vec_free(&history->list.items[i].bytes);
	vec_free(&history->list);
	vec_free(&history->times);
	hash_free(&history->index);
	*history = (struct class_history){0};
}

const struct class_series *class_history_find(const struct class_history *history, uint64_t id)
{
	const uint64_t *place = hash_get(&history->index, id);

	return place ? &history->list.items[*place - 1] : NULL;
}

size_t class_series_heights(const struct class_series *series,
			    unsigned char heights[CLASS_SERIES_WIDTH])
{
	size_t runs = series->bytes.count, width = MIN(runs, (size_t)CLASS_SERIES_WIDTH);
	uint64_t tops[CLASS_SERIES_WIDTH] = {0}, maximum = 0;

	for (size_t i = 0; i < runs; i++) {
		uint64_t *top = &tops[i * width / runs];

		*top = MAX(*top, series->bytes.items[i]);
		maximum = MAX(maximum, *top);
	}
	for (size_t i = 0; i < width; i++) {
		heights[i] = maximum ? (unsigned char)((double)tops[i] / (double)maximum * 8) : 0;
		/* Draws a nonzero value at least one step high. */
		if (tops[i] && !heights[i])
			heights[i] = 1;
	}
	return width;
}

struct ordered {
	double integral;
	uint32_t place;
};

static int compare_ordered(const void *left_pointer, const void *right_pointer)
{
	const struct ordered *left = left_pointer, *right = right_pointer;

	if (left->integral != right->integral)
		return left->integral < right->integral ? 1 : -1;
	return left->place < right->place ? -1 : left->place > right->place;
}

int class_history_order(const struct class_history *history, const struct retain_result *result,
			uint32_t *places)
{
	size_t count = result->classes.count;
	_cleanup_free_ struct ordered *ordered = calloc(count + 1, sizeof(*ordered));

	if (!ordered)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct class_series *series =
			class_history_find(history, result->classes.items[i].id);

		ordered[i] = (struct ordered){series ? series->integral_byte_s : 0, (uint32_t)i};
	}
	qsort(ordered, count, sizeof(*ordered), compare_ordered);
	for (size_t i = 0; i < count; i++)
		places[i] = ordered[i].place;
	return 0;
}
