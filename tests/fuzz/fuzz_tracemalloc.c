// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the reader of tracemalloc's traces: a small Python made by hand, in which
 * the input changes words (forged_memory.h).
 *
 * Seeds: none are needed.
 */
#include <errno.h>

#include "unit/tracemalloc_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct forged_traces made;
	static unsigned char *kept;
	struct heap_profile profile;
	int error;

	if (!kept) {
		kept = malloc(FORGED_BYTES);
		if (!kept || !forged_traces_make(&made, 0x030f))
			abort();
		memcpy(kept, made.forged.memory.bytes, FORGED_BYTES);
	}
	forged_memory_change(&made.forged.memory, kept, data, size);
	error = forged_traces_read(&made, &profile);
	if (error && error != -ENOENT)
		abort();
	heap_profile_free(&profile);
	return 0;
}
