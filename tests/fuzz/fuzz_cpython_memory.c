// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What CPython's arenas are used for: a small heap made by hand, in which the input changes words.
 * The parts must be no more than the whole, and pins no more than the arenas.
 *
 * Input: changes of 12 bytes each, see forged_memory.h.
 *
 * Seeds: one change.
 */
#include "runtime/python_reader.h"
#include "unit/cpython_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
	static struct forged forged;
	static unsigned char *kept;
	struct python_memory python = {0};
	struct target_memory memory;

	if (!kept) {
		kept = malloc(FORGED_BYTES);
		if (!kept || !forged_make(&forged))
			abort();
		memcpy(kept, forged.memory.bytes, FORGED_BYTES);
	}
	forged_memory_change(&forged.memory, kept, data, size);
	if (target_memory_open(&forged.memory.maps, &forged.memory.modules, NULL, &memory) ||
	    python_memory_of(&memory, &python) || !is_sound(&python))
		abort();
	python_memory_free(&python);
	target_memory_close(&memory);
	return 0;
}
