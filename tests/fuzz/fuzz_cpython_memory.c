// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The use of CPython's arenas: a small handmade heap, in which the input changes words. The parts
 * must not exceed the whole, nor pins the arenas.
 *
 * Input: see forged_input.h.
 *
 * Seeds: one change.
 */
#include "heap/runtime/cpython/python_reader.h"
#include "unit/cpython_fixture.h"

#include "fuzz/forged_input.h"

static bool is_sound(const struct python_memory *python)
{
	if (python->why)
		return true;
	for (size_t i = 0; i < python->pins.count; i++) {
		const struct python_pin *pin = &python->pins.items[i];

		if (!pin->objects || pin->arenas > python->sparse || pin->bytes > python->used)
			return false;
	}
	return python->sparse <= python->arenas && python->free <= python->bytes &&
	       python->used <= python->bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct forged *forged = forged_input(data, size);
	struct python_memory python = {0};
	struct target_memory memory;

	if (target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory) ||
	    python_memory_of(&memory, &python) || !is_sound(&python))
		abort();
	python_memory_free(&python);
	target_memory_close(&memory);
	return 0;
}
