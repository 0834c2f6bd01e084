/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides which words can be pointers at all: addresses inside given ranges. Fast enough for every
 * word.
 */
#ifndef LEAKMON_HEAP_POINTER_FILTER_H
#define LEAKMON_HEAP_POINTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define FILTER_GRANULE_SHIFT 21
struct filter_range {
	uint64_t start, end;
};

struct filter {
	VEC(struct filter_range) ranges; /* ascending, not overlapping */
	uint64_t low, span;
	uint8_t *granules; /* per 2 MiB from low on: enum filter_granule */
	size_t granule_count;
};

enum filter_granule { GRANULE_OUT, GRANULE_IN, GRANULE_MIXED };

/* Adds a range, in ascending order. Returns 0 or -ENOMEM. */
int filter_add(struct filter *filter, uint64_t start, uint64_t end);
/* To be called once after the last range. Returns 0 or -ENOMEM. */
int filter_finish(struct filter *filter);
void filter_free(struct filter *filter);

bool filter_search(const struct filter *filter, uint64_t address);

static inline bool filter_has(const struct filter *filter, uint64_t word)
{
	uint64_t distance = word - filter->low;
	uint8_t granule;

	if (distance >= filter->span)
		return false;
	granule = filter->granules[distance >> FILTER_GRANULE_SHIFT];
	return granule == GRANULE_IN || (granule == GRANULE_MIXED && filter_search(filter, word));
}

#endif
