// SPDX-License-Identifier: GPL-2.0-or-later
/* Handmade mimalloc state in this process: consistent state is read, the rest is not. */
#include "unit/mimalloc_fixture.h"

static void expect_usual(struct fixture *fixture, const char *name)
{
	struct heap heap;
	const struct heap_run *run;

	made_read(&fixture->memory, &heap);
	assert_string_equal(heap.name, name);
	assert_null(heap.why);
	assert_true(heap.blocks_certain);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 97 + 1);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE], 97 * 48 + 2 * SLICE);
	assert_int_equal(heap.figures[ALLOCATOR_ALLOCATED], heap.figures[ALLOCATOR_LIVE]);
	assert_int_equal(heap.figures[ALLOCATOR_ACTIVE], 3 * SLICE);
	assert_int_equal(heap.figures[ALLOCATOR_DIRTY], 56 * SLICE);
	assert_int_equal(heap.figures[ALLOCATOR_RETAINED], 452 * SLICE);
	assert_int_equal(heap.figures[ALLOCATOR_METADATA], SLICE);
	assert_int_equal(heap.figures[ALLOCATOR_ARENAS], 1);
	run = heap_at(&heap, BLOCK_48(fixture, 4));
	assert_false(heap_is_live(&heap, run, 4));
	assert_true(heap_is_live(&heap, run, 5));
	heap_free(&heap);
}

static void blocks_and_free_pages_are_counted_as_mimalloc_does(void **state)
{
	struct fixture *fixture = *state;

	put_usual(fixture);
	expect_usual(fixture, "mimalloc 2.0.9");
}

static void encoded_lists_are_read_too(void **state)
{
	struct fixture *fixture = *state;

	set_layout(fixture, true);
	put_usual(fixture);
	expect_usual(fixture, "mimalloc 2.0.9 (secure)");
}

/* Its owner has not taken them back yet: by the page, and the first one of a full page by the
 * heap. */
static void what_other_threads_have_freed_is_not_live(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;
	uint64_t *page = put_usual(fixture);

	free_block(fixture, page, fixture->thread_free, BLOCK_48(fixture, 20));
	free_block(fixture, page, fixture->thread_free, BLOCK_48(fixture, 21));
	page[fixture->thread_free] |= 2; /* flags */
	*at(fixture->heap + HEAP_DELAYED) = BLOCK_48(fixture, 30);
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 94 + 1);
	assert_int_equal(heap.figures[ALLOCATOR_TRANSFER], 3 * 48);
	assert_int_equal(heap.figures[ALLOCATOR_ALLOCATED], 97 * 48 + 2 * SLICE);
	heap_free(&heap);
}

static void a_thread_may_be_stopped_within_malloc(void **state)
{
	struct fixture *fixture = *state;
	uint64_t *page = put_usual(fixture);
	struct heap heap;

	page[3]++;
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 97 + 1);
	heap_free(&heap);
}

/* That page's blocks are unknown, and all others are as certain as before. */
static void lists_that_contradict_their_page_are_left_out(void **state)
{
	struct fixture *fixture = *state;
	uint64_t *page = put_usual(fixture);
	const uint64_t next[] = {BLOCK_48(fixture, 99), /* in a circle */
				 BLOCK_48(fixture, 100), BLOCK_48(fixture, 2) + 8,
				 BLOCK_48(fixture, 4), /* on the other list, too */
				 UINT64_MAX - 7};

	assert_int_equal(page[2], BLOCK_48(fixture, 99));
	for (size_t i = 0; i < ARRAY_SIZE(next); i++) {
		struct heap heap;

		*at(BLOCK_48(fixture, 1)) = next[i];
		made_read(&fixture->memory, &heap);
		assert_int_equal(heap.broken, 1);
		assert_non_null(heap.why);
		assert_true(heap.blocks_certain);
		assert_null(heap_at(&heap, BLOCK_48(fixture, 0)));
		assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 1);
		heap_free(&heap);
	}
}

