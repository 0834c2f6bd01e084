/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For fuzzers of parts of HotSpot's heaps: memory without a fixture, and places in it by hand. */
#ifndef LEAKMON_FUZZ_HOTSPOT_PLACES_H
#define LEAKMON_FUZZ_HOTSPOT_PLACES_H

#include "heap/runtime/hotspot/hotspot.h"
#include "unit/forged_memory.h"

#define FORGED_BASE 0x200000000000ull
#define FORGED_DATA 0x1000u

struct forged {
	struct forged_memory memory;
};

struct forged_place {
	enum hotspot_place place;
	uint64_t offset;
};

/* All other places are unknown. */
static inline void forged_describe(struct hotspot *hotspot, const struct forged_place *places,
				   size_t count)
{
	memset(hotspot->layout.places, 0xff, sizeof(hotspot->layout.places));
	for (size_t i = 0; i < count; i++)
		hotspot->layout.places[places[i].place] = places[i].offset;
}

#endif
