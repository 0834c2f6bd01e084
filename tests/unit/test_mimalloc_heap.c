// SPDX-License-Identifier: GPL-2.0-or-later
/* Handmade mimalloc state in this process: consistent state is read, the rest is not. */
#include "unit/heap_fixture.h"

#define SLICE 65536ull
#define SEGMENT (32 * MIB)
#define COOKIE 0x1234567890abcdefull
#define THREAD 0x7f0000001000ull

/* mimalloc 2.0.9: struct mi_segment_s, mi_page_s, mi_heap_s and mi_tld_s. */
#define HEAP_QUEUE_SIZE 1056
#define HEAP_DELAYED 2840
#define HEAP_THREAD 2848
#define HEAP_COOKIE 2864
#define HEAP_KEYS 2872
#define HEAP_BYTES 3064
#define THREAD_HEAP 16
#define THREAD_SEGMENTS 896
#define THREAD_LINKS 928
#define THREAD_OS 944
#define THREAD_STATS 960
#define SLICES_AT 264
#define PAGE_OFFSET 384

#define DATA_BYTES (64ull << 10)
#define HEAPS_BYTES (4 * SEGMENT)

struct fixture {
	struct made_memory memory;
	uint64_t heap; /* of a module */
	uint64_t segment;
	uint32_t page_words, thread_free, owner;
};

static void put_heap(uint64_t heap, uint64_t thread_data, uint64_t thread)
{
	static const uint64_t sizes[] = {8, 8, 16, 24, 32, 40, 48, 56, 64, 80};

	at(heap)[0] = thread_data;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		*at(heap + HEAP_QUEUE_SIZE + i * 24) = sizes[i];
	*at(heap + HEAP_THREAD) = thread;
	*at(heap + HEAP_COOKIE) = COOKIE;
	*at(thread_data + THREAD_HEAP) = heap;
	at(thread_data + THREAD_LINKS)[0] = thread_data + THREAD_STATS;
	at(thread_data + THREAD_LINKS)[1] = thread_data + THREAD_OS;
}

static uint64_t *slice_at(const struct fixture *fixture, uint64_t i)
{
	return at(fixture->segment + SLICES_AT + i * fixture->page_words * 8);
}

static void put_segment(uint64_t segment, uint64_t thread)
{
	at(segment)[14] = UINT64_MAX >> 4; /* the first 60 slices have memory */
	at(segment)[27] = segment ^ COOKIE;
	at(segment)[28] = at(segment)[31] = 512;
	at(segment)[29] = 1;
	at(segment)[32] = thread;
}

/* A page of so many slices, cut into blocks, of which so many are handed out, and none free. */
static uint64_t *put_page(struct fixture *fixture, uint64_t i, uint64_t slices, uint64_t block,
			  uint64_t capacity)
{
	uint64_t *page = slice_at(fixture, i);
	uint64_t bytes = slices * SLICE - (block <= 1024 ? PAGE_OFFSET : 0);

	page[0] = slices;
	page[1] = capacity << 16 | bytes / block << 32;
	page[3] = capacity | block << 32;
	page[fixture->owner] = fixture->heap;
	at(fixture->segment)[26]++;
	return page;
}

static void put_free(struct fixture *fixture, uint64_t i, uint64_t slices)
{
	slice_at(fixture, i)[0] = slices;
}

static uint64_t encode(uint64_t owner, uint64_t next, const uint64_t keys[2])
{
	uint64_t bits = keys[0] % 64, word = (next ? next : owner) ^ keys[1];

	return (bits ? word << bits | word >> (64 - bits) : word) + keys[0];
}

/* Puts a block in front of a page's list: 2, 4, or that of what other threads have freed. */
static void free_block(struct fixture *fixture, uint64_t *page, uint32_t list, uint64_t block)
{
	bool encoded = fixture->page_words == 12;

	*at(block) = encoded ? encode((uintptr_t)page, page[list], page + 5) : page[list];
	page[list] = block;
	if (list != fixture->thread_free)
		page[3]--;
}

static void set_layout(struct fixture *fixture, bool encoded)
{
	fixture->page_words = encoded ? 12 : 10;
	fixture->thread_free = encoded ? 7 : 5;
	fixture->owner = encoded ? 8 : 6;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint64_t start;

	made_map(&fixture->memory, "mimalloc", DATA_BYTES, HEAPS_BYTES);
	start = fixture->memory.start;
	fixture->heap = start + 0x1040;
	fixture->segment = (start + DATA_BYTES + SEGMENT - 1) / SEGMENT * SEGMENT;
	set_layout(fixture, false);
	put_heap(fixture->heap, start + 0x3000, THREAD);
	*at(start + 0x3000 + THREAD_SEGMENTS) = 1;
	put_segment(fixture->segment, THREAD);
	*state = fixture;
	return made_heap(&fixture->memory, fixture->segment, fixture->segment + 2 * SEGMENT);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	made_free(&fixture->memory);
	free(fixture);
	return 0;
}

#define BLOCK_48(fixture, i) ((fixture)->segment + SLICE + PAGE_OFFSET + (i)*48ull)

/* A page of 100 blocks of 48 bytes, of which 3 are free; one block of two slices; free slices with
 * memory and without. */
static uint64_t *put_usual(struct fixture *fixture)
{
	uint64_t *page = put_page(fixture, 1, 1, 48, 100);

	page[5] = 0x0123456789abcdefull;
	page[6] = 0xfedcba9876543210ull;
	if (fixture->page_words == 10)
		page[5] = 0, page[6] = fixture->heap;
	free_block(fixture, page, 2, BLOCK_48(fixture, 1));
	free_block(fixture, page, 2, BLOCK_48(fixture, 99));
	free_block(fixture, page, 4, BLOCK_48(fixture, 4));
	put_page(fixture, 2, 2, 2 * SLICE, 1);
	put_free(fixture, 4, 508);
	return page;
}

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

/* Its owner has not taken them back yet: by the page, and the first one of a full page by the heap.
 */
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
			page[3] = 100 | 12ull << 32; /* a size that is none */
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
		with_fixture(a_segment_that_contradicts_itself_is_left_out),
		with_fixture(what_is_no_heap_is_not_found),
	};

	return cmocka_run_group_tests_name("mimalloc_heap", tests, NULL, NULL);
}
