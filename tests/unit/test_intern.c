// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "process/symbol/intern.h"

static void equal_strings_are_one_string(void **state)
{
	_cleanup_(intern_free) struct intern intern = {0};
	char text[] = "malloc";
	const char *first = intern_string(&intern, text);

	(void)state;
	assert_ptr_not_equal(first, text);
	assert_string_equal(first, "malloc");
	assert_ptr_equal(intern_string(&intern, "malloc"), first);
	assert_ptr_not_equal(intern_string(&intern, "free"), first);
	assert_int_equal(intern.strings.count, 2);
	assert_null(intern_string(&intern, NULL));
	assert_string_equal(intern_string(&intern, ""), "");
}

static void a_string_stays_where_it_is_while_others_come(void **state)
{
	_cleanup_(intern_free) struct intern intern = {0};
	const char *first = intern_string(&intern, "first");
	char text[32];

	(void)state;
	for (int i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		assert_string_equal(intern_string(&intern, text), text);
	}
	assert_ptr_equal(intern_string(&intern, "first"), first);
	assert_int_equal(intern.strings.count, 10001);
}

static void strings_of_one_hash_are_kept_apart(void **state)
{
	_cleanup_(intern_free) struct intern intern = {0};
	const char *other = intern_string(&intern, "other");

	(void)state;
	/* As if "other" had the hash of "wanted". */
	*hash_put(&intern.index, hash_text("wanted"), NULL) = 1;
	assert_string_equal(intern_string(&intern, "wanted"), "wanted");
	assert_string_equal(intern_string(&intern, "wanted"), "wanted");
	assert_ptr_equal(intern_string(&intern, "other"), other);
	assert_int_equal(intern.strings.count, 2);
}

static void the_hash_is_fnv_1a(void **state)
{
	(void)state;
	assert_int_equal(intern_hash(""), 0xcbf29ce484222325);
	assert_int_equal(intern_hash("a"), 0xaf63dc4c8601ec8c);
	assert_int_equal(intern_hash("foobar"), 0x85944171f73967e8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_strings_are_one_string),
		cmocka_unit_test(a_string_stays_where_it_is_while_others_come),
		cmocka_unit_test(strings_of_one_hash_are_kept_apart),
		cmocka_unit_test(the_hash_is_fnv_1a),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
