// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the threads of a Python program are, and in which lines by each kind of line tables: a
 * small heap made by hand, in which the input changes words. Each group has threads, and each frame
 * a function.
 *
 * Input: see forged_input.h.
 *
 * Seeds: one change.
 */
#include "heap/runtime/cpython/python_reader.h"
#include "heap/runtime/target_memory.h"
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

/* The table of the one function, in which the input changes bytes, as each version reads it. */
static void find_lines(struct target_memory *memory)
{
	static const uint32_t offsets[] = {0, 2, 3, 40, 1000, CPYTHON_NO_OFFSET};
	struct cpython python = {0};
	struct cpython_layout layout;
	struct cpython_place place;
	char version[24];
	const char *why;

	if (!cpython_open(memory, &python, version, &why)) {
		layout = *python.layout;
		python.layout = &layout;
		for (size_t i = 0; i < 3 * ARRAY_SIZE(offsets); i++) {
			layout.frames.line_kind = (enum line_kind)(i % 3);
			if (cpython_place_of(&python, FORGED_CODE_AT, offsets[i / 3], &place) &&
			    !place.function[0])
				abort();
		}
	}
	cpython_close(&python);
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
	find_lines(&memory);
	target_memory_close(&memory);
	return 0;
}
