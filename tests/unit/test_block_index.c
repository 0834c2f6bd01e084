// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>

#include "base/cleanup.h"
#include "report/analyze/block_index.h"

struct question {
	uint64_t address;
	uint32_t block;
};

static void an_address_belongs_to_the_block_around_it_and_one_past_the_end_to_none(void **state)
{
	static const uint64_t starts[] = {0x1000,	  0x1020,	  0x10f8,
					  0x7ffff0000000, 0xffffb0000000, 0xfffffffe0000},
			      sizes[] = {24, 0, 100, 0x300000, 0x20000, 0x20000};
	static const struct question questions[] = {
		{0xfff, BLOCK_NONE},
		{0x1000, 0},
		{0x1017, 0},
		{0x1018, BLOCK_NONE},
		{0x1020, 1}, /* nothing was asked for, but its address was given */
		{0x1021, BLOCK_NONE},
		{0x10f8, 2},
		{0x115b, 2},
		{0x115c, BLOCK_NONE},
		{0x7fffefffffff, BLOCK_NONE},
		{0x7ffff0000000, 3},
		{0x7ffff02fffff, 3},
		{0x7ffff0300000, BLOCK_NONE},
		{0, BLOCK_NONE},
		{UINT64_MAX, BLOCK_NONE},
		{1ull << 47 | 0x1000, BLOCK_NONE},
		{1ull << 48 | 0x1000, BLOCK_NONE},
		/* Addresses of processors with 48 bits of user space; the last region is
		 * invalid. */
		{0xffffafffffff, BLOCK_NONE},
		{0xffffb0000000, 4},
		{0xffffb001ffff, 4},
		{0xffffb0020000, BLOCK_NONE},
		{0xfffffffeffff, 5},
		{0xffffffff0000, BLOCK_NONE},
	};
	struct block_index index;

	(void)state;
	assert_int_equal(block_index_build(starts, sizes, ARRAY_SIZE(starts), &index), 0);
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
		assert_int_equal(block_index_find(&index, questions[i].address),
				 questions[i].block);
	block_index_free(&index);
}

static uint64_t random_state = 0x9e3779b97f4a7c15ull;

static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % limit;
}

#define BLOCKS 20000

static void any_address_is_answered_as_a_search_through_all_would(void **state)
{
	static uint64_t starts[BLOCKS], sizes[BLOCKS];
	uint64_t at = 0x555500000000;
	struct block_index index;

	(void)state;
	for (size_t i = 0; i < BLOCKS; i++) {
		at += random_below(8) ? random_below(64) : random_below(100000);
		starts[i] = at;
		sizes[i] = random_below(50) ? random_below(600) : random_below(300000);
		at += sizes[i] + !sizes[i];
	}
	assert_int_equal(block_index_build(starts, sizes, BLOCKS, &index), 0);
	for (size_t i = 0; i < BLOCKS; i++) {
		uint64_t size = sizes[i] + !sizes[i];
		uint32_t behind = sizes[i] == 8 ? (uint32_t)i : BLOCK_NONE;

		assert_int_equal(block_index_find(&index, starts[i]), i);
		assert_int_equal(block_index_find(&index, starts[i] + random_below(size)), i);
		assert_int_equal(block_index_find(&index, starts[i] + size),
				 i + 1 < BLOCKS && starts[i + 1] == starts[i] + size ? i + 1
										     : behind);
	}
	block_index_free(&index);
}

/* The program has the address after the count, unless another block begins there. */
static void an_array_of_nothing_is_held_by_the_address_behind_its_count(void **state)
{
	static const uint64_t starts[] = {0x1000, 0x1008, 0x1020, 0xfff8, 0x20000},
			      sizes[] = {8, 8, 16, 8, 7};
	static const struct question questions[] = {
		{0x1007, 0},	      {0x1008, 1},  {0x1010, 1},	   {0x1011, BLOCK_NONE},
		{0x1030, BLOCK_NONE}, {0x10000, 3}, {0x10001, BLOCK_NONE}, {0x20007, BLOCK_NONE},
	};
	struct block_index index;

	(void)state;
	assert_int_equal(block_index_build(starts, sizes, ARRAY_SIZE(starts), &index), 0);
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
		assert_int_equal(block_index_find(&index, questions[i].address),
				 questions[i].block);
	block_index_free(&index);
}

/* The owner of the blocks supplies their sizes. */
static void a_block_of_any_size_takes_no_memory_for_it(void **state)
{
	static const uint64_t starts[] = {0x10000, 0x7f0000000000, 0x7f00ffff0000},
			      sizes[] = {0x7e0000000000, 0x8000ffff, 0x80fd00000000};
	struct block_index index;

	(void)state;
	assert_int_equal(block_index_build(starts, sizes, ARRAY_SIZE(starts), &index), 0);
	assert_in_range(malloc_usable_size(index.lines), 1, 4 * REGION_LINES * sizeof(uint32_t));
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		assert_int_equal(block_index_find(&index, starts[i]), i);
		assert_int_equal(block_index_find(&index, starts[i] + sizes[i] / 2), i);
		assert_int_equal(block_index_find(&index, starts[i] + sizes[i] - 1), i);
		assert_int_equal(block_index_find(&index, starts[i] + sizes[i]), BLOCK_NONE);
	}
	block_index_free(&index);
}

/* 65,536 regions apart, all would have had one place in the table. */
static void blocks_far_from_each_other_are_found(void **state)
{
	static uint64_t starts[1 << 15], sizes[1 << 15];
	struct block_index index;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		starts[i] = (i + 1) << 32;
		sizes[i] = 32;
	}
	assert_int_equal(block_index_build(starts, sizes, ARRAY_SIZE(starts), &index), 0);
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		assert_int_equal(block_index_find(&index, starts[i] + 31), i);
		assert_int_equal(block_index_find(&index, starts[i] + 32), BLOCK_NONE);
		assert_int_equal(block_index_find(&index, starts[i] - 1), BLOCK_NONE);
	}
	block_index_free(&index);
}

static void no_blocks_hold_no_address(void **state)
{
	struct block_index index;

	(void)state;
	assert_int_equal(block_index_build(NULL, NULL, 0, &index), 0);
	assert_int_equal(block_index_find(&index, 0x1000), BLOCK_NONE);
	block_index_free(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			an_address_belongs_to_the_block_around_it_and_one_past_the_end_to_none),
		cmocka_unit_test(any_address_is_answered_as_a_search_through_all_would),
		cmocka_unit_test(an_array_of_nothing_is_held_by_the_address_behind_its_count),
		cmocka_unit_test(a_block_of_any_size_takes_no_memory_for_it),
		cmocka_unit_test(blocks_far_from_each_other_are_found),
		cmocka_unit_test(no_blocks_hold_no_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
