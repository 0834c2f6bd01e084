// SPDX-License-Identifier: GPL-2.0-or-later
/* The pace of windows on a simulated clock: what is spent, when windows open, how long they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/cleanup.h"
#include "profile/pace.h"

#define TICK_S 0.1
#define SEEDS 20

/* A process that uses `share` of a core, for `on_s` out of every `period_s`; it allocates `rate`
 * times a second of its CPU time, which costs `pair_s` each under probes. */
struct program {
	double share, on_s, period_s, rate, pair_s;
};

static double cpu_at(const struct program *program, double now_s)
{
	double periods = floor(now_s / program->period_s);
	double on_s = fmin(now_s - periods * program->period_s, program->on_s);

	return program->share * (periods * program->on_s + on_s);
}

/* One whose hits came all while births counted. */
static void spend(struct pace *pace, double attach_s, double hits_s, double births_s, double births)
{
	pace_spend(pace, &(struct pace_window){attach_s, hits_s, births_s, hits_s, births});
}

struct outcome {
	double spent, tracked_s, busy; /* of windows, the share that opened while it was busy */
	unsigned windows;
};

static struct outcome run(const struct program *program, double limit, double attach_s,
			  double end_s, uint64_t seed)
{
	struct outcome outcome = {0};
	struct pace pace;

	pace_begin(&pace, limit, attach_s, seed);
	for (double now_s = 0; now_s < end_s; now_s += TICK_S) {
		double length_s, cpu_s, births;

		if (!pace_step(&pace, now_s, cpu_at(program, now_s)))
			continue;
		length_s = pace_length_s(&pace);
		assert_true(length_s >= PACE_WINDOW_MIN_S && length_s <= PACE_WINDOW_MAX_S);
		cpu_s = cpu_at(program, now_s + length_s) - cpu_at(program, now_s);
		births = cpu_s * program->rate;
		/* Closed early when it is too dear. */
		if (attach_s + births * program->pair_s > pace_allowance_s(&pace))
			births = (pace_allowance_s(&pace) - attach_s) / program->pair_s;
		spend(&pace, attach_s, births * program->pair_s, length_s, births);
		outcome.tracked_s += length_s;
		outcome.busy += cpu_s > 0;
		outcome.windows++;
	}
	outcome.spent = pace_spent(&pace);
	outcome.busy /= outcome.windows ? outcome.windows : 1;
	return outcome;
}

/* Windows were seen to cost 1.5 times what was counted. */
static void what_is_spent_leaves_a_third_of_the_limit_to_what_cannot_be_counted(void **state)
{
	static const struct program programs[] = {
		{1, 1, 1, 400000, 3e-6}, /* nothing but malloc and free */
		{1, 1, 1, 10000, 2e-6},	  {2, 1, 1, 100000, 2e-6},    {0.2, 1, 1, 100000, 2e-6},
		{1, 3, 10, 100000, 2e-6}, {1, 30, 600, 100000, 2e-6},
	};
	static const double limits[] = {0.01, 0.002, 0.05};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(limits); j++) {
			for (uint64_t seed = 1; seed <= SEEDS; seed++) {
				struct outcome outcome =
					run(&programs[i], limits[j], 0.003, 3600, seed);
				double used_s = cpu_at(&programs[i], 3600);

				/* One window may come before it is earned. */
				assert_true(1.5 * outcome.spent < limits[j] * 1.02 + 0.09 / used_s);
				assert_true(1.5 * outcome.spent > limits[j] * 0.5 - 0.09 / used_s);
			}
		}
	}
}

static void an_idle_process_has_no_windows(void **state)
{
	static const struct program idle = {0, 1, 1, 0, 0};

	(void)state;
	assert_int_equal(run(&idle, 0.01, 0.003, 86400, 1).windows, 0);
}

/* Somebody waits for it: it may lose a two-thousandth of a core, and loses no more. */
static void one_that_idles_has_windows_out_of_what_is_granted(void **state)
{
	struct pace pace;
	unsigned windows = 0, early = 0;

	(void)state;
	pace_begin(&pace, 0.01, 0.003, 1);
	pace.granted = 0.0005;
	for (double now_s = 0; now_s <= 3600; now_s += TICK_S) {
		if (!pace_step(&pace, now_s, 0))
			continue;
		spend(&pace, 0.003, 0, 0.01, 0);
		windows++;
		early += now_s <= 1;
		assert_true(pace.spent_s <= 0.0005 * (now_s + PACE_AHEAD_S) + 1e-9);
	}
	print_message("idle: %u windows in an hour\n", windows);
	assert_int_equal(early, 1);
	assert_true(windows > 300 && windows <= 610);
}