static void a_delayed_list_that_lies_makes_it_uncertain(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t wrong[] = {BLOCK_48(fixture, 1), /* free already */
				  BLOCK_48(fixture, 5) + 8, fixture->segment, 8, UINT64_MAX - 7};

	put_usual(fixture);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct heap heap;

		*at(fixture->heap + HEAP_DELAYED) = wrong[i];
		made_read(&fixture->memory, &heap);
		assert_non_null(heap.why);
		assert_false(heap.blocks_certain);
		heap_free(&heap);
	}
}

static void other_segments_than_were_counted_make_it_uncertain(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	*at(fixture->memory.start + 0x3000 + THREAD_SEGMENTS) = 2;
	made_read(&fixture->memory, &heap);
	assert_non_null(heap.why);
	assert_false(heap.blocks_certain);
	heap_free(&heap);
}

static void a_segment_that_contradicts_itself_is_left_out(void **state)
{
	struct fixture *fixture = *state;
	uint64_t second = fixture->segment + SEGMENT, first = fixture->segment;

	put_usual(fixture);
	*at(fixture->memory.start + 0x3000 + THREAD_SEGMENTS) = 2;
	put_segment(second, THREAD);
	fixture->segment = second;
	put_page(fixture, 1, 1, 48, 100);
	put_free(fixture, 2, 510);
	fixture->segment = first;
	for (size_t i = 0; i < 4; i++) {
		uint64_t *page = at(second + SLICES_AT + 80);
		uint64_t saved[10];
		struct heap heap;

		memcpy(saved, page, sizeof(saved));
		if (i == 0)
			page[0] = 0; /* no end */
		else if (i == 1)
			page[0] = 1ull << 31;
		else if (i == 2)
			page[1] += 1ull << 32; /* more blocks than there is room for */
		else
			page[3] = 100 | 12ull << 32; /* an invalid size */
		made_read(&fixture->memory, &heap);
		assert_int_equal(heap.broken, 1);
		assert_non_null(heap.why);
		assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 97 + 1);
		heap_free(&heap);
		memcpy(page, saved, sizeof(saved));
	}
}

static void what_is_no_heap_is_not_found(void **state)
{
	struct fixture *fixture = *state;

	/* No used page shows the layout of pages. */
	put_free(fixture, 1, 511);
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
	put_usual(fixture);
	assert_int_equal(made_find(&fixture->memory), 0);
	/* Another number; queues of other sizes; a thread that is another's. */
	*at(fixture->heap + HEAP_COOKIE) = 2;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
	*at(fixture->heap + HEAP_COOKIE) = COOKIE;
	*at(fixture->heap + HEAP_QUEUE_SIZE + 5 * 24) = 41;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
	*at(fixture->heap + HEAP_QUEUE_SIZE + 5 * 24) = 40;
	at(fixture->memory.start + 0x3000 + THREAD_LINKS)[1] += 8;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
}

static void each_thread_has_as_many_segments_as_it_counts(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	put_segment(fixture->segment + SEGMENT, THREAD - 0x1000);
	at(fixture->segment + SEGMENT + SLICES_AT + fixture->page_words * 8ull)[0] = 511;
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_true(heap.blocks_certain);
	heap_free(&heap);
	at(fixture->segment + SEGMENT)[32] = THREAD;
	made_read(&fixture->memory, &heap);
	assert_int_equal(heap.broken_caches, 1);
	heap_free(&heap);
}

int main(void)
{
#define with_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		with_fixture(blocks_and_free_pages_are_counted_as_mimalloc_does),
		with_fixture(encoded_lists_are_read_too),
		with_fixture(what_other_threads_have_freed_is_not_live),
		with_fixture(a_thread_may_be_stopped_within_malloc),
		with_fixture(lists_that_contradict_their_page_are_left_out),
		with_fixture(a_delayed_list_that_lies_makes_it_uncertain),
		with_fixture(other_segments_than_were_counted_make_it_uncertain),
		with_fixture(each_thread_has_as_many_segments_as_it_counts),
		with_fixture(a_segment_that_contradicts_itself_is_left_out),
		with_fixture(what_is_no_heap_is_not_found),
	};

	return cmocka_run_group_tests_name("mimalloc_heap", tests, NULL, NULL);
}
