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

static void what_was_taken_out_is_gone_and_all_else_is_still_found(void **state)
{
	_cleanup_(hash_free) struct hash hash = {0};
	const uint64_t keys = 20000;

	(void)state;
	hash_remove(&hash, 1); /* missing key */
	for (uint64_t i = 0; i < keys; i++)
		*hash_put(&hash, i, NULL) = i;
	for (uint64_t i = 0; i < keys; i += 3) {
		hash_remove(&hash, i);
		hash_remove(&hash, i);
	}
	assert_int_equal(hash.count, keys - (keys + 2) / 3);
	for (uint64_t i = 0; i < keys; i++) {
		const uint64_t *value = hash_get(&hash, i);

		assert_true(i % 3 ? value && *value == i : !value);
	}
}

static void keys_that_come_and_go_do_not_make_it_grow(void **state)
{
	_cleanup_(hash_free) struct hash hash = {0};

	(void)state;
	for (uint64_t i = 0; i < 100000; i++) {
		assert_non_null(hash_put(&hash, i, NULL));
		if (i >= 10)
			hash_remove(&hash, i - 10);
	}
	assert_int_equal(hash.count, 10);
	assert_int_equal(hash.capacity, 64);
}

/* The number that times `odd` is 1, by Newton's iteration. */
static uint64_t inverse(uint64_t odd)
{
	uint64_t found = odd;

	for (int i = 0; i < 6; i++)
		found *= 2 - odd * found;
	return found;
}

/* hash_mix() backwards. */
static uint64_t unmix(uint64_t value)
{
	value ^= value >> 33;
	value *= inverse(0xc4ceb9fe1a85ec53u);
	value ^= value >> 33;
	value *= inverse(0xff51afd7ed558ccdu);
	return value ^ value >> 33;
}

static size_t longest_run(const struct hash *hash)
{
	size_t run = 0, longest = 0;

	for (size_t i = 0; i < hash->capacity; i++) {
		run = hash->entries[i].used ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* Without a secret, these would all go to one place. */
static void chosen_keys_do_not_go_to_chosen_places(void **state)
{
	_cleanup_(hash_free) struct hash hash = {0};

	(void)state;
	assert_int_equal(hash_mix(unmix(42)), 42);
	for (uint64_t i = 0; i < 20000; i++)
		assert_non_null(hash_put(&hash, unmix(i << 24), NULL));
	assert_in_range(longest_run(&hash), 1, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_table_holds_nothing),
		cmocka_unit_test(the_first_put_is_fresh_and_zero_and_the_second_finds_it),
		cmocka_unit_test(key_0_is_a_key_like_any_other),
		cmocka_unit_test(growth_loses_no_key_and_invents_none),
		cmocka_unit_test(what_was_taken_out_is_gone_and_all_else_is_still_found),
		cmocka_unit_test(chosen_keys_do_not_go_to_chosen_places),
		cmocka_unit_test(keys_that_come_and_go_do_not_make_it_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
