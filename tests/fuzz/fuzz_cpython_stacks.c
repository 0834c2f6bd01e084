// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the threads of a Python program are: a small heap made by hand, in which the input changes
 * words. Each group has threads, and each frame a function.
 *
 * Input: see forged_input.h.
 *
 * Seeds: one change.
 */
#include "runtime/python_reader.h"
#include "runtime/target_memory.h"
#include "unit/cpython_fixture.h"

#include "fuzz/forged_input.h"

static bool is_sound(const struct python_stacks *stacks)
{
	for (size_t i = 0; i < stacks->groups.count; i++) {
		const struct python_group *group = &stacks->groups.items[i];

		if (!group->tids.count || (i && group->tids.count > group[-1].tids.count))
			return false;
		for (size_t j = 0; j < group->stack.list.count; j++) {
			if (!group->stack.list.items[j].function)
				return false;
		}
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct forged *forged = forged_input(data, size);
	struct python_stacks stacks = {0};
	struct target_memory memory;

	if (target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory) ||
	    python_stacks_of(&memory, &stacks) || !is_sound(&stacks))
		abort();
	python_stacks_free(&stacks);
	target_memory_close(&memory);
	return 0;
}
