// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocators/pointer_filter.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "binary/arch/machine.h"

#define GRANULE (1ull << FILTER_GRANULE_SHIFT)

int filter_add(struct filter *filter, uint64_t start, uint64_t end)
{
	struct filter_range *last;

	end = MIN(end, 1ull << MACHINE_USER_BITS);
	if (start >= end)
		return 0;
	/* For the analyser: a nonempty capacity implies items. */
	if ((filter->ranges.count || filter->ranges.capacity) && !filter->ranges.items)
		return -ENOMEM;
	last = filter->ranges.count ? &filter->ranges.items[filter->ranges.count - 1] : NULL;
	if (last && start <= last->end) {
		last->end = MAX(last->end, end);
		return 0;
	}
	last = vec_push(&filter->ranges);
	if (!last)
		return -ENOMEM;
	*last = (struct filter_range){start, end};
	return 0;
}

static void mark(struct filter *filter, const struct filter_range *range)
{
	uint64_t first = (range->start - filter->low) >> FILTER_GRANULE_SHIFT;
	uint64_t last = (range->end - 1 - filter->low) >> FILTER_GRANULE_SHIFT;

	for (uint64_t i = first; i <= last; i++) {
		uint64_t start = filter->low + i * GRANULE;
		bool whole = range->start <= start && range->end >= start + GRANULE;

		filter->granules[i] = whole ? GRANULE_IN : GRANULE_MIXED;
	}
}

int filter_finish(struct filter *filter)
{
	size_t count = filter->ranges.count;
	void *room;

	if (!count)
		return 0;
	filter->low = filter->ranges.items[0].start & ~(GRANULE - 1);
	filter->span = filter->ranges.items[count - 1].end - filter->low;
	filter->granule_count = (filter->span >> FILTER_GRANULE_SHIFT) + 1;
	/*
	 * Mostly untouched: terabytes lie between heap and libraries. Shared, so that it does not
	 * count towards leakmon's memory limit (memory_room_keep).
	 */
	room = mmap(NULL, filter->granule_count, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED) {
		filter->span = 0;
		return -ENOMEM;
	}
	filter->granules = room;
	for (size_t i = 0; i < count; i++)
		mark(filter, &filter->ranges.items[i]);
	return 0;
}

bool filter_search(const struct filter *filter, uint64_t address)
{
	return RANGE_AT(filter->ranges.items, filter->ranges.count, address);
}

void filter_free(struct filter *filter)
{
	if (filter->granules)
		munmap(filter->granules, filter->granule_count);
	vec_free(&filter->ranges);
	*filter = (struct filter){0};
}
