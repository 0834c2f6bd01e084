// SPDX-License-Identifier: GPL-2.0-or-later
/* When exact tracking may begin, and again after it has failed; its probes are in tests/e2e/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/profile/exact.h"

/* A third of the promise is for costs that cannot be counted, and rates vary: a third is left. */
static void a_rate_is_cheap_up_to_a_third_of_the_promise(void **state)
{
	static const struct exact_tracking exact = {.promised = 0.01};

	(void)state;
	assert_true(exact_is_cheap(&exact, 0));
	assert_true(exact_is_cheap(&exact, 0.0033));
	assert_false(exact_is_cheap(&exact, 0.0034));
}

static void what_attempts_have_cost_is_saved_up_again(void **state)
{
	static const struct exact_tracking fresh = {.promised = 0.01},
					   tried = {.promised = 0.01, .spent_s = 0.03};

	(void)state;
	assert_float_equal(exact_saved_s(&fresh, 10), 0.1, 1e-9);
	assert_float_equal(exact_saved_s(&tried, 10), 0.07, 1e-9);
	assert_true(exact_saved_s(&tried, 2) < 0);
}

static void pauses_between_attempts_double(void **state)
{
	static const struct {
		unsigned tries;
		double pause_s;
	} attempts[] = {{1, 12}, {2, 24}, {3, 48}, {7, 768}, {50, 768}};
	struct exact_tracking exact = {.promised = 0.01};

	(void)state;
	assert_int_equal(profile_window_init(&exact.window), 0);
	assert_true(exact_is_due(&exact, 0));
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		exact.tries = attempts[i].tries;
		exact_close(&exact, EXACT_TOO_DEAR, 100);
		assert_false(exact_is_due(&exact, 99.9 + attempts[i].pause_s));
		assert_true(exact_is_due(&exact, 100 + attempts[i].pause_s));
	}
	exact_free(&exact);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_is_cheap_up_to_a_third_of_the_promise),
		cmocka_unit_test(what_attempts_have_cost_is_saved_up_again),
		cmocka_unit_test(pauses_between_attempts_double),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
