// SPDX-License-Identifier: GPL-2.0-or-later
/* Traces of Python's tracemalloc in a memory made by hand; then the same with nonsense in it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/tracemalloc_fixture.h"

#define MUTANTS 600

static void expect_line(const struct frames *frames, size_t n, const char *name, uint32_t line)
{
	const struct frame *frame = &frames->list.items[n];

	assert_true(n < frames->list.count);
	assert_string_equal(frame->function, name);
	assert_string_equal(frame->file, "/srv/app/main.py");
	assert_int_equal(frame->line, line);
}

/* Blocks 0, 2, 3, 5 and 6 have both lines, the others one. */
static void expect_traces(unsigned version)
{
	const struct heap_profile_site *deep, *flat;
	struct forged_traces made;
	struct heap_profile profile;

	assert_true(forged_traces_make(&made, version));
	assert_int_equal(forged_traces_read(&made, &profile), 0);
	assert_null(profile.why);
	heap_profile_estimate(&profile);
	assert_int_equal(profile.rate, 1);
	assert_int_equal(profile.sites.count, 2);
	deep = &profile.sites.items[0];
	flat = &profile.sites.items[1];
	assert_true(deep->objects == 5 && deep->bytes == 5 * FORGED_BLOCK_SIZE + 16);
	assert_true(flat->objects == 3 && flat->bytes == 3 * FORGED_BLOCK_SIZE + 12);
	assert_true(deep->limits.low == deep->bytes && deep->limits.high == deep->bytes);
	assert_int_equal(deep->frames.list.count, 2);
	assert_int_equal(flat->frames.list.count, 1);
	expect_line(&deep->frames, 0, "main.py:7", 7);
	expect_line(&deep->frames, 1, "main.py:12", 12);
	heap_profile_free(&profile);
	forged_memory_free(&made.forged.memory);
}

static void blocks_are_counted_by_their_lines_in_every_version(void **state)
{
	static const unsigned versions[] = {0x0309, 0x030a, 0x030b, 0x030c, 0x030d, 0x030e, 0x030f};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		expect_traces(versions[i]);
}

static void what_contradicts_itself_is_no_trace(void **state)
{
	struct forged_traces made;
	struct heap_profile profile;
	uint64_t hash;

	(void)state;
	assert_true(forged_traces_make(&made, 0x030b));
	hash = forged_word(made.entries[7] + 8);
	forged_put(made.entries[7] + 8, hash ^ 1ull << 20);
	assert_int_equal(forged_traces_read(&made, &profile), 0);
	assert_non_null(profile.why);
	heap_profile_free(&profile);
	forged_put(made.entries[7] + 8, hash);
	forged_put(made.entries[0], made.entries[0]); /* a circle */
	assert_int_equal(forged_traces_read(&made, &profile), 0);
	assert_non_null(profile.why);
	heap_profile_free(&profile);
	made.forged.memory.mappings[2].executable = false;
	assert_int_equal(forged_traces_read(&made, &profile), -ENOENT);
	heap_profile_free(&profile);
	forged_memory_free(&made.forged.memory);
}

static void nonsense_does_no_harm(void **state)
{
	unsigned char *kept = malloc(FORGED_BYTES);
	struct forged_traces made;
	uint64_t seed = 1;

	(void)state;
	assert_non_null(kept);
	assert_true(forged_traces_make(&made, 0x030f));
	memcpy(kept, made.forged.memory.bytes, FORGED_BYTES);
	for (int i = 0; i < MUTANTS; i++) {
		struct heap_profile profile;
		int error;

		memcpy(made.forged.memory.bytes, kept, FORGED_BYTES);
		forged_memory_scramble(&made.forged.memory, &seed);
		error = forged_traces_read(&made, &profile);
		assert_true(!error || error == -ENOENT);
		heap_profile_free(&profile);
	}
	free(kept);
	forged_memory_free(&made.forged.memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_counted_by_their_lines_in_every_version),
		cmocka_unit_test(what_contradicts_itself_is_no_trace),
		cmocka_unit_test(nonsense_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
