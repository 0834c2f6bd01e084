// SPDX-License-Identifier: GPL-2.0-or-later
/* Handmade jemalloc state in this process: consistent state is read, the rest is not. */
#include "unit/heap_fixture.h"

#define GIB (1ull << 30)
#define PAGE 4096ull

/* jemalloc 5.3: its pages, struct arena_s and struct base_s, sizes of blocks. */
struct built {
	uint64_t page, span; /* that a leaf is about */
	uint64_t arena_base, arena_caches, arena_internal, base_blocks, base_counts;
	uint64_t record_bytes;
	uint32_t small_classes, cached_classes, large_class;
	uint64_t large;
};

static const struct built small_pages = {
	.page = PAGE,
	.span = GIB,
	.arena_base = 78936,
	.arena_caches = 10400,
	.arena_internal = 56,
	.base_blocks = 160,
	.base_counts = 3880,
	.record_bytes = 128,
	.small_classes = 36,
	.cached_classes = 36,
	.large_class = 37,
	.large = 20480,
};

/* As Debian's for arm64: tcache_max is 32 KiB, and small blocks have up to 224 KiB. */
static const struct built large_pages = {
	.page = 65536,
	.span = 4 * GIB,
	.arena_base = 73608,
	.arena_caches = 9632,
	.arena_internal = 56,
	.base_blocks = 168,
	.base_counts = 3888,
	.record_bytes = 1152,
	.small_classes = 52,
	.cached_classes = 41,
	.large_class = 52,
	.large = 262144,
};

/* How an extent's bits are packed. */
#define CLASS_8 0
#define CLASS_48 3
#define CLASS_20480 37
#define NO_CLASS 232
#define ACTIVE 0
#define DIRTY 1
#define RETAINED 3

#define DATA_BYTES (4 * MIB)
#define HEAP_BYTES (64 * MIB)

struct fixture {
	struct made_memory memory;
	const struct built *built;
	uint64_t root, arenas; /* of a module */
	uint64_t leaf, records, arena, base, caches, extents;
	uint32_t record_count;
};

static uint64_t bits_of(uint32_t class, uint32_t state, bool slab, uint32_t unused)
{
	return (uint64_t)slab << 12 | (uint64_t)state << 17 | (uint64_t) class << 20 |
	       (uint64_t)unused << 28;
}

static void set_leaf(struct fixture *fixture, uint64_t page, uint64_t element)
{
	at(fixture->leaf)[page % fixture->built->span / fixture->built->page] = element;
}

/* Its record, which its first and last page lead to. */
static uint64_t *put_extent(struct fixture *fixture, uint64_t start, uint64_t bytes, uint64_t bits)
{
	uint64_t record = fixture->records + fixture->record_count++ * fixture->built->record_bytes;
	uint64_t element = record | (bits >> 20 & 0xff) << 48 | (bits >> 12 & 1);

	at(record)[0] = bits;
	at(record)[1] = start;
	at(record)[2] = bytes;
	set_leaf(fixture, start, element);
	set_leaf(fixture, start + bytes - fixture->built->page, element);
	return at(record);
}

static uint64_t *put_slab(struct fixture *fixture, uint64_t start, uint32_t class, uint64_t bytes,
			  uint32_t unused)
{
	uint64_t *record = put_extent(fixture, start, bytes, bits_of(class, ACTIVE, true, unused));

	for (uint32_t i = 0; i < unused; i++)
		record[8 + i / 64] |= 1ull << i % 64;
	return record;
}

/* An arena with one block of its own memory, and one cache with empty bins. */
static void put_arena(struct fixture *fixture)
{
	const struct built *built = fixture->built;
	uint64_t bins = fixture->caches + 64, stack = fixture->extents + 256 * built->page;

	at(fixture->arenas)[0] = fixture->arena;
	*at(fixture->arena + built->arena_base) = fixture->base;
	*at(fixture->arena + built->arena_internal) = built->large;
	*at(fixture->arena + built->arena_caches) = fixture->caches;
	*at(fixture->base + built->base_blocks) = fixture->records;
	*at(fixture->base + built->base_counts) = 5000;
	*at(fixture->base + built->base_counts + 8) = 8192;
	*at(fixture->base + built->base_counts + 16) = 2 * MIB;
	at(fixture->records)[0] = 2 * MIB;
	fixture->record_count = 1;
	at(fixture->caches)[0] = at(fixture->caches)[1] = fixture->caches;
	at(fixture->caches)[2] = bins;
	for (uint64_t i = 0; i < built->small_classes; i++) {
		uint64_t low = stack + 8 + i * 80, high = low + 80;

		/* Of blocks that are not cached. */
		if (i >= built->cached_classes)
			low = high = stack;
		at(bins)[3 * i] = high;
		at(bins)[3 * i + 2] =
			(high & 0xffff) << 32 | (low & 0xffff) << 16 | (high & 0xffff);
	}
	put_extent(fixture, stack, built->large + built->page,
		   bits_of(built->large_class, ACTIVE, false, 0));
}

