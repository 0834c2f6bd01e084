// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of .NET's heaps, of version 8: without a descriptor. */
#include "unit/dotnet_fixture.h"

static inline bool forged_make_8(struct forged *forged)
{
	if (!forged_make(forged))
		return false;
	forged_become_8(forged);
	forged->memory.place_count = 0;
	forged_memory_find_places(&forged->memory);
	return true;
}
#define FORGED_MAKE forged_make_8

#include "fuzz/forged_heap.h"
