// SPDX-License-Identifier: GPL-2.0-or-later
/* Handmade tcmalloc state in this process: consistent state is read, the rest is not. */
#include "unit/tcmalloc_fixture.h"

static void blocks_and_free_pages_are_counted_as_tcmalloc_does(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_true(heap.blocks_certain);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 167 + 1);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE], 167 * 48 + 3 * PAGE);
	assert_int_equal(heap.figures[ALLOCATOR_ALLOCATED], heap.figures[ALLOCATOR_LIVE]);
	assert_int_equal(heap.figures[ALLOCATOR_ACTIVE], 4 * PAGE);
	assert_int_equal(heap.figures[ALLOCATOR_DIRTY], 10 * PAGE);
	assert_int_equal(heap.figures[ALLOCATOR_RETAINED], 100 * PAGE);
	assert_int_equal(heap.figures[ALLOCATOR_CACHES], 1);
	heap_free(&heap);
}

static void what_caches_keep_is_not_live(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;
	const struct heap_run *run;
	uint64_t slots = fixture->central + CLASS_48 * CENTRAL;

	put_usual(fixture);
	cache_block(*at(fixture->caches), CLASS_48, BLOCK_48(fixture, 5));
	cache_block(*at(fixture->caches), CLASS_48, BLOCK_48(fixture, 7));
	cache_block(put_cache(fixture), CLASS_48, BLOCK_48(fixture, 9));
	*at(BLOCK_48(fixture, 10)) = BLOCK_48(fixture, 11);
	at(slots)[16] = BLOCK_48(fixture, 10);
	at(slots)[17] = BLOCK_48(fixture, 11);
	*at(slots + CENTRAL_USED) = 1;
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 162 + 1);
	assert_int_equal(heap.figures[ALLOCATOR_CACHED], 3 * 48);
	assert_int_equal(heap.figures[ALLOCATOR_TRANSFER], 2 * 48);
	assert_int_equal(heap.figures[ALLOCATOR_CACHES], 2);
	run = heap_at(&heap, fixture->heap);
	assert_int_equal(heap_block(&heap, run, 9).use, BLOCK_CACHED);
	assert_int_not_equal(heap_block(&heap, run, 10).use, BLOCK_CACHED);
	assert_false(heap_is_live(&heap, run, 10));
	assert_true(heap_is_live(&heap, run, 12));
	heap_free(&heap);
}

static void a_cache_that_lies_makes_it_uncertain(void **state)
{
	struct fixture *fixture = *state;
	uint64_t wrong[] = {BLOCK_48(fixture, 5) + 8, /* no block begins there */
			    BLOCK_48(fixture, 1),     /* free already */
			    fixture->heap + PAGE,     /* of another size */
			    8, UINT64_MAX};

	put_usual(fixture);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		uint64_t *list = at(*at(fixture->caches) + CLASS_48 * 32);
		struct heap heap;

		list[0] = wrong[i];
		list[1] = 2;
		made_read(&fixture->memory, &heap);
		assert_non_null(heap.why);
		assert_false(heap.blocks_certain);
		assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 167 + 1);
		heap_free(&heap);
	}
}

/* It has been taken from the list, and is not counted yet. */
static void a_thread_may_be_stopped_within_malloc(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;
	uint64_t *list;

	put_usual(fixture);
	cache_block(*at(fixture->caches), CLASS_48, BLOCK_48(fixture, 5));
	list = at(*at(fixture->caches) + CLASS_48 * 32);
	for (uint64_t counted = 0; counted <= 3; counted++) {
		list[1] = counted;
		made_read(&fixture->memory, &heap);
		assert_int_equal(heap.blocks_certain, counted <= 2);
		assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 166 + 1);
		heap_free(&heap);
	}
}

