// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/triage/samples.h"
#include "base/cleanup.h"

static void add(struct samples *samples, uint64_t address, uint32_t site, double weight)
{
	struct sample sample = {.address = address, .site = site, .weight = weight};

	assert_int_equal(samples_add(samples, &sample), 0);
}

static void attribute_all(struct samples *samples, double units)
{
	for (size_t i = 0; i < samples->list.count; i++)
		samples->list.items[i].units = units;
}

static void sums_are_by_site_and_largest_first(void **state)
{
	struct sample_sums sums = {0};
	struct samples samples = {0};

	(void)state;
	add(&samples, 0x1000, 7, 1);
	add(&samples, 0x2000, 9, 4);
	add(&samples, 0x3000, 7, 2);
	add(&samples, 0x4000, 5, 3);
	attribute_all(&samples, 4096);
	assert_int_equal(samples_sum(&samples, &sums), 0);
	assert_int_equal(sums.list.count, 3);
	assert_int_equal(sums.list.items[0].site, 9);
	assert_float_equal(sums.list.items[0].units, 4 * 4096, 0);
	assert_int_equal(sums.list.items[0].samples, 1);
	/* Among equals, the older site. */
	assert_int_equal(sums.list.items[1].site, 5);
	assert_int_equal(sums.list.items[2].site, 7);
	assert_int_equal(sums.list.items[2].samples, 2);
	assert_float_equal(sums.units, 10 * 4096, 0);
	sample_sums_free(&sums);
	samples_free(&samples);
}

static void what_comes_again_belongs_to_its_last_stack(void **state)
{
	struct samples samples = {0};

	(void)state;
	add(&samples, 0x1000, 1, 1);
	add(&samples, 0x2000, 1, 1);
	add(&samples, 0x1000, 2, 1);
	assert_int_equal(samples.list.count, 2);
	assert_int_equal(samples.list.items[0].site, 2);
	assert_true(samples.list.items[0].order > samples.list.items[1].order);
	assert_int_equal(samples.taken, 3);
	samples_free(&samples);
}

static void what_is_gone_is_forgotten_and_can_come_again(void **state)
{
	struct sample_sums sums = {0};
	struct samples samples = {0};

	(void)state;
	for (uint64_t i = 1; i <= 10; i++)
		add(&samples, i << 12, (uint32_t)i, 1);
	attribute_all(&samples, 1);
	samples.list.items[3].units = samples.list.items[9].units = 0;
	assert_int_equal(samples_prune(&samples), 0);
	assert_int_equal(samples.list.count, 8);
	add(&samples, 4 << 12, 44, 1);
	add(&samples, 5 << 12, 55, 1);
	assert_int_equal(samples.list.count, 9);
	attribute_all(&samples, 1);
	assert_int_equal(samples_sum(&samples, &sums), 0);
	assert_float_equal(sums.units, 9, 0);
	for (size_t i = 0; i < sums.list.count; i++)
		assert_int_not_equal(sums.list.items[i].site, 5);
	sample_sums_free(&sums);
	samples_free(&samples);
}

/* Three sites of a half, a third and a sixth, a hundred times as many as there is room for. */
static void a_full_table_still_has_the_shares(void **state)
{
	static const uint32_t sites[] = {1, 1, 1, 2, 2, 3};
	const size_t count = 100 * SAMPLES_MAX;
	struct sample_sums sums = {0};
	struct samples samples = {0};

	(void)state;
	for (size_t i = 0; i < count; i++) {
		add(&samples, i << 12, sites[hash_mix(i) % ARRAY_SIZE(sites)], 1);
		assert_true(samples.list.count < SAMPLES_MAX);
	}
	assert_true(samples.list.count >= SAMPLES_MAX / 4);
	assert_int_equal(samples.taken, count);
	attribute_all(&samples, 1);
	assert_int_equal(samples_sum(&samples, &sums), 0);
	assert_int_equal(sums.list.count, 3);
	/* A thousand coins, by a fixed sequence: 3 % are one standard deviation of the sum. */
	assert_float_equal(sums.units / (double)count, 1, 0.15);
	assert_float_equal(sums.list.items[0].units / sums.units, 1. / 2, 0.06);
	assert_float_equal(sums.list.items[1].units / sums.units, 1. / 3, 0.06);
	assert_float_equal(sums.list.items[2].units / sums.units, 1. / 6, 0.06);
	sample_sums_free(&sums);
	samples_free(&samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_by_site_and_largest_first),
		cmocka_unit_test(what_comes_again_belongs_to_its_last_stack),
		cmocka_unit_test(what_is_gone_is_forgotten_and_can_come_again),
		cmocka_unit_test(a_full_table_still_has_the_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
