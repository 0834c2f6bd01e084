/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reading of a runtime's code in forged memory. Included after a fixture with `struct forged` and
 * its `memory`, after unit/walked.h, and after CODE_READER: the struct code_reader to test.
 */
#ifndef LEAKMON_UNIT_CODE_READING_H
#define LEAKMON_UNIT_CODE_READING_H

#include "base/cleanup.h"
#include "binary/elf/cfi.h"
#include "heap/runtime/runtime.h"
#include "heap/runtime/target_memory.h"
#include "unit/walked.h"

struct opened {
	struct target_memory memory;
	void *state;
	struct row_builder builder;
	struct code_rows rows;
	struct intern strings;
	struct frames frames;
	const char *why;
};

/* Returns 0, or an error of the reader, which says why; call close_code() in either case. */
static inline int open_code(const struct forged *forged, struct opened *opened)
{
	int error;

	*opened = (struct opened){.rows.rows = &opened->builder};
	assert_int_equal(target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL,
					    &opened->memory),
			 0);
	error = CODE_READER.open(&opened->memory, &opened->state, &opened->why);
	assert_true(!error || opened->why);
	return error;
}

static inline void close_code(struct opened *opened)
{
	if (opened->state)
		CODE_READER.close(opened->state);
	target_memory_close(&opened->memory);
	vec_free(&opened->builder.rows);
	vec_free(&opened->frames.list);
	intern_free(&opened->strings);
}

static inline int name(struct opened *opened, uint64_t frame)
{
	opened->frames.list.count = 0;
	return CODE_READER.name(opened->state, frame, &opened->strings, &opened->frames);
}

/*
 * Calls `read` for MUTANTS scrambled memories, if they can be opened; `seed`: for forged_random().
 * Under sanitizers, no invalid read or write may occur.
 */
static inline void expect_no_harm_of_code(struct forged *forged,
					  void (*read)(struct forged *forged, struct opened *opened,
						       uint64_t *seed))
{
	_cleanup_free_ unsigned char *kept = malloc(forged->memory.size);
	uint64_t seed = 1;

	assert_non_null(kept);
	memcpy(kept, forged->memory.bytes, forged->memory.size);
	for (size_t i = 0; i < MUTANTS; i++) {
		struct opened opened;

		forged_memory_scramble(&forged->memory, &seed);
		if (!open_code(forged, &opened))
			read(forged, &opened, &seed);
		close_code(&opened);
		memcpy(forged->memory.bytes, kept, forged->memory.size);
	}
}

#endif
