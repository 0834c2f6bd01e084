// SPDX-License-Identifier: GPL-2.0-or-later
/* Handmade jemalloc state in this process: consistent state is read, the rest is not. */
#include "unit/jemalloc_fixture.h"

static void blocks_and_free_pages_are_counted_as_jemalloc_does(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 253 + 1);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE], 253 * 48 + 20480);
	assert_int_equal(heap.figures[ALLOCATOR_OWN], 20480);
	assert_int_equal(heap.figures[ALLOCATOR_ALLOCATED], 253 * 48 + 2 * 20480);
	assert_int_equal(heap.figures[ALLOCATOR_ACTIVE], 15 * PAGE);
	assert_int_equal(heap.figures[ALLOCATOR_DIRTY], 2 * PAGE);
	assert_int_equal(heap.figures[ALLOCATOR_RETAINED], 8 * PAGE);
	assert_int_equal(heap.figures[ALLOCATOR_METADATA], 5000 + 20480);
	assert_int_equal(heap.figures[ALLOCATOR_MAPPED], 17 * PAGE + 2 * MIB);
	assert_int_equal(heap.figures[ALLOCATOR_ARENAS], 1);
	assert_int_equal(heap.figures[ALLOCATOR_CACHES], 1);
	heap_free(&heap);
}

static void what_a_threads_cache_keeps_is_not_live(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;
	const struct heap_run *run;

	put_usual(fixture);
	cache_block(fixture, CLASS_48, fixture->extents + 5 * 48);
	cache_block(fixture, CLASS_48, fixture->extents + 7 * 48);
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 251 + 1);
	assert_int_equal(heap.figures[ALLOCATOR_CACHED], 2 * 48);
	run = heap_at(&heap, fixture->extents + 100);
	assert_false(heap_is_live(&heap, run, 5));
	assert_int_equal(heap_block(&heap, run, 5).use, BLOCK_CACHED);
	assert_true(heap_is_live(&heap, run, 6));
	heap_free(&heap);
}

static void a_cache_that_lies_makes_it_uncertain(void **state)
{
	struct fixture *fixture = *state;
	uint64_t wrong[] = {fixture->extents + 5 * 48 + 8, /* no block begins there */
			    fixture->extents,		   /* free already */
			    fixture->extents + 64 * PAGE,  /* of another size */
			    1, UINT64_MAX};

	put_usual(fixture);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct heap heap;

		cache_block(fixture, CLASS_48, wrong[i]);
		made_read(&fixture->memory, &heap);
		assert_non_null(heap.why);
		assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 253 + 1);
		heap_free(&heap);
		at(fixture->caches + 64)[3 * CLASS_48] += 8;
	}
}

static void a_ring_of_caches_that_does_not_close_ends(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	assert_int_equal(made_find(&fixture->memory), 0);
	at(fixture->caches)[0] = fixture->caches + 4096;
	at(fixture->caches + 4096)[0] = fixture->caches + 4096;
	made_read_again(&fixture->memory, &heap);
	assert_non_null(heap.why);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 253 + 1);
	heap_free(&heap);
}

static void records_that_contradict_themselves_are_left_out(void **state)
{
	struct fixture *fixture = *state;
	uint64_t *record;
	struct heap heap;

	put_usual(fixture);
	for (uint64_t i = 0; i < 64; i++)
		put_slab(fixture, fixture->extents + (100 + i) * PAGE, CLASS_8, PAGE, 0);
	/* Its bits do not add up; one as large as everything; one beyond all memory. */
	put_slab(fixture, fixture->extents + 200 * PAGE, CLASS_8, PAGE, 5)[8] = 1;
	put_extent(fixture, fixture->extents + 201 * PAGE, PAGE, bits_of(CLASS_20480, 0, 0, 0))[2] =
		1ull << 50;
	record = put_extent(fixture, fixture->extents + 202 * PAGE, PAGE,
			    bits_of(CLASS_20480, 0, 0, 0));
	record[1] = UINT64_MAX - 4095;
	set_leaf(fixture, fixture->extents + 203 * PAGE, 1ull << 46);
	made_read(&fixture->memory, &heap);
	assert_non_null(heap.why);
	assert_int_equal(heap.broken, 4);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 253 + 1 + 64 * 512);
	heap_free(&heap);
}

static void what_overlaps_counts_once(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	/* The arena claims memory of blocks as its own. */
	at(fixture->records)[0] = MIB;
	at(fixture->records)[1] = fixture->extents + 64 * PAGE;
	at(fixture->extents + 64 * PAGE)[0] = MIB;
	made_read(&fixture->memory, &heap);
	assert_true(heap.broken > 0);
	for (size_t i = 1; i < heap.runs.count; i++)
		assert_true(heap.runs.items[i].start >= heap.runs.items[i - 1].end);
	heap_free(&heap);
}

static void a_leaf_counts_once(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	for (uint64_t i = fixture->extents / GIB + 1; i < 1 << 18; i += 10)
		at(fixture->root)[i] = fixture->leaf;
	made_read(&fixture->memory, &heap);
	assert_non_null(heap.why);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 253 + 1);
	heap_free(&heap);
}

