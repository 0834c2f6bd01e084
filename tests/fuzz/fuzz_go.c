// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the reader of Go programs: a small program made by hand, in which the input
 * changes words (forged_memory.h).
 *
 * Seeds: none are needed.
 */
#include "unit/go_fixture.h"

/* Makes a program with a heap. */
static inline bool forged_make_all(struct forged *forged)
{
	if (!forged_make(forged))
		return false;
	forged_heap(forged);
	return true;
}
#define FORGED_MAKE forged_make_all
#include "fuzz/forged_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct forged *forged = forged_input(data, size);
	struct task_report goroutines;
	struct heap_profile profile;
	struct forged_heap_walk walked;
	struct go_memory memory;

	if (goroutines_read(&forged->memory.maps, &goroutines))
		abort();
	task_report_free(&goroutines);
	if (heap_profile_read(&forged->memory.maps, &profile) ||
	    go_memory_read(&forged->memory.maps, &memory))
		abort();
	heap_profile_free(&profile);
	if (forged_heap_walk(forged, &walked))
		abort();
	for (uint32_t i = 1; i < walked.sink.count; i++) {
		if (walked.sink.starts[i - 1] + walked.sink.sizes[i - 1] > walked.sink.starts[i])
			abort();
	}
	forged_heap_free(&walked);
	return 0;
}
