// SPDX-License-Identifier: GPL-2.0-or-later
/* Intervals against a known truth: 200 fixed seeds each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/profile/intervals.h"
#include "unit/profile_fixture.h"

#define SEEDS 200

/*
 * Returns the interval for a rate per second, in bursts of `burst` on average, over that many
 * windows.
 */
static struct interval rate_seen(uint64_t seed, double rate, double burst, size_t windows)
{
	struct window_sums lengths = {0};
	struct count_sums counts = {0};
	uint64_t random = seed * 77777;

	for (size_t i = 0; i < windows; i++) {
		double length_s = 0.02 + 0.05 * sim_unit(&random);
		size_t bursts = sim_poisson(&random, rate / burst * length_s), count = 0;

		for (size_t j = 0; j < bursts; j++)
			count += burst > 1 ? 1 + sim_poisson(&random, burst - 1) : 1;
		window_sums_add(&lengths, length_s, length_s);
		if (count)
			count_sums_add(&counts, length_s, (double)count, (double)count, 1);
	}
	return interval_rate(&counts, &lengths);
}

static void rates_are_covered_from_rare_to_frequent_and_in_bursts(void **state)
{
	static const struct {
		double rate, burst;
		size_t windows;
	} cases[] = {
		{0.5, 1, 60}, {2, 1, 100},   {10, 1, 30},    {10, 1, 300},
		{500, 1, 8},  {50, 10, 200}, {2000, 50, 60}, {100000, 300, 20},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t covered = 0;

		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct interval rate =
				rate_seen(seed, cases[i].rate, cases[i].burst, cases[i].windows);

			covered += rate.low <= cases[i].rate && cases[i].rate <= rate.high;
		}
		print_message("rate %g in bursts of %g, %zu windows: %zu of %d covered\n",
			      cases[i].rate, cases[i].burst, cases[i].windows, covered, SEEDS);
		assert_true(covered >= SEEDS * 90 / 100);
	}
}

static void what_was_never_seen_may_be_there_but_is_rare(void **state)
{
	struct window_sums windows = {0};
	struct count_sums counts = {0};
	struct interval rate = interval_rate(&counts, &windows);

	(void)state;
	assert_true(rate.low == 0 && isinf(rate.high));
	for (size_t i = 0; i < 100; i++)
		window_sums_add(&windows, 0.1, 0.1);
	rate = interval_rate(&counts, &windows);
	assert_true(rate.estimate == 0 && rate.low == 0);
	/* Garwood's limit for nothing seen is 3.69; Wilson and Hilferty come near. */
	assert_true(rate.high > 0.35 && rate.high < 0.39);
}

static void a_balance_may_be_negative_and_is_covered(void **state)
{
	size_t covered = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct window_sums windows = {0};
		struct count_sums balance = {0};
		uint64_t random = seed * 991;
		struct interval net;

		for (size_t i = 0; i < 60; i++) {
			double length_s = 0.02 + 0.03 * sim_unit(&random);
			double count = (double)sim_poisson(&random, 900 * length_s) -
				       (double)sim_poisson(&random, 1000 * length_s);

			window_sums_add(&windows, length_s, length_s);
			count_sums_add(&balance, length_s, count, fabs(count), 1);
		}
		net = interval_balance(&balance, &windows);
		covered += net.low <= -100 && -100 <= net.high;
	}
	print_message("net growth: %zu of %d covered\n", covered, SEEDS);
	assert_true(covered >= SEEDS * 90 / 100);
}

/* Each of `blocks` lives for an exponential time; some leave the observation earlier. */
static struct interval survival_seen(uint64_t seed, size_t blocks, double mean_s, size_t to)
{
	struct life_cell cells[PROFILE_AGES] = {0};
	uint64_t random = seed * 4242;

	for (size_t i = 0; i < blocks; i++) {
		double dies_s = sim_exponential(&random, mean_s);
		double lost_s = sim_exponential(&random, 4 * mean_s);

		for (size_t age = 1; age <= to && profile_age_s(age) < lost_s; age++) {
			cells[age].at_risk++;
			cells[age].weights2++;
			if (dies_s < profile_age_s(age))
				break;
			cells[age].alive++;
		}
	}
	return interval_survival(cells, 0, to);
}

static void survival_is_covered_though_blocks_are_lost_from_sight(void **state)
{
	static const struct {
		size_t blocks;
		double mean_s;
	} cases[] = {{10, 1000}, {40, 200}, {40, 2000}, {200, 60}, {500, 400}};
	size_t to = PROFILE_AGE_LEAK - 8; /* 125 s */

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double truth = exp(-profile_age_s(to) / cases[i].mean_s);
		size_t covered = 0;

		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct interval share =
				survival_seen(seed, cases[i].blocks, cases[i].mean_s, to);

			covered += share.low <= truth && truth <= share.high;
		}
		print_message("%zu blocks of %g s: %zu of %d covered\n", cases[i].blocks,
			      cases[i].mean_s, covered, SEEDS);
		assert_true(covered >= SEEDS * 90 / 100);
	}
}

static void limits_of_shares_are_wilsons(void **state)
{
	/* R. G. Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263, 15 of 148, 0 of 20,
	 * 1 of 29. */
	static const struct {
		double hits, samples, low, high;
	} cases[] = {{81, 263, 0.2553, 0.3662},
		     {15, 148, 0.0624, 0.1605},
		     {0, 20, 0, 0.1611},
		     {1, 29, 0.0061, 0.1718}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct interval share =
			interval_share(cases[i].hits / cases[i].samples, cases[i].samples);

		assert_true(fabs(share.low - cases[i].low) < 0.0001);
		assert_true(fabs(share.high - cases[i].high) < 0.0001);
	}
}

static void students_quantiles_are_those_of_the_tables(void **state)
{
	(void)state;
	assert_true(isinf(student_t(0)));
	assert_true(fabs(student_t(1) - 12.706) < 0.001);
	assert_true(fabs(student_t(7) - 2.365) < 0.01);
	assert_true(fabs(student_t(30) - 2.042) < 0.001);
	assert_true(fabs(student_t(1e9) - 1.960) < 0.001);
}

/* 1,000 births in windows of 10 s by the clock, worth 4 s of the process's time. */
static void a_rate_is_between_that_of_the_clock_and_that_of_the_process(void **state)
{
	struct window_sums windows = {0};
	struct count_sums births = {0}, balance = {0};
	struct interval rate, net;

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		window_sums_add(&windows, 0.04, 0.1);
		count_sums_add(&births, 0.04, 10, 10, 1);
		count_sums_add(&balance, 0.04, 10, 10, 1);
	}
	rate = interval_rate(&births, &windows);
	net = interval_balance(&balance, &windows);
	assert_true(rate.low > 90 && rate.low < 100);
	assert_true(rate.high > 250 && rate.high < 275);
	assert_true(rate.estimate > 158 && rate.estimate < 159);
	assert_true(net.low > 99.9 && net.low < 100.1 && net.high > 249.9 && net.high < 250.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_is_between_that_of_the_clock_and_that_of_the_process),
		cmocka_unit_test(rates_are_covered_from_rare_to_frequent_and_in_bursts),
		cmocka_unit_test(what_was_never_seen_may_be_there_but_is_rare),
		cmocka_unit_test(a_balance_may_be_negative_and_is_covered),
		cmocka_unit_test(survival_is_covered_though_blocks_are_lost_from_sight),
		cmocka_unit_test(limits_of_shares_are_wilsons),
		cmocka_unit_test(students_quantiles_are_those_of_the_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
