// SPDX-License-Identifier: GPL-2.0-or-later
/* The CPU budget of a screen that is watched, left alone, and changed by keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/top/attention.h"

#define NEAR 1e-9

static void a_key_keeps_the_budget_for_five_minutes(void **state)
{
	struct attention attention = {0};

	(void)state;
	assert_float_equal(attention_limit(&attention, 0), 0.05, NEAR);
	assert_float_equal(attention_limit(&attention, 299), 0.05, NEAR);
	assert_float_equal(attention_limit(&attention, 300), 0.01, NEAR);
	assert_true(attention_is_left(&attention, 300));
	attention.typed_s = 1000;
	assert_float_equal(attention_limit(&attention, 1001), 0.05, NEAR);
	assert_false(attention_is_left(&attention, 1001));
}

static void what_the_operator_chose_stays(void **state)
{
	struct attention attention = {.chosen = 0.002};

	(void)state;
	assert_float_equal(attention_limit(&attention, 0), 0.002, NEAR);
	assert_float_equal(attention_limit(&attention, 3600), 0.002, NEAR);
	assert_false(attention_is_left(&attention, 3600));
}

static void keys_double_and_halve_it_within_bounds(void **state)
{
	struct attention attention = {0};

	(void)state;
	attention_change(&attention, true, 10);
	assert_float_equal(attention_limit(&attention, 10), 0.1, NEAR);
	assert_float_equal(attention_limit(&attention, 5000), 0.1, NEAR);
	for (unsigned i = 0; i < 20; i++)
		attention_change(&attention, true, 10);
	assert_float_equal(attention_limit(&attention, 10), ATTENTION_LIMIT_MAX, NEAR);
	for (unsigned i = 0; i < 40; i++)
		attention_change(&attention, false, 10);
	assert_float_equal(attention_limit(&attention, 10), ATTENTION_LIMIT_MIN, NEAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_keeps_the_budget_for_five_minutes),
		cmocka_unit_test(what_the_operator_chose_stays),
		cmocka_unit_test(keys_double_and_halve_it_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
