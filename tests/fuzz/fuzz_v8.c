// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walker of V8's heaps, native memory that has handles of objects, and the names of frames: a
 * small heap made by hand, in which the input changes words.
 *
 * Input: see forged_input.h. Seeds: none are needed.
 */
#include "unit/v8_fixture.h"

#include "binary/elf/cfi.h"
#include "heap/runtime/runtime.h"
#include "heap/runtime/target_memory.h"
#include "heap/runtime/v8/v8.h"
#include "process/symbol/symbolizer.h"

#define FORGED_MORE forged_native
#include "fuzz/forged_input.h"

static void name_frames(const struct forged *forged, void *state)
{
	const uint64_t shared = forged_on_data(forged);
	const uint64_t late = forged_shared_of(forged->last_function);
	const uint64_t frames[] = {
		forged_noted(shared, FORGED_BYTECODE_HEADER + 10),
		forged_noted(late, FORGED_INSTRUCTIONS + 40) | LM_FRAME_COMPILED,
		forged_noted(late, FORGED_INSTRUCTIONS + 40) | LM_FRAME_OPTIMIZED,
		forged_noted(late, FORGED_BYTECODE_HEADER),
		forged_noted(forged->sessions, 0),
	};
	struct intern strings = {0};
	struct frames named = {0};

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		v8_code_reader.name(state, frames[i], &strings, &named);
	for (size_t i = 0; i < named.list.count; i++) {
		if (!named.list.items[i].function)
			abort();
	}
	vec_free(&named.list);
	intern_free(&strings);
}

static void read_code(const struct forged *forged)
{
	struct row_builder builder = {0};
	struct code_rows rows = {.rows = &builder};
	struct target_memory memory;
	const char *why = NULL;
	void *state;

	if (target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory))
		abort();
	if (!v8_code_reader.open(&memory, &state, &why)) {
		v8_code_reader.rows(state, &rows);
		name_frames(forged, state);
		v8_code_reader.close(state);
	} else if (!why) {
		abort();
	}
	target_memory_close(&memory);
	vec_free(&builder.rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct forged *forged = forged_input(data, size);

	forged_memory_fuzz(&forged->memory);
	read_code(forged);
	return 0;
}
