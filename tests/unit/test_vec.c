// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void *growing(void *items, size_t count, size_t size)
{
	return reallocarray(items, count, size);
}

static void *refusing(void *items, size_t count, size_t size)
{
	(void)items;
	(void)count;
	(void)size;
	return NULL;
}

/* Called by vec.h: a test decides when memory runs out. */
static void *(*allocator)(void *items, size_t count, size_t size) = growing;
#define reallocarray(items, count, size) allocator(items, count, size)

#include "base/vec.h"

struct pair {
	uint64_t left;
	uint32_t right;
};

static void elements_survive_growth_in_order(void **state)
{
	VEC(struct pair) pairs = {0};

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		*vec_push(&pairs) = (struct pair){.left = i * 3, .right = i};
	assert_int_equal(pairs.count, 1000);
	assert_true(pairs.capacity >= 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(pairs.items[i].left, i * 3);
		assert_int_equal(pairs.items[i].right, i);
	}
	vec_free(&pairs);
}

static void a_pushed_element_is_zero_even_where_another_was(void **state)
{
	VEC(uint64_t) numbers = {0};

	(void)state;
	for (size_t i = 0; i < 20; i++)
		*vec_push(&numbers) = UINT64_MAX;
	numbers.count = 0;
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(*vec_push(&numbers), 0);
	vec_free(&numbers);
}

static void a_freed_vector_is_empty_and_usable(void **state)
{
	VEC(char) text = {0};

	(void)state;
	*vec_push(&text) = 'x';
	vec_free(&text);
	assert_null(text.items);
	assert_int_equal(text.count, 0);
	assert_int_equal(text.capacity, 0);
	*vec_push(&text) = 'y';
	assert_int_equal(text.items[0], 'y');
	vec_free(&text);
}

static void a_push_that_cannot_grow_changes_nothing(void **state)
{
	VEC(uint64_t) numbers = {0};
	uint64_t *items;

	(void)state;
	for (uint64_t i = 0; i < 8; i++)
		*vec_push(&numbers) = i;
	items = numbers.items;
	allocator = refusing;
	assert_null(vec_push(&numbers));
	allocator = growing;
	assert_ptr_equal(numbers.items, items);
	assert_int_equal(numbers.count, 8);
	assert_int_equal(numbers.capacity, 8);
	assert_int_equal(numbers.items[7], 7);
	vec_free(&numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_survive_growth_in_order),
		cmocka_unit_test(a_pushed_element_is_zero_even_where_another_was),
		cmocka_unit_test(a_freed_vector_is_empty_and_usable),
		cmocka_unit_test(a_push_that_cannot_grow_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
