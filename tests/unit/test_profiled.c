// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples and sites of a profile, when there are more than there is room for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "app/profile/profile_target.h"
#include "base/cleanup.h"
#include "profile_fixture.h"

#define ROOM 600
#define SITES 40

/* A tenth of a site's allocations stay; the rest are freed at once. */
static size_t allocate(struct program *program, double at_s, double length_s)
{
	size_t first = program->blocks.count;

	for (uint32_t site = 1; site <= SITES; site++) {
		for (size_t i = 0; i < 30; i++) {
			struct simulated *block =
				program_allocate(program, site, at_s + length_s * 0.5);

			block->dies_s = i % 10 ? at_s + length_s + 0.1 : INFINITY;
		}
	}
	return first;
}

/*
 * A window every ten seconds, of blocks of which three a site and window stay: 30 a second of a
 * tracked tenth of a second. Half are let go whenever there are too many.
 */
static void halved_samples_stay_below_a_bound_and_keep_the_figures_right(void **state)
{
	size_t covered = 0, all = 0;
	double mean = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct program program = {.random = seed, .room = ROOM};
		struct profiled profiled;
		unsigned halved = 0;

		profiled_init(&profiled, seed);
		for (double now_s = 0; now_s < 1800; now_s += 10) {
			looks_until(&profiled, &program, now_s);
			window_over(&profiled, &program, allocate(&program, now_s, 0.1), now_s,
				    0.1);
			for (; profiled.samples > ROOM; halved++)
				profiled_halve(&profiled);
		}
		assert_true(halved > 3);
		for (uint32_t site = 1; site <= SITES; site++) {
			struct site_judgement judgement = judge_site(&profiled, site);
			const struct interval *growth = &judgement.growth_blocks_per_s;

			mean += growth->estimate / SITES / 20;
			covered += growth->low <= 30 && 30 <= growth->high;
			all++;
		}
		profiled_free(&profiled);
		program_free(&program);
	}
	print_message("30 blocks a second: %.2f, covered in %.3f\n", mean,
		      (double)covered / (double)all);
	assert_true(mean > 28 && mean < 32);
	assert_true((double)covered > 0.9 * (double)all);
}

/* Once a site was left out, no other is let in: it would seem to begin there. */
static void sites_beyond_the_room_are_counted_and_not_followed(void **state)
{
	struct window_births births[] = {{1, 10, 1000}, {2, 20, 2000}, {3, 30, 3000}};
	struct window_block blocks[] = {{0x1000, 8, 1, 1}, {0x2000, 8, 1, 2}, {0x3000, 8, 1, 3}};
	struct window_taken taken = {.at_s = 1,
				     .length_s = 1,
				     .wall_s = 1,
				     .end_s = 1.5,
				     .births = births,
				     .birth_count = 3,
				     .blocks = blocks,
				     .block_count = 3,
				     .room = 100,
				     .site_room = 2};
	struct profiled profiled;

	(void)state;
	profiled_init(&profiled, 1);
	assert_int_equal(profiled_take(&profiled, &taken), 0);
	assert_int_equal(profiled.sites.count, 2);
	assert_int_equal(profiled.samples, 2);
	assert_int_equal(profiled.unfollowed, 30);
	taken.site_room = 100;
	assert_int_equal(profiled_take(&profiled, &taken), 0);
	assert_int_equal(profiled.sites.count, 2);
	assert_int_equal(profiled.samples, 4);
	assert_int_equal(profiled.unfollowed, 60);
	profiled_free(&profiled);
}

/* A leak's blocks have outlived a collection by the time that they are called so. */
static void blocks_that_garbage_may_hold_are_doubted_until_a_collection(void **state)
{
	static const struct {
		double now_s;
		uint64_t full;
		bool known, doubted;
	} looks[] = {
		/* Earlier collections prove nothing: their times are unknown. */
		{30, 4, true, true},
		{800, 4, true, true},
		{900, 5, true, false},
		{1600, 5, true, false},
		{1700, 5, true, true},
		/* It collects just now: nothing is read. */
		{1730, 0, false, true},
		{1760, 7, true, false},
	};
	struct garbage_watch watch = {0}, native = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		const struct heap_floor floor = {
			.known = looks[i].known, .full = looks[i].full, .outside_limit = 1};

		garbage_watch_note(&watch, &floor, looks[i].now_s);
		if (garbage_watch_doubts(&watch, looks[i].now_s) != looks[i].doubted)
			fail_msg("look %zu", i);
	}
	/* One without a heap like that. */
	garbage_watch_look(&native, getpid(), 30);
	assert_int_equal(native.looks, 1);
	assert_false(garbage_watch_doubts(&native, 30));
	garbage_watch_note(&native, &(struct heap_floor){.known = true, .full = 3}, 60);
	assert_false(garbage_watch_doubts(&native, 60));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halved_samples_stay_below_a_bound_and_keep_the_figures_right),
		cmocka_unit_test(sites_beyond_the_room_are_counted_and_not_followed),
		cmocka_unit_test(blocks_that_garbage_may_hold_are_doubted_until_a_collection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