/* The word that led to the first cache need not lead to it for ever. */
static void caches_that_come_later_are_found_too(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;
	uint64_t first;

	put_usual(fixture);
	first = *at(fixture->caches);
	assert_int_equal(made_find(&fixture->memory), 0);
	cache_block(put_cache(fixture), CLASS_48, BLOCK_48(fixture, 9));
	*at(fixture->caches) = first;
	made_read_again(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_int_equal(heap.figures[ALLOCATOR_CACHES], 2);
	assert_int_equal(heap.figures[ALLOCATOR_CACHED], 48);
	heap_free(&heap);
}

/* gperftools 2.16: the number of classes is one word further, the links of caches are nearer. */
static void places_of_newer_versions_are_found_by_what_they_lead_to(void **state)
{
	struct fixture *fixture = *state;
	uint64_t *count = at(fixture->sizes + 512 + 1024);
	struct heap heap;

	fixture->links = CACHE_NEXT_2_16;
	count[0] = 1; /* the least length of a span */
	count[1] = CLASSES;
	put_usual(fixture);
	for (uint64_t i = 1; i <= 3; i++)
		cache_block(put_cache(fixture), CLASS_48, BLOCK_48(fixture, 4 + i));
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_true(heap.blocks_certain);
	assert_int_equal(heap.figures[ALLOCATOR_CACHES], 4);
	assert_int_equal(heap.figures[ALLOCATOR_CACHED], 3 * 48);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 164 + 1);
	heap_free(&heap);
	count[1] = CLASSES + 1;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
}

/*
 * Another word of the module points to it: its links are not at the known offset. An empty one has
 * been given back.
 */
static void a_cache_that_is_in_no_list_makes_it_uncertain(void **state)
{
	struct fixture *fixture = *state;
	uint64_t other;
	struct heap heap;

	put_usual(fixture);
	other = put_cache(fixture);
	*at(fixture->caches) = *at(other + CACHE_NEXT);
	*at(other + CACHE_NEXT) = *at(*at(fixture->caches) + CACHE_NEXT + 8) = 0;
	*at(fixture->caches + 16) = other;
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	heap_free(&heap);
	cache_block(other, CLASS_48, BLOCK_48(fixture, 9));
	cache_block(*at(fixture->caches), CLASS_48, BLOCK_48(fixture, 5));
	made_read(&fixture->memory, &heap);
	assert_non_null(heap.why);
	assert_false(heap.blocks_certain);
	heap_free(&heap);
}

static void caches_that_do_not_end_end(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;
	uint64_t first, second;

	put_usual(fixture);
	first = *at(fixture->caches);
	second = put_cache(fixture);
	*at(first + CACHE_NEXT) = second;
	made_read(&fixture->memory, &heap);
	assert_non_null(heap.why);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 167 + 1);
	heap_free(&heap);
}

/* That span's blocks are unknown, and all others are as certain as before. */
static void free_lists_that_contradict_their_span_are_left_out(void **state)
{
	struct fixture *fixture = *state;
	uint64_t *record = put_usual(fixture);
	const uint64_t next[] = {BLOCK_48(fixture, 1), /* in a circle */
				 BLOCK_48(fixture, 170), BLOCK_48(fixture, 2) + 1,
				 BLOCK_48(fixture, 3), /* one more than in the record */
				 UINT64_MAX};

	assert_int_equal(record[4], BLOCK_48(fixture, 4));
	cache_block(*at(fixture->caches), CLASS_48, BLOCK_48(fixture, 5));
	for (size_t i = 0; i < ARRAY_SIZE(next); i++) {
		struct heap heap;

		*at(BLOCK_48(fixture, 1)) = next[i];
		made_read(&fixture->memory, &heap);
		assert_int_equal(heap.broken, 1);
		assert_non_null(heap.why);
		assert_true(heap.blocks_certain);
		assert_null(heap_at(&heap, fixture->heap));
		assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 1);
		heap_free(&heap);
	}
}

static void spans_that_contradict_themselves_are_left_out(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t bits[] = {200ull << 16, /* no such class */
				 5ull << 16,   /* of more pages */
				 3ull << 24};  /* in no known place */
	struct heap heap;

	put_usual(fixture);
	for (size_t i = 0; i < ARRAY_SIZE(bits); i++)
		put_span(fixture, 200 + i, 1, LARGE, IN_USE)[5] = bits[i];
	put_span(fixture, 210, 1, LARGE, IN_USE)[0]++; /* about another page */
	put_span(fixture, 211, 1, LARGE, IN_USE)[1] = 1ull << 34;
	set_map(fixture, fixture->heap / PAGE + 212, 8);
	made_read(&fixture->memory, &heap);
	/* And the sums do not hold. */
	assert_int_equal(heap.broken, 6 + 1);
	assert_non_null(heap.why);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 167 + 1);
	heap_free(&heap);
}

