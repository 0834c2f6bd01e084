// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/units.h"

static void test_bytes_have_three_digits_and_a_unit(void **state)
{
	static const struct {
		double bytes;
		const char *sign, *text;
	} cases[] = {
		{0, "", "0 B"},
		{999, "", "999 B"},
		{1000, "", "0.98 KiB"},
		{1024, "+", "+1.00 KiB"},
		{-1536, "+", "-1.50 KiB"},
		{120.4 * 1024 * 1024, "", "120.4 MiB"},
		{1e18, "", "888.2 PiB"},
		{1.8446744073709552e19, "+", "+16.0 EiB"},
	};
	char text[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(units_bytes(text, cases[i].bytes, cases[i].sign),
				    cases[i].text);
}

static void test_times_have_the_unit_that_is_read_best(void **state)
{
	static const struct {
		double seconds;
		const char *text;
	} cases[] = {
		{0, "0 s"},	 {89.4, "89 s"},     {90, "1.5 min"},	{5399, "90.0 min"},
		{5400, "1.5 h"}, {172799, "48.0 h"}, {172800, "2.0 d"}, {31536000, "365.0 d"},
	};
	char text[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(units_time(text, cases[i].seconds), cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_have_three_digits_and_a_unit),
		cmocka_unit_test(test_times_have_the_unit_that_is_read_best),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
