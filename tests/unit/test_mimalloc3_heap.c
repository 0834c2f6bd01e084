// SPDX-License-Identifier: GPL-2.0-or-later
/* Handmade state of mimalloc 3 in this process: consistent state is read, the rest is not. */
#include "unit/mimalloc3_fixture.h"

static void expect_usual(struct fixture *fixture)
{
	struct heap heap;

	put_usual(fixture);
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_true(heap.blocks_certain);
	assert_string_equal(heap.name, "mimalloc 3");
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 296 + 1);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE], 296 * 48 + 3 * SLICE - 256);
	assert_int_equal(heap.figures[ALLOCATOR_TRANSFER], 48);
	assert_int_equal(heap.figures[ALLOCATOR_ALLOCATED], 297 * 48 + 3 * SLICE - 256);
	assert_int_equal(heap.figures[ALLOCATOR_ACTIVE], 4 * SLICE);
	assert_int_equal(heap.figures[ALLOCATOR_METADATA], 3 * SLICE + 8192 * 8);
	/* All of the arena is known. */
	assert_int_equal(heap.figures[ALLOCATOR_DIRTY] + heap.figures[ALLOCATOR_RETAINED],
			 (640 - 3 - 4) * SLICE);
	heap_free(&heap);
}

static void blocks_are_counted_as_the_pages_count_them(void **state)
{
	expect_usual(*state);
}

static int setup_3_0(void **state)
{
	return setup_built(state, &built_3_0);
}

static int setup_3_4(void **state)
{
	return setup_built(state, &built_3_4);
}

/* Left out; all others are as certain as before. */
static void pages_whose_lists_do_not_add_up_are_left_out(void **state)
{
	struct fixture *fixture = *state;
	uint64_t record = put_usual(fixture), last = BLOCK(record, 48, 5);
	const uint64_t next[] = {last,
				 BLOCK(record, 48, 300),
				 BLOCK(record, 48, 2) + 1,
				 BLOCK(record, 48, 7), /* on another list */
				 BLOCK(record, 48, 3), /* two more than there are */
				 0,		       /* one less */
				 UINT64_MAX};

	assert_int_equal(*at(last), BLOCK(record, 48, 1));
	*at(BLOCK(record, 48, 3)) = BLOCK(record, 48, 4);
	assert_int_equal(made_find(&fixture->memory), 0);
	for (size_t i = 0; i < ARRAY_SIZE(next); i++) {
		struct heap heap;

		*at(i == 4 ? BLOCK(record, 48, 1) : last) = next[i];
		made_read_again(&fixture->memory, &heap);
		*at(BLOCK(record, 48, 1)) = 0;
		*at(last) = BLOCK(record, 48, 1);
		assert_int_equal(heap.broken, 1);
		assert_non_null(heap.why);
		assert_true(heap.blocks_certain);
		assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 1);
		heap_free(&heap);
	}
}

static void what_is_no_map_is_not_found(void **state)
{
	struct fixture *fixture = *state;
	uint64_t record, element;

	assert_int_equal(made_find(&fixture->memory), -ENOENT);
	record = put_usual(fixture);
	assert_int_equal(made_find(&fixture->memory), 0);
	/* Addresses other than those of its index in the root, or in the part. */
	element = fixture->map + fixture->built->root_header + record / PART_SPAN * 8;
	at(element)[100] = at(element)[0];
	at(element)[0] = 0;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
	at(element)[0] = at(element)[100];
	at(element)[100] = 0;
	assert_int_equal(made_find(&fixture->memory), 0);
	at(fixture->part)[100] = at(fixture->part)[101] = at(fixture->part)[102] = record + 16;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
	/* Records that contradict themselves. */
	at(fixture->part)[100] = at(fixture->part)[101] = at(fixture->part)[102] = 0;
	*half_at(record, fixture->built->capacity) = 5000;
	*half_at(record + 4 * SLICE, fixture->built->capacity) = 2;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
}

/* 3.0 leaves the map as it was when it gives a page back. */
static void pages_that_are_there_no_more_are_not_missed(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	for (uint64_t i = 10; i < 200; i++)
		*at(part_element(fixture, fixture->pages + i * SLICE)) = fixture->pages + i * SLICE;
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 296 + 1);
	heap_free(&heap);
}

/* A map can lead to the same again and again. */
static void a_page_and_a_part_count_once(void **state)
{
	struct fixture *fixture = *state;
	uint64_t record = put_usual(fixture);
	uint64_t *root = at(fixture->map + fixture->built->root_header);
	struct heap heap;

	assert_int_equal(made_find(&fixture->memory), 0);
	for (uint64_t i = 10; i < 1000; i++)
		*at(part_element(fixture, fixture->pages + i * SLICE)) = record;
	for (uint64_t i = record / PART_SPAN; i < ROOT_BYTES / 8; i++)
		root[i] = fixture->part;
	made_read_again(&fixture->memory, &heap);
	assert_non_null(heap.why);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 296 + 1);
	heap_free(&heap);
}

/* Without an arena that agrees, memory between pages is unknown. */
static void an_arena_must_say_what_its_pages_say(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	at(fixture->arena)[4] = 4096; /* beyond all memory */
	made_read(&fixture->memory, &heap);
	assert_int_equal(heap.figures[ALLOCATOR_DIRTY] + heap.figures[ALLOCATOR_RETAINED], 0);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 296 + 1);
	heap_free(&heap);
}

int main(void)
{
#define with_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		with_fixture(blocks_are_counted_as_the_pages_count_them),
		cmocka_unit_test_setup_teardown(blocks_are_counted_as_the_pages_count_them,
						setup_3_0, teardown),
		cmocka_unit_test_setup_teardown(blocks_are_counted_as_the_pages_count_them,
						setup_3_4, teardown),
		with_fixture(pages_whose_lists_do_not_add_up_are_left_out),
		with_fixture(what_is_no_map_is_not_found),
		with_fixture(pages_that_are_there_no_more_are_not_missed),
		with_fixture(a_page_and_a_part_count_once),
		with_fixture(an_arena_must_say_what_its_pages_say),
	};

	return cmocka_run_group_tests_name("mimalloc3_heap", tests, NULL, NULL);
}
