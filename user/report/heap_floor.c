// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/heap_floor.h"

#include "base/cleanup.h"

/* Live bytes fluctuate a little with each collection. */
#define GROWTH_MIN (1 << 20)

/* Returns the upper bound of the first live bytes: before a first collection, the size of the heap;
 * if that is unknown, the live bytes after this collection. */
static uint64_t most_kept(const struct heap_floor *first, const struct heap_floor *now)
{
	if (first->none_yet && !first->uncollected)
		return now->kept;
	return MIN(first->kept + first->uncollected, now->kept);
}

void heap_floor_rebase(struct heap_floor *first, const struct heap_floor *now)
{
	if (!first->known || !now->known || now->full <= first->full)
		return;
	first->kept = most_kept(first, now);
	first->none_yet = false;
	first->uncollected = 0;
	if (!first->is_base)
		first->full = now->full;
	first->is_base = true;
}

enum heap_proof heap_floor_compare(const struct heap_floor *first, const struct heap_floor *now,
				   int64_t grown)
{
	if (now->full <= first->full)
		return HEAP_UNPROVEN;
	if ((int64_t)(now->kept - first->kept) >= MAX(grown, GROWTH_MIN) / 5)
		return HEAP_KEEPS_MORE;
	return first->is_base ? HEAP_KEEPS_AS_MUCH : HEAP_UNPROVEN;
}

void heap_outside_look(struct heap_outside *outside, const struct heap_floor *now, int64_t bytes)
{
	if (!now->known)
		return;
	if (!outside->known || outside->key != now->key) {
		*outside = (struct heap_outside){.known = true,
						 .first = bytes,
						 .last = bytes,
						 .full = now->full,
						 .key = now->key};
		return;
	}
	if (now->full <= outside->full)
		return;
	/* Bytes seen at the first look may have been held by garbage. */
	if (!outside->is_base)
		outside->first = bytes;
	outside->is_base = true;
	outside->last = bytes;
	outside->full = now->full;
}

bool heap_outside_is_proven(const struct heap_outside *outside, const struct heap_floor *now,
			    int64_t bytes)
{
	if (!outside->known || !now->outside_limit ||
	    bytes - outside->last > (int64_t)now->outside_limit)
		return true;
	return outside->last - outside->first >= MAX((bytes - outside->first) / 2, GROWTH_MIN);
}
