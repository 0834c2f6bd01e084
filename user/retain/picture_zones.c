// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/picture_zones.h"

#include <errno.h>

#include "base/cleanup.h"

int zones_add(struct picture *picture, enum zone_kind kind, uint64_t start, uint64_t end,
	      size_t thread)
{
	struct zone *zone;

	if (start >= end)
		return 0;
	zone = vec_push(&picture->zones);
	if (!zone)
		return -ENOMEM;
	*zone = (struct zone){start, end, kind, (uint32_t)thread};
	return 0;
}

int zones_add_idle(struct picture *picture, const struct picture_options *options)
{
	int err = 0;

	for (size_t i = 0; !err && i < options->idle_count; i++)
		err = zones_add(picture, ZONE_NOTHING, options->idle[i].start, options->idle[i].end,
				0);
	return err;
}

/*
 * What lies behind a break may hold anything; so may the chunk before it: whether it is in use
 * stood in the broken one.
 */
static uint64_t walked_end(const struct heap_span *span)
{
	size_t count = span->chunks.count;

	if (!span->broken)
		return span->end;
	return count ? span->start + chunk_distance(span->chunks.items[count - 1]) : span->start;
}

static int add_allocator(struct picture *picture)
{
	int err = 0;

	for (size_t i = 0; !err && i < picture->arenas.list.count; i++) {
		const struct malloc_arena *arena = &picture->arenas.list.items[i];

		err = zones_add(picture, ZONE_ALLOCATOR, arena->address,
				arena->address + arena->layout->size, 0);
	}
	for (size_t i = 0; !err && i < picture->spans.list.count; i++) {
		const struct heap_span *span = &picture->spans.list.items[i];

		err = zones_add(picture, ZONE_HEAP, span->start, walked_end(span), 0);
	}
	return err;
}

/* By address; among equal ones the more telling kind first. */
static int compare_zones(const void *left_pointer, const void *right_pointer)
{
	const struct zone *left = left_pointer, *right = right_pointer;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (int)left->kind - (int)right->kind;
}

/* Two threads' stacks in one mapping: the unused part of one begins where the other ends. */
static void cut_overlaps(struct picture *picture)
{
	size_t kept = 0;

	for (size_t i = 0; i < picture->zones.count; i++) {
		struct zone zone = picture->zones.items[i];
		struct zone *last = kept ? &picture->zones.items[kept - 1] : NULL;

		/* A stack wins over another one's unused part around it. */
		if (last && last->end > zone.start && last->kind == ZONE_NOTHING)
			last->end = zone.start;
		else if (last && last->end > zone.start)
			zone.start = last->end;
		if (zone.start < zone.end)
			picture->zones.items[kept++] = zone;
	}
	picture->zones.count = kept;
}

int zones_finish(struct picture *picture)
{
	int err = add_allocator(picture);

	free_lists_finish(&picture->free_chunks);
	if (picture->zones.count)
		qsort(picture->zones.items, picture->zones.count, sizeof(*picture->zones.items),
		      compare_zones);
	cut_overlaps(picture);
	return err;
}

const struct zone *picture_zone(const struct picture *picture, uint64_t address)
{
	size_t low = 0, high = picture->zones.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (picture->zones.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < picture->zones.count && picture->zones.items[low].start <= address)
		return &picture->zones.items[low];
	return NULL;
}