/* Else rates would be those of busy times only. */
static void windows_open_as_often_in_busy_times_as_these_are(void **state)
{
	static const struct program turns = {1, 5, 20, 100000, 2e-6};
	double busy = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		busy += run(&turns, 0.01, 0.003, 3600, seed).busy / SEEDS;
	print_message("busy a quarter of the time, in %.3f of the windows\n", busy);
	assert_true(busy > 0.2 && busy < 0.32);
}

static void windows_are_as_long_as_their_births_and_their_attach_ask(void **state)
{
	struct pace pace;

	(void)state;
	pace_begin(&pace, 0.01, 0.003, 1);
	assert_true(pace_length_s(&pace) == PACE_WINDOW_MIN_S); /* nothing is known yet */
	spend(&pace, 0.003, 0.0001, 0.01, 1);
	assert_true(pace_length_s(&pace) == PACE_WINDOW_MAX_S);
	pace_begin(&pace, 0.01, 0.003, 1);
	spend(&pace, 0.003, 0.008, 0.01, 4000);
	assert_true(pace_length_s(&pace) == PACE_WINDOW_MIN_S);
	pace_begin(&pace, 0.01, 0.003, 1);
	spend(&pace, 0.003, 0.001, 0.01, 1000); /* 100,000 a second, a tenth of its time */
	assert_true(fabs(pace_length_s(&pace) - 0.06) < 1e-9);
}

/* Else one that allocates in turns would wait for a second of it to be earned, and a program that
 * only frees for as long. */
static void a_burst_beside_the_births_makes_no_window_dear(void **state)
{
	static const struct pace_window beside = {.attach_s = 0.002,
						  .hits_s = 0.002,
						  .births_s = 0.01},
					frees = {.attach_s = 0.002,
						 .hits_s = 0.006,
						 .births_s = 0.01,
						 .births_hits_s = 0.005};
	struct pace pace;
	unsigned windows = 0;

	(void)state;
	pace_begin(&pace, 0.01, 0.002, 1);
	pace.granted = 0.0005;
	pace_spend(&pace, &beside);
	assert_true(pace.spent_s == beside.attach_s + beside.hits_s);
	assert_true(pace_length_s(&pace) == PACE_WINDOW_MAX_S);
	for (double now_s = 0; now_s < 30; now_s += TICK_S)
		windows += pace_step(&pace, now_s, 0);
	assert_true(windows > 0);
	pace_begin(&pace, 0.01, 0.002, 1);
	pace_spend(&pace, &frees);
	assert_true(fabs(pace_length_s(&pace) - 0.04) < 1e-9);
}

/* On a busy machine it may be read too late: the next one must not last a second for that. */
static void one_that_came_to_nothing_is_paid_and_tells_nothing_of_births(void **state)
{
	struct pace pace;

	(void)state;
	pace_begin(&pace, 0.01, 0.003, 1);
	spend(&pace, 0.003, 0.01, 0.01, -1);
	assert_true(pace_length_s(&pace) == PACE_WINDOW_MIN_S);
	assert_true(pace.spent_s == 0.003 + 0.01);
	spend(&pace, 0.003, 0.001, 0.01, 1000);
	spend(&pace, 0.003, 0.001, 0.01, -1);
	assert_true(fabs(pace_length_s(&pace) - 0.06) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_is_spent_leaves_a_third_of_the_limit_to_what_cannot_be_counted),
		cmocka_unit_test(an_idle_process_has_no_windows),
		cmocka_unit_test(one_that_idles_has_windows_out_of_what_is_granted),
		cmocka_unit_test(windows_open_as_often_in_busy_times_as_these_are),
		cmocka_unit_test(windows_are_as_long_as_their_births_and_their_attach_ask),
		cmocka_unit_test(a_burst_beside_the_births_makes_no_window_dear),
		cmocka_unit_test(one_that_came_to_nothing_is_paid_and_tells_nothing_of_births),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
