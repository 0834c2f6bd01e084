// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "app/top/class_count.h"
#include "base/cleanup.h"

static void expect(const char *said, const char *text)
{
	_cleanup_free_ char *got = class_count_text(said);

	assert_non_null(got);
	assert_string_equal(got, text);
}

static void classes_come_with_their_bytes_and_what_holds_most(void **state)
{
	(void)state;
	expect("leakmon: a message before it\n"
	       "{\"picture\":{\"pause_ns\":41200000},\"roots\":[{\"name\":\"static cache\","
	       "\"led_bytes\":1048576}],\"classes\":[{\"name\":\"shop.Session\",\"bytes\":2097152,"
	       "\"count\":300},{\"kind\":\"size\",\"name\":null,\"size\":40,\"bytes\":400,"
	       "\"count\":10}]}\n",
	       "Its objects by class, for which it stood for 41 ms; `leakmon retain` shows what "
	       "holds them:\n"
	       "    2.00 MiB in      300  shop.Session\n"
	       "       400 B in       10  blocks of 40 bytes\n"
	       "  most is held by static cache: 1.00 MiB\n");
}

static void a_go_program_has_its_own_profile(void **state)
{
	(void)state;
	expect("{\"picture\":{\"pause_ns\":0},\"roots\":[],\"classes\":[],\"heap_profile\":"
	       "{\"cannot_tell\":null,\"sites\":[{\"bytes\":4096,\"frames\":[{\"function\":"
	       "\"main.login\"}]}]}}",
	       "Its objects by class; `leakmon retain` shows what holds them:\n"
	       "    4.00 KiB  main.login\n");
}

static void what_cannot_be_counted_is_reported(void **state)
{
	(void)state;
	expect("leakmon: process 7 has ended\n",
	       "Its objects cannot be counted: leakmon: process 7 has ended\n\n");
	expect("", "Its objects cannot be counted: leakmon retain said nothing\n");
	expect("{\"classes\":\n", "Its objects cannot be counted: {\"classes\":\n\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_come_with_their_bytes_and_what_holds_most),
		cmocka_unit_test(a_go_program_has_its_own_profile),
		cmocka_unit_test(what_cannot_be_counted_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
