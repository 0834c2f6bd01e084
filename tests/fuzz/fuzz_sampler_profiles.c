// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the readers of gperftools' and TCMalloc's heap profiles: both made by hand,
 * in which the input changes words (forged_memory.h).
 *
 * Seeds: none are needed.
 */
#include <errno.h>

#include "unit/sampler_fixture.h"

#include "fuzz/forged_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct forged *forged = forged_input(data, size);
	const struct own_profile_source *const sources[] = {&own_profile_gperftools,
							    &own_profile_tcmalloc};

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		struct heap_profile profile = {.source = sources[i]->name};
		int error = sources[i]->read(&forged->memory.maps, &profile);

		if (error && error != -ENOENT)
			abort();
		heap_profile_free(&profile);
	}
	return 0;
}