static void cache_block(struct fixture *fixture, uint32_t class, uint64_t block)
{
	uint64_t *bin = at(fixture->caches + 64) + 3 * class;

	bin[0] -= 8;
	*at(bin[0]) = block;
}

static int setup_pages(void **state, const struct built *built)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint64_t start, heap;

	made_map(&fixture->memory, "jemalloc", DATA_BYTES, 2 * HEAP_BYTES);
	start = fixture->memory.start;
	heap = (start + DATA_BYTES + built->page - 1) / built->page * built->page;
	/* Not across the border of two leaves. */
	if (heap / built->span != (heap + HEAP_BYTES) / built->span)
		heap = (heap + HEAP_BYTES) / built->span * built->span;
	fixture->built = built;
	fixture->leaf = heap + 0xc0;
	fixture->records = heap + 4 * MIB;
	fixture->arena = heap + 8 * MIB;
	fixture->base = heap + 9 * MIB;
	fixture->caches = heap + 10 * MIB;
	fixture->extents = heap + 16 * MIB;
	fixture->root = start + 0x1238;
	fixture->arenas = start + 3 * MIB;
	at(fixture->root)[fixture->extents / built->span] = fixture->leaf;
	*state = fixture;
	return made_heap(&fixture->memory, heap, heap + HEAP_BYTES);
}

static int setup(void **state)
{
	return setup_pages(state, &small_pages);
}

static int setup_large_pages(void **state)
{
	return setup_pages(state, &large_pages);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	made_free(&fixture->memory);
	free(fixture);
	return 0;
}

/* A slab of 48 bytes with three free regions, dirty and retained pages, a large block. */
static void put_usual(struct fixture *fixture)
{
	put_arena(fixture);
	put_slab(fixture, fixture->extents, CLASS_48, 3 * PAGE, 3);
	put_extent(fixture, fixture->extents + 16 * PAGE, 2 * PAGE, bits_of(NO_CLASS, DIRTY, 0, 0));
	put_extent(fixture, fixture->extents + 32 * PAGE, 8 * PAGE,
		   bits_of(NO_CLASS, RETAINED, 0, 0));
	put_extent(fixture, fixture->extents + 64 * PAGE, 6 * PAGE,
		   bits_of(CLASS_20480, ACTIVE, false, 0))[1] += 0x140;
}

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
	at(fixture->caches)[0] = fixture->caches + 4096;
	at(fixture->caches + 4096)[0] = fixture->caches + 4096;
	made_read(&fixture->memory, &heap);
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
	/* Its bits do not add up; one that is as large as everything; one beyond all memory. */
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
	/* Records of another page than the one that leads to them. */
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
	assert_non_null(strstr(heap.why, "arenas were not found"));
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 253 + 2);
	heap_free(&heap);
}

/* Another variable of it leads to the first arena. */
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

int main(void)
{
#define with_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define with_large_pages(test) cmocka_unit_test_setup_teardown(test, setup_large_pages, teardown)
	const struct CMUnitTest tests[] = {
		with_fixture(blocks_and_free_pages_are_counted_as_jemalloc_does),
		with_fixture(what_a_threads_cache_keeps_is_not_live),
		with_fixture(a_cache_that_lies_makes_it_uncertain),
		with_fixture(a_ring_of_caches_that_does_not_close_ends),
		with_fixture(records_that_contradict_themselves_are_left_out),
		with_fixture(what_overlaps_counts_once),
		with_fixture(a_leaf_counts_once),
		with_fixture(what_is_no_tree_is_not_found),
		with_fixture(a_slab_behind_much_that_is_free_is_enough),
		with_fixture(without_arenas_caches_are_not_known),
		with_fixture(the_array_of_arenas_is_known_from_a_copy_of_its_first),
		with_large_pages(pages_of_64_kib_are_counted_as_jemalloc_does),
		with_large_pages(long_bitmaps_that_contradict_themselves_are_left_out),
	};

	return cmocka_run_group_tests_name("jemalloc_heap", tests, NULL, NULL);
}