static void a_leaf_counts_once(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	for (uint64_t i = fixture->heap / PAGE / LEAF_PLACES + 1; i < ROOT_BYTES / 8; i += 10)
		at(fixture->map)[i] = fixture->leaf;
	made_read(&fixture->memory, &heap);
	assert_non_null(heap.why);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 167 + 1);
	heap_free(&heap);
}

static void sums_that_do_not_hold_make_it_uncertain(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	at(fixture->stats)[0] += PAGE;
	at(fixture->stats)[3] += PAGE;
	made_read(&fixture->memory, &heap);
	assert_non_null(heap.why);
	assert_false(heap.blocks_certain);
	heap_free(&heap);
}

static void what_is_no_page_heap_is_not_found(void **state)
{
	struct fixture *fixture = *state;
	uint64_t *root = at(fixture->map) + fixture->heap / PAGE / LEAF_PLACES;

	assert_int_equal(made_find(&fixture->memory), -ENOENT);
	put_usual(fixture);
	assert_int_equal(made_find(&fixture->memory), 0);
	/* One list fewer; numbers that do not fit; a map that leads to other pages' records; sizes
	 * that do not rise. */
	at(fixture->lists + 7 * SPAN)[3] = 0;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
	put_head(fixture->lists + 7 * SPAN);
	at(fixture->stats)[3]--;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
	at(fixture->stats)[3]++;
	root[1] = root[0];
	root[0] = 0;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
	root[0] = root[1];
	root[1] = 0;
	assert_int_equal(made_find(&fixture->memory), 0);
	at(fixture->sizes)[1] = 0;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
}

/* Blocks of caches outside the spans that were read may be the same again and again. */
static void blocks_in_no_span_are_followed_so_often_and_no_more(void **state)
{
	struct fixture *fixture = *state;
	uint64_t astray = fixture->heap + 52 * MIB, count = 65536;
	struct heap heap;

	put_usual(fixture);
	set_map(fixture, fixture->heap / PAGE + 212, 8);
	for (uint64_t i = 0; i + 1 < count; i++)
		at(astray)[i] = astray + (i + 1) * 8;
	for (uint64_t i = 0; i < 20; i++)
		memcpy(at(put_cache(fixture) + CLASS_48 * 32), (uint64_t[]){astray, count}, 16);
	made_read(&fixture->memory, &heap);
	/* And the sum of their counts does not hold. */
	assert_int_equal(heap.broken_caches, 20 - (1 << 20) / count + 1);
	assert_int_equal(heap.figures[ALLOCATOR_CACHED], 0);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 167 + 1);
	heap_free(&heap);
}

int main(void)
{
#define with_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		with_fixture(blocks_and_free_pages_are_counted_as_tcmalloc_does),
		with_fixture(what_caches_keep_is_not_live),
		with_fixture(a_cache_that_lies_makes_it_uncertain),
		with_fixture(a_thread_may_be_stopped_within_malloc),
		with_fixture(caches_that_come_later_are_found_too),
		with_fixture(places_of_newer_versions_are_found_by_what_they_lead_to),
		with_fixture(a_cache_that_is_in_no_list_makes_it_uncertain),
		with_fixture(caches_that_do_not_end_end),
		with_fixture(blocks_in_no_span_are_followed_so_often_and_no_more),
		with_fixture(free_lists_that_contradict_their_span_are_left_out),
		with_fixture(spans_that_contradict_themselves_are_left_out),
		with_fixture(a_leaf_counts_once),
		with_fixture(sums_that_do_not_hold_make_it_uncertain),
		with_fixture(what_is_no_page_heap_is_not_found),
	};

	return cmocka_run_group_tests_name("tcmalloc_heap", tests, NULL, NULL);
}
