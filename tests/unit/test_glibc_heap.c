// SPDX-License-Identifier: GPL-2.0-or-later
/* A heap of glibc, handmade in this process: every use of a block, and its reading. */
#include "unit/glibc_fixture.h"

#include "heap/retain/heap_graph.h"

static void read_heap(struct fixture *fixture, struct heap *heap)
{
	const struct heap_reader *reader = fixture->memory.reader;
	struct heap_view view = made_view(&fixture->memory);

	assert_int_equal(made_find(&fixture->memory), 0);
	assert_int_equal(reader->walk_begin(fixture->memory.state, &view), 0);
	assert_int_equal(reader->walk_end(fixture->memory.state, &view), 0);
	*heap = (struct heap){.reader = reader};
	assert_int_equal(reader->read(fixture->memory.state, &view, heap), 0);
	assert_int_equal(reader->settle(fixture->memory.state, heap), 0);
	assert_true(heap->blocks_certain);
	assert_string_equal(heap->name, "glibc 2.27 to 2.42");
}

static void expect_block(const struct heap *heap, uint64_t chunk, uint64_t size, enum block_use use)
{
	uint32_t i;
	const struct heap_run *run = heap_block_from(heap, chunk, &i);
	struct heap_block block;

	assert_non_null(run);
	block = heap_block(heap, run, i);
	assert_int_equal(block.end - block.start, size);
	assert_int_equal(block.address, chunk + 16);
	assert_int_equal(block.size, size - 8);
	assert_int_equal(block.use, use);
}

static void chunks_are_live_free_fast_or_cached(void **state)
{
	struct fixture *fixture = *state;
	const struct usual usual = put_usual(fixture);
	const struct heap_run *top;
	struct heap heap;

	read_heap(fixture, &heap);
	expect_block(&heap, usual.cache, 0x290, BLOCK_CACHED);
	expect_block(&heap, usual.cached, 0x20, BLOCK_CACHED);
	expect_block(&heap, usual.live, 0x40, BLOCK_LIVE);
	expect_block(&heap, usual.unused, 0x110, BLOCK_FREE);
	expect_block(&heap, usual.fast, 0x30, BLOCK_FAST);
	top = heap_at(&heap, fixture->at);
	assert_int_equal(top->use, RUN_TOP);
	assert_int_equal(top->end, fixture->heap + HEAP_BYTES);
	assert_int_equal(heap_at(&heap, fixture->arena)->use, RUN_TABLES);
	heap_free(&heap);
}

static void live_chunks_are_the_blocks_of_an_image(void **state)
{
	struct fixture *fixture = *state;
	struct heap_image heap_image = {0};
	struct heap_graph graph = {0};
	struct heap heap;
	uint64_t first, third;

	first = add_chunk(fixture, 0x20, true);
	add_chunk(fixture, 0x110, false);
	third = add_chunk(fixture, 0x40, true);
	finish(fixture);
	read_heap(fixture, &heap);
	heap_image.heaps.list.items = &heap;
	heap_image.heaps.list.count = 1;
	assert_int_equal(heap_blocks_list(&heap_image, NULL, 0, &graph), 0);
	assert_int_equal(graph.blocks, 2);
	assert_int_equal(graph.starts[0], first + 16);
	assert_int_equal(graph.sizes[0], 0x18);
	assert_int_equal(graph.starts[1], third + 16);
	assert_int_equal(graph.sizes[1], 0x38);
	heap_graph_free(&graph);
	heap_free(&heap);
}

static void figures_and_trims_follow_mallinfo_and_malloc_trim(void **state)
{
	struct fixture *fixture = *state;
	uint64_t unused, start = fixture->heap + HEAP_BYTES;
	struct heap_view view = made_view(&fixture->memory);
	struct heap heap;

	add_chunk(fixture, 0x20, true);
	unused = add_chunk(fixture, 0x5000, false);
	add_chunk(fixture, 0x40, true);
	add_chunk(fixture, 0x210, false);
	add_chunk(fixture, 0x20, true);
	finish(fixture);
	put_mapped(fixture);
	read_heap(fixture, &heap);
	assert_int_equal(heap.reader->account(fixture->memory.state, &view, &heap), 0);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 3);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE], 0x80);
	assert_int_equal(heap.figures[ALLOCATOR_SMALL], 0x210);
	assert_int_equal(heap.figures[ALLOCATOR_LARGE], 0x5000);
	assert_int_equal(heap.figures[ALLOCATOR_TOP], HEAP_BYTES - 0x5290);
	assert_int_equal(heap.figures[ALLOCATOR_FREE], HEAP_BYTES - 0x80);
	assert_int_equal(heap.figures[ALLOCATOR_USED], 0x80);
	assert_int_equal(heap.figures[ALLOCATOR_LARGEST_FREE], HEAP_BYTES - 0x5290);
	assert_int_equal(heap.figures[ALLOCATOR_MAPPED_BYTES], ALLOCATOR_NOT_KNOWN);
	assert_int_equal(heap.figures[ALLOCATOR_MAPPED_BLOCKS], 1);
	assert_int_equal(heap_at(&heap, start)->use, RUN_MAPPED);
	assert_int_equal(heap.arenas.count, 1);
	assert_int_equal(heap.arenas.items[0].threads, 1);
	/* Not the top, which is outside [heap]; of the free chunk, whole pages after its fields. */
	assert_int_equal(heap.trims.count, 1);
	assert_int_equal(heap.trims.items[0].start, (unused + 48 + 4095) & ~4095ull);
	assert_int_equal(heap.trims.items[0].end - heap.trims.items[0].start, 0x4000);
	heap_free(&heap);
}

