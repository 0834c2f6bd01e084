// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * V8's counts of its heaps: a small handmade heap, in which the input changes words. Collections of
 * a whole heap are a subset of all collections, and uncollected bytes a part of the heap.
 *
 * Input: see forged_input.h.
 *
 * Seeds: one change.
 */
#include "heap/runtime/target_memory.h"
#include "heap/runtime/v8/reader.h"
#include "unit/v8_fixture.h"

#define FORGED_MORE forged_counts
#include "fuzz/forged_input.h"

static bool is_sound(const struct js_memory *js)
{
	if (js->why)
		return true;
	return (!js->has_collections || js->full_collections <= js->collections) &&
	       js->uncollected <= js->committed &&
	       memchr(js->version, '\0', sizeof(js->version)) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct forged *forged = forged_input(data, size);
	struct target_memory memory;

	if (target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory))
		abort();
	for (int collections = 0; collections < 2; collections++) {
		struct js_memory js = {0};

		if (js_memory_of(&memory, &forged->memory.module, collections, &js) ||
		    !is_sound(&js))
			abort();
	}
	target_memory_close(&memory);
	return 0;
}
