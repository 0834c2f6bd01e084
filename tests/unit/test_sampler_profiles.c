// SPDX-License-Identifier: GPL-2.0-or-later
/* Heap profiles of gperftools and TCMalloc in a memory made by hand; then with nonsense in it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/sampler_fixture.h"

#define MUTANTS 600

static int read_own(const struct forged *forged, const struct own_profile_source *source,
		    struct heap_profile *profile)
{
	int error;

	*profile = (struct heap_profile){.source = source->name};
	error = source->read(&forged->memory.maps, profile);
	if (!error)
		heap_profile_estimate(profile);
	return error;
}

static void expect_gperftools(uint32_t counted)
{
	struct heap_profile profile;
	struct forged forged;

	assert_true(forged_make_counted(&forged, counted));
	assert_int_equal(read_own(&forged, &own_profile_gperftools, &profile), 0);
	assert_null(profile.why);
	assert_int_equal(profile.rate, 1);
	assert_int_equal(profile.sites.count, 2);
	assert_true(profile.sites.items[0].objects == 30 && profile.sites.items[0].bytes == 30000);
	assert_true(profile.sites.items[1].objects == 18 && profile.sites.items[1].bytes == 18000);
	assert_true(profile.limits.low == 48000 && profile.limits.high == 48000);
	assert_int_equal(profile.sites.items[0].depth, 2);
	assert_int_equal(profile.sites.items[0].addresses[0], forged.code + 0x100);
	heap_profile_free(&profile);
	forged_memory_free(&forged.memory);
}

static void gperftools_counts_every_block_in_both_layouts(void **state)
{
	(void)state;
	expect_gperftools(3);
	expect_gperftools(4);
}

static void live_samples_of_tcmalloc_have_its_weights(void **state)
{
	struct heap_profile profile;
	struct forged forged;

	(void)state;
	assert_true(forged_make(&forged));
	assert_int_equal(read_own(&forged, &own_profile_tcmalloc, &profile), 0);
	assert_null(profile.why);
	assert_int_equal(profile.sites.count, 1);
	assert_int_equal(profile.sites.items[0].allocated.objects, 2);
	assert_true(profile.sites.items[0].objects == 6 && profile.bytes == 6.0 * (1u << 20));
	assert_true(profile.limits.low < profile.bytes / 2 &&
		    profile.limits.high > profile.bytes * 2);
	heap_profile_free(&profile);
	forged_memory_free(&forged.memory);
}

/* One word each, after which a profile is refused, or none is found. */
static void what_contradicts_itself_is_not_believed(void **state)
{
	const struct {
		const struct own_profile_source *source;
		uint64_t address, word;
	} changes[] = {
		{&own_profile_gperftools, FORGED_TABLE + 16, 61},		/* the total */
		{&own_profile_gperftools, FORGED_STACKS + 256 + 128, 1},	/* an address */
		{&own_profile_gperftools, FORGED_STACKS + 256 + 8, 1000},	/* frees */
		{&own_profile_gperftools, FORGED_TABLE, 1},			/* a function */
		{&own_profile_tcmalloc, FORGED_RECORDS + 2056, FORGED_RECORDS}, /* a circle */
		{&own_profile_tcmalloc, FORGED_RECORDS + 112, 1},		/* no code */
		{&own_profile_tcmalloc, FORGED_RECORDS + 96, 1},		/* a span */
	};
	struct forged forged;

	(void)state;
	assert_true(forged_make(&forged));
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		uint64_t was = forged_word(changes[i].address);
		struct heap_profile profile;

		forged_put(changes[i].address, changes[i].word);
		assert_true(read_own(&forged, changes[i].source, &profile) == -ENOENT ||
			    profile.why);
		heap_profile_free(&profile);
		forged_put(changes[i].address, was);
	}
	forged_memory_free(&forged.memory);
}

static void nonsense_does_no_harm(void **state)
{
	const struct own_profile_source *const sources[] = {&own_profile_gperftools,
							    &own_profile_tcmalloc};
	unsigned char *kept = malloc(FORGED_BYTES);
	struct forged forged;
	uint64_t seed = 1;

	(void)state;
	assert_non_null(kept);
	assert_true(forged_make(&forged));
	memcpy(kept, forged.memory.bytes, FORGED_BYTES);
	for (int i = 0; i < MUTANTS; i++) {
		struct heap_profile profile;
		int error;

		memcpy(forged.memory.bytes, kept, FORGED_BYTES);
		forged_memory_scramble(&forged.memory, &seed);
		error = read_own(&forged, sources[i % 2], &profile);
		assert_true(!error || error == -ENOENT);
		heap_profile_free(&profile);
	}
	free(kept);
	forged_memory_free(&forged.memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gperftools_counts_every_block_in_both_layouts),
		cmocka_unit_test(live_samples_of_tcmalloc_have_its_weights),
		cmocka_unit_test(what_contradicts_itself_is_not_believed),
		cmocka_unit_test(nonsense_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