static void a_broken_chunk_ends_the_heap_and_what_lies_behind_is_unknown(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;
	uint64_t last;

	add_chunk(fixture, 0x20, true);
	last = add_chunk(fixture, 0x40, true);
	at(add_chunk(fixture, 0x40, true))[1] = 0x18;
	finish(fixture);
	read_heap(fixture, &heap);
	assert_int_equal(heap.broken_walks, 1);
	assert_int_equal(heap.absent_walks, 0);
	assert_int_equal(heap.broken_at, last + 0x40);
	expect_block(&heap, fixture->heap, 0x20, BLOCK_LIVE);
	assert_int_equal(heap_at(&heap, last)->use, RUN_UNKNOWN);
	assert_int_equal(heap_at(&heap, last)->end, fixture->heap + HEAP_BYTES);
	heap_free(&heap);
}

/* Fed by ascending address, with its neighbours. */
static void a_walk_that_is_fed_is_whole(void **state)
{
	struct fixture *fixture = *state;
	const struct usual usual = put_usual(fixture);
	const struct made_memory *memory = &fixture->memory;
	struct heap_view view = made_view(&fixture->memory);
	struct heap heap = {.reader = memory->reader};

	assert_int_equal(made_find(&fixture->memory), 0);
	assert_int_equal(heap.reader->walk_begin(memory->state, &view), 0);
	for (uint64_t page = memory->start; page < memory->start + memory->bytes; page += 4096)
		assert_int_equal(heap.reader->walk_feed(memory->state, page, at(page), 512), 0);
	assert_int_equal(heap.reader->read(memory->state, &view, &heap), 0);
	assert_int_equal(heap.reader->settle(memory->state, &heap), 0);
	expect_block(&heap, usual.live, 0x40, BLOCK_LIVE);
	assert_int_equal(heap_at(&heap, fixture->at)->use, RUN_TOP);
	heap_free(&heap);
}

/* A separate mapping, in malloc's form: at the front, or after an aligned address. */
static void headers_of_mapped_chunks_are_distinguished_from_other_words(void **state)
{
	static const struct {
		uint64_t distance, previous, size_word;
		uint64_t end; /* of the block; 0: no block */
	} cases[] = {
		{0, 0, 0x21000 | 2, 0x21000},
		/* From glibc 2.43 on. */
		{0, 0, 0x20ff0 | 2, 0x20ff8},
		{0, 1, 0x20ff0 | 2, 0x20ff8}, /* huge pages */
		{0, 1, 0x21000 | 2, 0},
		{0, 0, 0x20fe0 | 2, 0},
		{0, 0, 0xfffffffffffffff0 | 2, 0},
		{48, 49, 0x20fc0 | 2, 0x20ff8},
		{4080, 8176, 0x20000 | 2, 0x20ff8},
		{0, 0, 0x21000 | 3, 0},		/* in an arena */
		{0, 0, 0x21010 | 2, 0},		/* not whole pages */
		{0, 0, 0x100000 | 2, 0},	/* longer than the mapping */
		{0, 16, 0x21000 | 2, 0},	/* nothing before it to be 16 bytes long */
		{48, 48, 0x20fd0 | 2, 0x21000}, /* aligned to 64 */
		{48, 32, 0x20fd0 | 2, 0},
		{4080, 4080, 0x20010 | 2, 0x21000}, /* aligned to a page */
		{4080, 8176, 0x20010 | 2, 0x21000}, /* or more */
		{0, 0, 0, 0},
	};
	uint64_t words[PAGE_WORDS];
	struct mapped_block block;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(words, 0, sizeof(words));
		words[cases[i].distance / 8] = cases[i].previous;
		words[cases[i].distance / 8 + 1] = cases[i].size_word;
		assert_int_equal(
			heap_readers_find_mapped(0x7f0000000000, words, 0x7f0000022000, &block),
			cases[i].end != 0);
		if (!cases[i].end)
			continue;
		assert_int_equal(block.page, 0x7f0000000000);
		assert_int_equal(block.start, block.page + cases[i].distance);
		assert_int_equal(block.address, block.start + 16);
		assert_int_equal(block.end, block.page + cases[i].end);
		assert_ptr_equal(block.reader, heap_reader_of("glibc"));
	}
}

int main(void)
{
#define WITH_HEAP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_HEAP(chunks_are_live_free_fast_or_cached),
		WITH_HEAP(live_chunks_are_the_blocks_of_an_image),
		WITH_HEAP(a_walk_that_is_fed_is_whole),
		WITH_HEAP(figures_and_trims_follow_mallinfo_and_malloc_trim),
		WITH_HEAP(a_broken_chunk_ends_the_heap_and_what_lies_behind_is_unknown),
		cmocka_unit_test(headers_of_mapped_chunks_are_distinguished_from_other_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
