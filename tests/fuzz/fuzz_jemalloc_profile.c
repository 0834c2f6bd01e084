// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the reader of jemalloc's heap profile: one made by hand, in which the input
 * changes words (forged_memory.h).
 *
 * Seeds: none are needed.
 */
#include <errno.h>

#include "unit/jemalloc_profile_fixture.h"

#include "fuzz/forged_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct forged *forged = forged_input(data, size);
	struct heap_profile profile;
	int error = own_profile_read(&forged->memory.maps, &profile);

	if (error && error != -ENOENT)
		abort();
	heap_profile_free(&profile);
	return 0;
}
