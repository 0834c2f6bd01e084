// SPDX-License-Identifier: GPL-2.0-or-later
/* Usage of a limit, from the kernel's own files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "triage/limits.h"

static void page_cache_can_be_dropped(void **state)
{
	static const char v1[] = "cache 9\nactive_file 1\ninactive_file 2\n"
				 "total_inactive_file 4096\ntotal_active_file 100\n";
	static const char v2[] = "anon 9\nfile 5000\nshmem 7\ninactive_file 4096\n"
				 "active_file 200\nunevictable 0\n";

	(void)state;
	assert_float_equal(limits_parse_cache(v1, false), 4196, 0);
	assert_float_equal(limits_parse_cache(v2, true), 4296, 0);
	assert_float_equal(limits_parse_cache("", true), 0, 0);
	assert_float_equal(limits_parse_cache("active_files 8\nactive_file", true), 0, 0);
}

static void a_machine_has_its_swap_too(void **state)
{
	double used = -1, bytes = -1;

	(void)state;
	assert_true(limits_parse_machine("MemTotal:  1000 kB\nMemFree: 50 kB\n"
					 "MemAvailable: 300 kB\nSwapTotal: 500 kB\n"
					 "SwapFree: 400 kB\n",
					 &used, &bytes));
	assert_float_equal(bytes, 1500 * 1024, 0);
	assert_float_equal(used, 800 * 1024, 0);
	assert_true(
		limits_parse_machine("MemTotal: 1000 kB\nMemAvailable: 300 kB\n", &used, &bytes));
	assert_float_equal(used, 700 * 1024, 0);
	assert_false(limits_parse_machine("MemTotal: 1000 kB\n", &used, &bytes));
	assert_false(limits_parse_machine("", &used, &bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_cache_can_be_dropped),
		cmocka_unit_test(a_machine_has_its_swap_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