static void what_is_no_tree_is_not_found(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(made_find(&fixture->memory), -ENOENT);
	/* Records of another page than the one that points to them. */
	put_usual(fixture);
	for (uint32_t i = 1; i < fixture->record_count; i++)
		at(fixture->records + i * 128ull)[1] += 1 + PAGE * i;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
}

/* Many free extents at the front: the evidence follows them. */
static void a_slab_behind_much_that_is_free_is_enough(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_arena(fixture);
	for (uint64_t i = 0; i < 200; i++)
		put_extent(fixture, fixture->extents + 2 * i * PAGE, PAGE,
			   bits_of(NO_CLASS, DIRTY, 0, 0));
	put_slab(fixture, fixture->extents + 600 * PAGE, CLASS_8, PAGE, 12);
	made_read(&fixture->memory, &heap);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 500);
	assert_int_equal(heap.figures[ALLOCATOR_DIRTY], 200 * PAGE);
	heap_free(&heap);
}

static void without_arenas_caches_are_not_known(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	*at(fixture->base + fixture->built->base_counts + 16) += PAGE;
	made_read(&fixture->memory, &heap);
	assert_non_null(strstr(heap.why, "no array of its arenas"));
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 253 + 2);
	heap_free(&heap);
}

/*
 * 5.3.1 counts two parts of a base's allocations, and has blocks of any number of pages; each
 * version and build has its structures longer or shorter.
 */
static void places_of_newer_versions_are_found_by_what_adds_up(void **state)
{
	struct fixture *fixture = *state;
	struct built built = *fixture->built;
	uint64_t *counts;
	struct heap heap;

	built.arena_base += 1712;
	built.arena_caches += 1584;
	built.arena_internal += 16;
	built.base_counts += 16;
	fixture->built = &built;
	put_usual(fixture);
	counts = at(fixture->base + built.base_counts);
	memcpy(counts - 2, (uint64_t[]){5000, 1000, 3000}, 24);
	/* Extents of 9 and 5 pages, in classes of 10 and 5 pages: the first one omits a page. */
	put_extent(fixture, fixture->extents + 80 * PAGE, 10 * PAGE,
		   bits_of(CLASS_40960, ACTIVE, false, 0));
	put_extent(fixture, fixture->extents + 96 * PAGE, 10 * PAGE,
		   bits_of(CLASS_49152, ACTIVE, false, 0))[1] += 0x40;
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_true(heap.blocks_certain);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 253 + 3);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE], 253 * 48 + 20480 + 2 * 9 * PAGE);
	assert_int_equal(heap.figures[ALLOCATOR_ALLOCATED],
			 253 * 48 + built.large + 20480 + 2 * 9 * PAGE);
	assert_int_equal(heap.figures[ALLOCATOR_METADATA], 5000 + built.large);
	assert_int_equal(heap.figures[ALLOCATOR_OWN], built.large);
	heap_free(&heap);
}

/* Each node counts once: the second one points to the targets of the first. */
static void a_tree_of_three_levels_is_walked(void **state)
{
	struct fixture *fixture = *state;
	uint64_t *root = at(fixture->root) + fixture->extents / fixture->built->span / 32768;
	struct heap heap;

	put_usual(fixture);
	cache_block(fixture, CLASS_48, fixture->extents + 5 * 48);
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_true(heap.blocks_certain);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 252 + 1);
	assert_int_equal(heap.figures[ALLOCATOR_DIRTY], 2 * PAGE);
	assert_int_equal(heap.figures[ALLOCATOR_CACHED], 48);
	heap_free(&heap);
	root[1] = root[0];
	made_read(&fixture->memory, &heap);
	assert_int_equal(heap.broken, 1);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 252 + 1);
	heap_free(&heap);
	/* Its place in the root is about other addresses. */
	root[1] = 0;
	at(fixture->middle)[fixture->extents / fixture->built->span % 32768 + 1] = fixture->leaf;
	at(fixture->middle)[fixture->extents / fixture->built->span % 32768] = 0;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
}

/* No arena counts as much for jemalloc itself as was found: something was not. */
static void what_is_its_own_must_add_up(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	*at(fixture->arena + fixture->built->arena_internal) += 4096;
	made_read(&fixture->memory, &heap);
	assert_false(heap.blocks_certain);
	heap_free(&heap);
}

/* Another variable of jemalloc's leads to the first arena. */
static void the_array_of_arenas_is_known_from_a_copy_of_its_first(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	*at(fixture->arenas - 800) = fixture->arena;
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_int_equal(heap.figures[ALLOCATOR_ARENAS], 1);
	assert_int_equal(heap.figures[ALLOCATOR_CACHES], 1);
	heap_free(&heap);
}

