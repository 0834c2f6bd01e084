// SPDX-License-Identifier: GPL-2.0-or-later
/* The lines of a terminal that a report takes: it is drawn over by the next one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/runs/early_screen.h"

static void lines_are_those_of_the_terminal(void **state)
{
	(void)state;
	assert_int_equal(early_screen_lines("", 80), 0);
	assert_int_equal(early_screen_lines("one\n\nthree\n", 80), 3);
	assert_int_equal(early_screen_lines("no end", 80), 1);
	/* Ten columns, of which colours take none and a character of three bytes takes one. */
	assert_int_equal(early_screen_lines("\033[1m123456789\xe2\x96\x81\033[0m\n", 10), 1);
	assert_int_equal(early_screen_lines("12345678901\n", 10), 2);
	assert_int_equal(early_screen_lines("123456789012345678901\n", 10), 3);
	assert_int_equal(early_screen_lines("\033[1", 10), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_those_of_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
