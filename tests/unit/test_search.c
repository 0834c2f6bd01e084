// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/search.h"

static const uint64_t numbers[] = {3, 5, 5, 9};

static size_t below(uint64_t key, size_t count)
{
	return SORTED_BEFORE(number, numbers, count, *number < key);
}

static size_t up_to(uint64_t key, size_t count)
{
	return SORTED_BEFORE(number, numbers, count, *number <= key);
}

static void the_rank_of_a_key_is_what_counting_gives(void **state)
{
	(void)state;
	for (size_t count = 0; count <= ARRAY_SIZE(numbers); count++) {
		for (uint64_t key = 0; key < 12; key++) {
			size_t smaller = 0, equal = 0;

			for (size_t i = 0; i < count; i++) {
				smaller += numbers[i] < key;
				equal += numbers[i] == key;
			}
			assert_int_equal(below(key, count), smaller);
			assert_int_equal(up_to(key, count), smaller + equal);
		}
	}
}

static void a_range_holds_its_start_and_not_its_end(void **state)
{
	static const struct {
		uint64_t start, end;
	} ranges[] = {{10, 20}, {20, 30}, {40, UINT64_MAX}};

	(void)state;
	assert_null(RANGE_AT(ranges, ARRAY_SIZE(ranges), 9));
	assert_ptr_equal(RANGE_AT(ranges, ARRAY_SIZE(ranges), 10), &ranges[0]);
	assert_ptr_equal(RANGE_AT(ranges, ARRAY_SIZE(ranges), 19), &ranges[0]);
	assert_ptr_equal(RANGE_AT(ranges, ARRAY_SIZE(ranges), 20), &ranges[1]);
	assert_null(RANGE_AT(ranges, ARRAY_SIZE(ranges), 30));
	assert_ptr_equal(RANGE_AT(ranges, ARRAY_SIZE(ranges), UINT64_MAX - 1), &ranges[2]);
	assert_null(RANGE_AT(ranges, ARRAY_SIZE(ranges), UINT64_MAX));
	assert_null(RANGE_AT(ranges, 0, 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rank_of_a_key_is_what_counting_gives),
		cmocka_unit_test(a_range_holds_its_start_and_not_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
