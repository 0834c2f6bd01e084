// SPDX-License-Identifier: GPL-2.0-or-later
/* Reports on a process before its verdict: delay, detections and false alarms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/triage/growth.h"
#include "base/cleanup.h"
#include "series_fixture.h"

#define KIB 1024.0
#define PAUSE_S 5
#define SEEDS 1000
#define MB_PER_S (1e6 / KIB)

/* Triage's report on a process after that many readings. */
static struct growth growth_after(enum course_kind kind, unsigned seed, double until_s,
				  double kib_per_s)
{
	struct course course = {.random.state = seed * 7919 + kind * 104729};
	struct series series = {0};
	struct growth growth;

	course.level_kib = random_between(&course.random, 2000, 800000);
	course.noise_kib = random_between(&course.random, 0, 400);
	course.amplitude_kib = kib_per_s;
	course.time_s = kind == COURSE_LEAK_NOISE ? 0 : random_between(&course.random, 1, 4);
	/* Polls are 0.8 to 1.2 intervals apart, as triage_poll() spreads them. */
	for (double now_s = 0; now_s <= until_s;
	     now_s += PAUSE_S * random_between(&course.random, 0.8, 1.2)) {
		struct quantities quantities = {
			.values = {KIB * course_kib(&course, kind, now_s), 60, 4, 12}};

		assert_int_equal(series_add(&series, now_s, &quantities), 0);
	}
	growth_of(&growth, &series, NAN);
	series_free(&series);
	return growth;
}

static void a_leak_of_1_mb_per_s_is_named_within_15_s(void **state)
{
	static const enum course_kind kinds[] = {COURSE_LEAK, COURSE_LEAK_NOISE,
						 COURSE_LEAK_BURSTS};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		unsigned named = 0;

		for (unsigned seed = 0; seed < SEEDS; seed++) {
			struct growth growth = growth_after(kinds[i], seed, 15, MB_PER_S);

			named += growth_is_early(&growth);
		}
		print_message("%s: %u of %d named within 15 s\n", course_names[kinds[i]], named,
			      SEEDS);
		assert_true(named >= SEEDS * 95 / 100);
	}
}

static void what_does_not_grow_is_hardly_ever_named(void **state)
{
	static const enum course_kind kinds[] = {COURSE_IDLE, COURSE_NOISE, COURSE_WANDER,
						 COURSE_SHRINK};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		unsigned named = 0;

		for (unsigned seed = 0; seed < SEEDS; seed++) {
			struct growth growth = growth_after(kinds[i], seed, 90, 20);

			assert_int_equal(growth.verdict, TREND_TOO_EARLY);
			named += growth_is_early(&growth);
		}
		print_message("%s: %u of %d named within 90 s\n", course_names[kinds[i]], named,
			      SEEDS);
		assert_true(named <= SEEDS * EARLY_FALSE);
	}
}

static void two_readings_give_no_rate_and_three_do(void **state)
{
	struct trend_point points[] = {{0, 0}, {5, 5e6}, {10, 10e6}};
	struct early early;

	(void)state;
	early_judge(&early, points, 2, 1e6);
	assert_int_equal(early.readings, 0);
	assert_false(early.grows);
	early_judge(&early, points, 3, 1e6);
	assert_int_equal(early.readings, 3);
	assert_true(early.grows);
	assert_float_equal(early.per_s, 1e6, 1e-6);
	assert_float_equal(early.span_s, 10, 0);
}

static void one_jump_is_no_growth(void **state)
{
	struct trend_point points[24];
	struct early early;

	(void)state;
	for (size_t jump = 1; jump < ARRAY_SIZE(points); jump++) {
		for (size_t i = 0; i < ARRAY_SIZE(points); i++)
			points[i] = (struct trend_point){5.0 * (double)i, i >= jump ? 1e12 : 0};
		for (size_t count = 3; count <= ARRAY_SIZE(points); count++) {
			early_judge(&early, points, count, 1e6);
			assert_false(early.grows);
		}
	}
}

/* After processes with a verdict, before quiet ones, the fastest first. */
static void early_growth_ranks_by_its_rate(void **state)
{
	struct growth slow = growth_after(COURSE_LEAK, 1, 15, 2 * MB_PER_S);
	struct growth fast = growth_after(COURSE_LEAK, 2, 15, 8 * MB_PER_S);
	struct growth idle = growth_after(COURSE_IDLE, 3, 15, 0);
	struct growth leaking = growth_after(COURSE_LEAK, 4, 180, 20);

	(void)state;
	assert_true(growth_compare(&fast, &slow) < 0);
	assert_true(growth_compare(&slow, &idle) < 0);
	assert_int_equal(leaking.verdict, TREND_LEAKING);
	assert_true(growth_compare(&leaking, &fast) < 0);
	assert_false(growth_is_early(&leaking));
	assert_false(growth_is_worth_probes(&fast));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leak_of_1_mb_per_s_is_named_within_15_s),
		cmocka_unit_test(what_does_not_grow_is_hardly_ever_named),
		cmocka_unit_test(two_readings_give_no_rate_and_three_do),
		cmocka_unit_test(one_jump_is_no_growth),
		cmocka_unit_test(early_growth_ranks_by_its_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
