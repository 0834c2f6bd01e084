// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/hash.h"

static void an_empty_table_holds_nothing(void **state)
{
	struct hash hash = {0};

	(void)state;
	assert_null(hash_get(&hash, 0));
	assert_null(hash_get(&hash, 1));
	hash_free(&hash);
}

static void the_first_put_is_fresh_and_zero_and_the_second_finds_it(void **state)
{
	_cleanup_(hash_free) struct hash hash = {0};
	bool fresh = false;
	uint64_t *value = hash_put(&hash, 42, &fresh);

	(void)state;
	assert_true(fresh);
	assert_int_equal(*value, 0);
	*value = 7;
	assert_int_equal(*hash_put(&hash, 42, &fresh), 7);
	assert_false(fresh);
	assert_int_equal(*hash_put(&hash, 42, NULL), 7);
	assert_int_equal(hash.count, 1);
}

static void key_0_is_a_key_like_any_other(void **state)
{
	_cleanup_(hash_free) struct hash hash = {0};
	bool fresh = false;

	(void)state;
	*hash_put(&hash, 1, NULL) = 10;
	assert_null(hash_get(&hash, 0));
	*hash_put(&hash, 0, &fresh) = 20;
	assert_true(fresh);
	assert_int_equal(*hash_get(&hash, 0), 20);
	assert_int_equal(*hash_get(&hash, 1), 10);
	assert_int_equal(*hash_put(&hash, UINT64_MAX, &fresh), 0);
	assert_true(fresh);
}

static void growth_loses_no_key_and_invents_none(void **state)
{
	_cleanup_(hash_free) struct hash hash = {0};
	const uint64_t keys = 100000, stride = 16;

	(void)state;
	for (uint64_t i = 0; i < keys; i++)
		*hash_put(&hash, i * stride, NULL) = i;
	assert_int_equal(hash.count, keys);
	for (uint64_t i = 0; i < keys; i++) {
		assert_int_equal(*hash_get(&hash, i * stride), i);
		assert_null(hash_get(&hash, i * stride + 1));
	}
	assert_true(hash.capacity * 2 >= hash.count * 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_table_holds_nothing),
		cmocka_unit_test(the_first_put_is_fresh_and_zero_and_the_second_finds_it),
		cmocka_unit_test(key_0_is_a_key_like_any_other),
		cmocka_unit_test(growth_loses_no_key_and_invents_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
