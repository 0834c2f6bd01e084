// SPDX-License-Identifier: GPL-2.0-or-later
/* jemalloc's heap profile in a memory made by hand; then the same with nonsense in it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/jemalloc_profile_fixture.h"

#define MUTANTS 1000

static int setup(void **state)
{
	struct forged *forged = malloc(sizeof(*forged));

	*state = forged;
	return forged && forged_make(forged) ? 0 : -1;
}

static int teardown(void **state)
{
	struct forged *forged = *state;

	forged_memory_free(&forged->memory);
	free(forged);
	return 0;
}

static void samples_of_all_threads_are_weighed_by_call_stack(void **state)
{
	struct forged *forged = *state;
	const struct heap_profile_site *large, *small;
	struct heap_profile profile;

	assert_int_equal(own_profile_read(&forged->memory.maps, &profile), 0);
	assert_string_equal(profile.source, "jemalloc");
	assert_null(profile.why);
	assert_int_equal(profile.rate, 1u << FORGED_RATE_BITS);
	assert_int_equal(profile.sites.count, 2);
	large = &profile.sites.items[0];
	assert_int_equal(large->allocated.objects, 5);
	assert_true(large->bytes == 5.0 * (1u << 20));
	assert_true(large->limits.low == large->bytes);
	/* Nothing of that size was missed; smaller blocks may have been: -ln(2.5 %) rates. */
	assert_true(large->limits.high < large->bytes + 4.0 * (1u << FORGED_RATE_BITS));
	small = &profile.sites.items[1];
	assert_int_equal(small->allocated.objects, 42);
	assert_true(small->bytes == 42 * forged_weight(1024));
	assert_float_equal(small->objects, 42 * forged_weight(1024) / 1024, 1);
	assert_true(small->limits.low > 0.6 * small->bytes && small->limits.low < small->bytes);
	assert_true(small->limits.high > small->bytes && small->limits.high < 1.5 * small->bytes);
	heap_profile_free(&profile);
}

static void frames_of_the_library_itself_are_left_out(void **state)
{
	struct forged *forged = *state;
	struct heap_profile profile;

	assert_int_equal(own_profile_read(&forged->memory.maps, &profile), 0);
	assert_int_equal(profile.sites.items[0].depth, FORGED_STACK_DEPTH - 1);
	for (uint32_t i = 1; i < FORGED_STACK_DEPTH; i++)
		assert_int_equal(profile.sites.items[0].addresses[i - 1], FORGED_CALLER + 256 + i);
	heap_profile_free(&profile);
}

/* Each condition must hold, or the whole profile is refused. */
static void what_contradicts_itself_is_not_believed(void **state)
{
	struct forged *forged = *state;
	const struct {
		uint64_t address, word;
	} changes[] = {
		{FORGED_BASE + FORGED_TABLE, FORGED_STACKS + 1},	/* its count */
		{forged_record(forged, 1) + 104, FORGED_BASE},		/* a stack elsewhere */
		{forged_record(forged, 1) + 112, 2000},			/* its depth */
		{forged->threads[1][0] + 96, forged_record(forged, 0)}, /* another's record */
		{forged->threads[0][1] + 112, forged->threads[0][0]},	/* a circle */
		{forged->threads[0][1] + 48, UINT64_MAX},		/* bytes */
		{forged_record(forged, 1) + 128, UINT64_MAX},		/* an address */
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		uint64_t was = forged_word(changes[i].address);
		struct heap_profile profile;

		forged_put(changes[i].address, changes[i].word);
		assert_int_equal(own_profile_read(&forged->memory.maps, &profile), 0);
		assert_non_null(profile.why);
		heap_profile_free(&profile);
		forged_put(changes[i].address, was);
	}
}

static void without_code_behind_it_there_is_no_table(void **state)
{
	struct forged *forged = *state;
	struct heap_profile profile;

	forged->memory.mappings[2].executable = false;
	assert_int_equal(own_profile_read(&forged->memory.maps, &profile), -ENOENT);
	heap_profile_free(&profile);
}

/* Every block is in a profile at a rate of one. */
static void a_rate_of_one_is_exact(void **state)
{
	struct forged *forged = *state;
	struct heap_profile profile;

	memset(forged_memory_place(FORGED_BASE + FORGED_WEIGHTS), 0, 128);
	for (uint32_t i = 0; i < 2; i++) {
		forged_put(forged->threads[0][i] + 40, forged_word(forged->threads[0][i] + 32) * 8);
		forged_put(forged->threads[0][i] + 56, forged_word(forged->threads[0][i] + 48));
	}
	assert_int_equal(own_profile_read(&forged->memory.maps, &profile), 0);
	assert_int_equal(profile.rate, 1);
	assert_true(profile.bytes == 42 * 1024 + 5.0 * (1u << 20));
	assert_true(profile.limits.low == profile.bytes && profile.limits.high == profile.bytes);
	heap_profile_free(&profile);
}

static void nonsense_does_no_harm(void **state)
{
	struct forged *forged = *state;
	unsigned char *kept = malloc(FORGED_BYTES);
	uint64_t seed = 1;

	assert_non_null(kept);
	memcpy(kept, forged->memory.bytes, FORGED_BYTES);
	for (int i = 0; i < MUTANTS; i++) {
		struct heap_profile profile;
		int error;

		memcpy(forged->memory.bytes, kept, FORGED_BYTES);
		forged_memory_scramble(&forged->memory, &seed);
		error = own_profile_read(&forged->memory.maps, &profile);
		assert_true(!error || error == -ENOENT);
		heap_profile_free(&profile);
	}
	free(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(samples_of_all_threads_are_weighed_by_call_stack,
						setup, teardown),
		cmocka_unit_test_setup_teardown(frames_of_the_library_itself_are_left_out, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_contradicts_itself_is_not_believed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(without_code_behind_it_there_is_no_table, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_rate_of_one_is_exact, setup, teardown),
		cmocka_unit_test_setup_teardown(nonsense_does_no_harm, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