/* Slabs of 8 and of 48 bytes with free regions, dirty pages, a large block. */
static uint64_t *put_large_pages(struct fixture *fixture)
{
	uint64_t page = fixture->built->page, *record;

	put_arena(fixture);
	put_slab(fixture, fixture->extents + page, CLASS_48, 3 * page, 3);
	put_extent(fixture, fixture->extents + 16 * page, 2 * page, bits_of(NO_CLASS, DIRTY, 0, 0));
	put_extent(fixture, fixture->extents + 64 * page, 5 * page,
		   bits_of(fixture->built->large_class, ACTIVE, false, 0))[1] += 0xf140;
	record = put_slab(fixture, fixture->extents, CLASS_8, page, 3000);
	record[8 + 127] = 1ull << 63; /* instead of the 3000th */
	record[8 + 2999 / 64] &= ~(1ull << 2999 % 64);
	record[8 + 128] = UINT64_MAX; /* not of this level */
	return record;
}

static void pages_of_64_kib_are_counted_as_jemalloc_does(void **state)
{
	struct fixture *fixture = *state;
	uint64_t page = fixture->built->page;
	struct heap heap;

	put_large_pages(fixture);
	cache_block(fixture, CLASS_48, fixture->extents + page + 5 * 48);
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 5192 + 4093 - 1 + 1);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE], 5192 * 8 + 4092 * 48 + 262144);
	assert_int_equal(heap.figures[ALLOCATOR_CACHED], 48);
	assert_int_equal(heap.figures[ALLOCATOR_OWN], 262144);
	assert_int_equal(heap.figures[ALLOCATOR_ACTIVE], (1 + 3 + 5 + 5) * page);
	assert_int_equal(heap.figures[ALLOCATOR_DIRTY], 2 * page);
	assert_int_equal(heap.figures[ALLOCATOR_CACHES], 1);
	assert_false(heap_is_live(&heap, heap_at(&heap, fixture->extents), 8191));
	assert_true(heap_is_live(&heap, heap_at(&heap, fixture->extents), 2999));
	heap_free(&heap);
}

static void long_bitmaps_that_contradict_themselves_are_left_out(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_large_pages(fixture)[8 + 100] = 1;
	made_read(&fixture->memory, &heap);
	assert_int_equal(heap.broken, 1);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 4093 + 1);
	heap_free(&heap);
}

/* Each arena has separate blocks: many that share blocks would take hours, and all memory. */
static void arenas_that_share_their_blocks_end(void **state)
{
	struct fixture *fixture = *state;
	uint64_t count = 4000, blocks = 200, chain = fixture->extents + 24 * MIB;
	struct heap heap;

	put_usual(fixture);
	for (uint64_t i = 0; i < blocks; i++) {
		at(chain + i * PAGE)[0] = PAGE;
		at(chain + i * PAGE)[1] = i + 1 < blocks ? chain + (i + 1) * PAGE : 0;
	}
	for (uint64_t i = 1; i < count; i++) {
		uint64_t arena = fixture->arena + i * 64, base = chain + 48 + i * 64;

		at(fixture->arenas)[i] = arena;
		*at(arena + fixture->built->arena_base) = base;
		*at(base) = i;
		*at(base + fixture->built->base_blocks) = chain;
		*at(base + fixture->built->base_counts + 8) = PAGE;
		*at(base + fixture->built->base_counts + 16) = blocks * PAGE;
	}
	made_read(&fixture->memory, &heap);
	/* Each is looked at twice, and becomes runs then. */
	assert_int_equal(heap.figures[ALLOCATOR_ARENAS], 1 + ((1 << 20) - 2) / (2 * blocks));
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 253 + 1);
	assert_non_null(heap.why);
	heap_free(&heap);
}

int main(void)
{
#define with_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define with_large_pages(test) cmocka_unit_test_setup_teardown(test, setup_large_pages, teardown)
	const struct CMUnitTest tests[] = {
		with_fixture(blocks_and_free_pages_are_counted_as_jemalloc_does),
		with_fixture(arenas_that_share_their_blocks_end),
		with_fixture(what_a_threads_cache_keeps_is_not_live),
		with_fixture(a_cache_that_lies_makes_it_uncertain),
		with_fixture(a_ring_of_caches_that_does_not_close_ends),
		with_fixture(records_that_contradict_themselves_are_left_out),
		with_fixture(what_overlaps_counts_once),
		with_fixture(a_leaf_counts_once),
		with_fixture(what_is_no_tree_is_not_found),
		with_fixture(a_slab_behind_much_that_is_free_is_enough),
		with_fixture(without_arenas_caches_are_not_known),
		with_fixture(places_of_newer_versions_are_found_by_what_adds_up),
		with_fixture(what_is_its_own_must_add_up),
		cmocka_unit_test_setup_teardown(a_tree_of_three_levels_is_walked,
						setup_long_addresses, teardown),
		with_fixture(the_array_of_arenas_is_known_from_a_copy_of_its_first),
		with_large_pages(pages_of_64_kib_are_counted_as_jemalloc_does),
		with_large_pages(long_bitmaps_that_contradict_themselves_are_left_out),
	};

	return cmocka_run_group_tests_name("jemalloc_heap", tests, NULL, NULL);
}
