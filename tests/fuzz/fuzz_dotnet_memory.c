// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Collections and budgets of .NET: a small heap made by hand, in which the input changes words.
 * Older generations are collected no more often than younger ones.
 *
 * Input: see forged_input.h.
 *
 * Seeds: one change.
 */
#include "heap/runtime/dotnet/reader.h"
#include "heap/runtime/target_memory.h"
#include "unit/dotnet_fixture.h"

#include "fuzz/forged_input.h"

static bool is_sound(const struct dotnet_memory *dotnet)
{
	return dotnet->why ||
	       (dotnet->heaps && dotnet->collections[1] <= dotnet->collections[0] &&
		dotnet->collections[2] <= dotnet->collections[1] && dotnet->small.allowed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct forged *forged = forged_input(data, size);
	struct dotnet_memory dotnet = {0};
	struct target_memory memory;

	if (target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory) ||
	    dotnet_memory_of(&memory, &dotnet) || !is_sound(&dotnet))
		abort();
	target_memory_close(&memory);
	return 0;
}
