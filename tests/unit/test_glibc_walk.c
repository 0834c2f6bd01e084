// SPDX-License-Identifier: GPL-2.0-or-later
/* Heaps made by hand in this process's own memory, walked as another one's would be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "binary/elf/elf_abi.h"
#include "heap/allocators/glibc_walk.h"

#define HEAP_BYTES (256ull << 10)
#define FREE_CHUNK 0 /* the next chunk marks it as free */

struct fixture {
	uint64_t *heap;
	uint64_t start, at; /* where the next chunk goes */
	bool previous_in_use;
	struct heap_span span;
	struct heap_spans spans;
	struct peek peek;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->heap =
		mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fixture->start = fixture->at = (uintptr_t)fixture->heap;
	fixture->previous_in_use = true;
	fixture->peek = (struct peek){.source = live_memory(getpid()), .pagemap = -1};
	peek_forget(&fixture->peek);
	*state = fixture;
	return fixture->heap == MAP_FAILED;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	peek_free(&fixture->peek);
	vec_free(&fixture->span.chunks);
	heap_spans_free(&fixture->spans);
	munmap(fixture->heap, HEAP_BYTES);
	free(fixture);
	return 0;
}

static uint64_t *word(const struct fixture *fixture, uint64_t address)
{
	return &fixture->heap[(address - fixture->start) / 8];
}

/* The address of the chunk. */
static uint64_t add_chunk(struct fixture *fixture, uint64_t size, bool in_use)
{
	uint64_t chunk = fixture->at;

	word(fixture, chunk)[1] = size | fixture->previous_in_use;
	fixture->previous_in_use = in_use;
	fixture->at += size;
	return chunk;
}

static void finish(struct fixture *fixture)
{
	*word(fixture, fixture->at + 8) =
		(fixture->start + HEAP_BYTES - fixture->at) | fixture->previous_in_use;
	fixture->span = (struct heap_span){.start = fixture->start,
					   .end = fixture->start + HEAP_BYTES,
					   .top = fixture->at,
					   .main = true,
					   .next = fixture->start};
}

static size_t walk(struct fixture *fixture)
{
	struct heap_span *kept;

	assert_int_equal(heap_span_finish(&fixture->span, &fixture->peek), 0);
	kept = vec_push(&fixture->spans.list);
	*kept = fixture->span;
	memset(&fixture->span.chunks, 0, sizeof(fixture->span.chunks));
	return kept->chunks.count;
}

static void a_walk_fed_in_windows_is_the_same_walk(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t i = 0; fixture->at - fixture->start < HEAP_BYTES - 4096; i++)
		add_chunk(fixture, 0x20 + i % 37 * 16, i % 5 != FREE_CHUNK);
	finish(fixture);
	for (uint64_t at = 0; at < HEAP_BYTES; at += 8192)
		assert_int_equal(heap_span_feed(&fixture->span, fixture->start + at,
						fixture->heap + at / 8, 1024),
				 0);
	assert_true(fixture->span.done);
	assert_false(fixture->span.broken);
	assert_int_equal(fixture->span.next, fixture->at);
}

static void free_chunks_of_a_threads_heap_are_not_marked_as_one(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t not_main = 4;

	for (int i = 0; i < 3; i++)
		*word(fixture, add_chunk(fixture, 0x600, i != 1) + 8) |= i == 1 ? 0 : not_main;
	finish(fixture);
	fixture->span.main = false;
	assert_int_equal(walk(fixture), 4);
	assert_false(fixture->spans.list.items[0].broken);
}

struct damage {
	const char *what;
	uint64_t size_word;
};

static void a_broken_heap_ends_the_walk_at_the_broken_chunk(void **state)
{
	static const struct damage damages[] = {
		{"no size", 0},
		{"smaller than any chunk", 0x10 | 1},
		{"not aligned", 0x28 | 1},
		{"beyond the top", 0x100000 | 1},
		{"of another arena", 0x40 | 5},
		{"mapped", 0x40 | 3},
		{"overwritten", 0x4141414141414141ull},
	};
	struct fixture *fixture = *state;
	uint64_t broken;

	add_chunk(fixture, 0x20, true);
	broken = add_chunk(fixture, 0x40, true);
	add_chunk(fixture, 0x40, true);
	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		finish(fixture);
		vec_free(&fixture->span.chunks);
		*word(fixture, broken + 8) = damages[i].size_word;
		peek_forget(&fixture->peek);
		assert_int_equal(heap_span_finish(&fixture->span, &fixture->peek), 0);
		assert_true(fixture->span.broken);
		assert_int_equal(fixture->span.next, broken);
		vec_free(&fixture->span.chunks);
	}
}

/* It is not in swap, where nobody could read it: the next reading finds another heap. */
static void a_page_given_back_under_the_walk_does_not_count_as_swapped_out(void **state)
{
	struct fixture *fixture = *state;
	uint64_t given_back = 0;

	fixture->peek.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	assert_true(fixture->peek.pagemap >= 0);
	for (int i = 0; i < 16; i++) {
		uint64_t chunk = add_chunk(fixture, 2 * MEMORY_PAGE, true);

		given_back = i == 8 ? chunk : given_back;
	}
	finish(fixture);
	assert_int_equal(madvise(word(fixture, given_back), MEMORY_PAGE, MADV_DONTNEED), 0);
	assert_int_equal(heap_span_walk(&fixture->span, &fixture->peek), 0);
	assert_true(fixture->span.broken);
	assert_false(fixture->span.absent);
	assert_int_equal(fixture->span.next, given_back);
	assert_int_equal(fixture->span.chunks.count, 8);
	/* As if malloc used it again. */
	word(fixture, given_back)[1] = 2 * MEMORY_PAGE | 1;
	heap_span_resume(&fixture->span);
	assert_int_equal(heap_span_walk(&fixture->span, &fixture->peek), 0);
	assert_true(fixture->span.done);
	assert_false(fixture->span.broken);
	assert_int_equal(fixture->span.chunks.count, 16 + 1);
	close(fixture->peek.pagemap);
	fixture->peek.pagemap = -1;
}

static void a_page_in_swap_ends_the_walk_for_good(void **state)
{
	const uint64_t present = 1ull << 63, swapped = 1ull << 62;
	struct fixture *fixture = *state;
	uint64_t entries[16];
	off_t offset = (off_t)(fixture->start / MEMORY_PAGE * sizeof(uint64_t));

	for (int i = 0; i < 16; i++) {
		add_chunk(fixture, MEMORY_PAGE, true);
		entries[i] = i == 5 ? swapped : present;
	}
	finish(fixture);
	fixture->peek.pagemap = memfd_create("pagemap", MFD_CLOEXEC);
	assert_int_equal(pwrite(fixture->peek.pagemap, entries, sizeof(entries), offset),
			 sizeof(entries));
	assert_int_equal(heap_span_walk(&fixture->span, &fixture->peek), 0);
	assert_true(fixture->span.broken);
	assert_true(fixture->span.absent);
	assert_int_equal(fixture->span.chunks.count, 5);
	close(fixture->peek.pagemap);
	fixture->peek.pagemap = -1;
}

static void fence_posts_end_a_heap_that_is_used_no_more(void **state)
{
	struct fixture *fixture = *state;

	add_chunk(fixture, HEAP_BYTES - 32, true);
	finish(fixture);
	*word(fixture, fixture->at + 8) = 0x10 | 1;
	fixture->span.top = 0;
	assert_int_equal(walk(fixture), 2);
	assert_false(fixture->spans.list.items[0].broken);
}

/* Safe-linking: a stored pointer is mangled with its own address. */
static void link_mangled(struct fixture *fixture, uint64_t place, uint64_t target)
{
	*word(fixture, place) = target ^ place >> 12;
}

static bool has(const struct free_chunks *free_chunks, uint64_t chunk)
{
	for (size_t i = 0; i < free_chunks->list.count; i++) {
		if (free_chunks->list.items[i] == chunk)
			return true;
	}
	return false;
}

static void fast_bins_are_followed_mangled_or_not(void **state)
{
	struct fixture *fixture = *state;
	struct malloc_arenas arenas = {0};
	struct free_chunks free_chunks = {0};
	struct malloc_arena *arena = vec_push(&arenas.list);
	uint64_t chunks[4];

	for (size_t i = 0; i < 4; i++)
		chunks[i] = add_chunk(fixture, i < 2 ? 0x20 : 0x40, true);
	finish(fixture);
	walk(fixture);
	link_mangled(fixture, chunks[0] + 16, chunks[1]);
	link_mangled(fixture, chunks[1] + 16, 0);
	*word(fixture, chunks[2] + 16) = chunks[3];
	*word(fixture, chunks[3] + 16) = 0;
	arena->fastbins[0] = chunks[0];
	arena->fastbins[2] = chunks[2];
	peek_forget(&fixture->peek);
	assert_int_equal(
		free_lists_add_fastbins(&free_chunks, &fixture->peek, &arenas, &fixture->spans), 0);
	assert_int_equal(free_chunks.list.count, 4);
	assert_int_equal(free_chunks.broken, 0);
	for (size_t i = 0; i < 4; i++)
		assert_true(has(&free_chunks, chunks[i]));
	free_lists_free(&free_chunks);
	vec_free(&arenas.list);
}

static void a_fast_bin_that_leads_nowhere_is_counted_as_broken(void **state)
{
	struct fixture *fixture = *state;
	struct malloc_arenas arenas = {0};
	struct free_chunks free_chunks = {0};
	struct malloc_arena *arena = vec_push(&arenas.list);
	uint64_t chunk = add_chunk(fixture, 0x20, true);

	finish(fixture);
	walk(fixture);
	*word(fixture, chunk + 16) = 0x1234567890;
	arena->fastbins[0] = chunk;
	peek_forget(&fixture->peek);
	assert_int_equal(
		free_lists_add_fastbins(&free_chunks, &fixture->peek, &arenas, &fixture->spans), 0);
	assert_int_equal(free_chunks.broken, 1);
	free_lists_free(&free_chunks);
	vec_free(&arenas.list);
}

/* Chunks that point to each other; every bin of many arenas begins with them. */
static void fast_bins_that_loop_end(void **state)
{
	struct fixture *fixture = *state;
	struct malloc_arenas arenas = {0};
	struct free_chunks free_chunks = {0};
	uint64_t chunks[2] = {add_chunk(fixture, 0x20, true), add_chunk(fixture, 0x20, true)};

	finish(fixture);
	walk(fixture);
	link_mangled(fixture, chunks[0] + 16, chunks[1]);
	link_mangled(fixture, chunks[1] + 16, chunks[0]);
	for (size_t i = 0; i < 100; i++)
		((struct malloc_arena *)vec_push(&arenas.list))->fastbins[0] = chunks[i % 2];
	peek_forget(&fixture->peek);
	assert_int_equal(
		free_lists_add_fastbins(&free_chunks, &fixture->peek, &arenas, &fixture->spans), 0);
	assert_int_equal(free_chunks.broken, 100);
	assert_true(free_chunks.list.count <= free_chunks.most + 100);
	assert_true(free_chunks.most < 1000000);
	free_lists_free(&free_chunks);
	vec_free(&arenas.list);
}

/* counts, then entries, of a cache in the first chunk; one entry of 0x20 and two of 0x30 bytes. */
static void fill_cache(struct fixture *fixture, uint64_t cache, const uint64_t *chunks)
{
	uint16_t *counts = (uint16_t *)word(fixture, cache + 16);
	uint64_t *entries = word(fixture, cache + 16 + 128);

	counts[0] = 1;
	entries[0] = chunks[0] + 16;
	link_mangled(fixture, chunks[0] + 16, 0);
	counts[1] = 2;
	entries[1] = chunks[1] + 16;
	link_mangled(fixture, chunks[1] + 16, chunks[2] + 16);
	link_mangled(fixture, chunks[2] + 16, 0);
}

static void expect_cache(const struct free_chunks *free_chunks, uint64_t cache,
			 const uint64_t chunks[3])
{
	assert_int_equal(free_chunks->list.count, 4);
	assert_true(has(free_chunks, cache));
	for (size_t i = 0; i < 3; i++)
		assert_true(has(free_chunks, chunks[i]));
}

static void a_cache_is_found(struct fixture *fixture, bool first, uint64_t size)
{
	struct free_chunks by_thread = {0}, by_looks = {0};
	uint64_t thread_locals[4] = {0}, cache, chunks[3];
	/* Thread-locals are on one side of it. */
	uint64_t pointer = machine_abi.tls.is_variant_1
				   ? (uintptr_t)thread_locals - machine_abi.tls.head_bytes
				   : (uintptr_t)&thread_locals[4];

	if (!first)
		add_chunk(fixture, 0x40, true);
	cache = add_chunk(fixture, size, true);
	chunks[0] = add_chunk(fixture, 0x20, true);
	chunks[1] = add_chunk(fixture, 0x30, true);
	chunks[2] = add_chunk(fixture, 0x30, true);
	add_chunk(fixture, 0x50, true);
	finish(fixture);
	walk(fixture);
	fill_cache(fixture, cache, chunks);
	thread_locals[1] = cache + 16;
	peek_forget(&fixture->peek);
	assert_int_equal(free_lists_add_cache(&by_thread, &fixture->peek, pointer, &fixture->spans),
			 0);
	assert_int_equal(free_lists_add_all_caches(&by_looks, &fixture->peek, &fixture->spans), 0);
	expect_cache(&by_thread, cache, chunks);
	expect_cache(&by_looks, cache, chunks);
	free_lists_free(&by_thread);
	free_lists_free(&by_looks);
}

static void a_thread_cache_is_found_through_its_thread_and_so_are_its_chunks(void **state)
{
	a_cache_is_found(*state, true, 0x290);
}

/* In an arena left by another thread, no chunk is split for 16 bytes. */
static void a_thread_cache_in_a_chunk_that_was_free_before_is_found(void **state)
{
	a_cache_is_found(*state, false, 0x2a0);
}

static void a_cache_caught_between_linking_and_counting_is_still_read(void **state)
{
	struct fixture *fixture = *state;
	struct free_chunks free_chunks = {0};
	uint64_t cache, chunks[3];

	cache = add_chunk(fixture, 0x290, true);
	chunks[0] = add_chunk(fixture, 0x20, true);
	chunks[1] = add_chunk(fixture, 0x30, true);
	chunks[2] = add_chunk(fixture, 0x30, true);
	finish(fixture);
	walk(fixture);
	fill_cache(fixture, cache, chunks);
	((uint16_t *)word(fixture, cache + 16))[1] = 1;
	peek_forget(&fixture->peek);
	assert_int_equal(free_lists_add_all_caches(&free_chunks, &fixture->peek, &fixture->spans),
			 0);
	assert_int_equal(free_chunks.list.count, 4);
	free_lists_free(&free_chunks);
}

static void a_block_of_the_same_size_as_a_cache_stays_a_block(void **state)
{
	struct fixture *fixture = *state;
	struct free_chunks free_chunks = {0};
	uint64_t zeroed, filled;

	add_chunk(fixture, 0x20, true);
	zeroed = add_chunk(fixture, 0x290, true);
	filled = add_chunk(fixture, 0x290, true);
	*word(fixture, filled + 16 + 128) = zeroed;
	finish(fixture);
	walk(fixture);
	assert_int_equal(free_lists_add_all_caches(&free_chunks, &fixture->peek, &fixture->spans),
			 0);
	assert_int_equal(free_chunks.list.count, 0);
	free_lists_free(&free_chunks);
}

/* glibc 2.42 and 2.43: free slots, then entries; 76 bins, of which 12 for ranges of sizes. */
#define SLOT_BINS 76
#define SLOTS 16

static uint16_t *slots_of(struct fixture *fixture, uint64_t cache)
{
	return (uint16_t *)word(fixture, cache + 16);
}

static uint64_t *entries_of(struct fixture *fixture, uint64_t cache)
{
	return word(fixture, cache + 16 + 2 * SLOT_BINS);
}

static void make_slots(struct fixture *fixture, uint64_t cache)
{
	for (size_t i = 0; i < SLOT_BINS; i++)
		slots_of(fixture, cache)[i] = SLOTS;
}

/* The chunk becomes the first of its bin. */
static void cache_chunk(struct fixture *fixture, uint64_t cache, size_t bin, uint64_t chunk)
{
	uint64_t *entry = &entries_of(fixture, cache)[bin];

	link_mangled(fixture, chunk + 16, *entry);
	*entry = chunk + 16;
	slots_of(fixture, cache)[bin]--;
}

static void find_caches(struct fixture *fixture, struct free_chunks *free_chunks)
{
	peek_forget(&fixture->peek);
	assert_int_equal(free_lists_add_all_caches(free_chunks, &fixture->peek, &fixture->spans),
			 0);
}

static void a_cache_that_counts_free_slots_is_found(struct fixture *fixture, uint64_t size)
{
	struct free_chunks free_chunks = {0};
	uint64_t cache, chunks[5];

	add_chunk(fixture, 0x40, true);
	cache = add_chunk(fixture, size, true);
	chunks[0] = add_chunk(fixture, 0x20, true);
	chunks[1] = add_chunk(fixture, 0x410, true);
	chunks[2] = add_chunk(fixture, 0x410, true);
	chunks[3] = add_chunk(fixture, 0x430, true);
	chunks[4] = add_chunk(fixture, 0x7f0, true);
	add_chunk(fixture, 0x7f0, true);
	finish(fixture);
	walk(fixture);
	make_slots(fixture, cache);
	cache_chunk(fixture, cache, 0, chunks[0]);
	cache_chunk(fixture, cache, 63, chunks[1]);
	cache_chunk(fixture, cache, 63, chunks[2]);
	cache_chunk(fixture, cache, 64, chunks[4]);
	cache_chunk(fixture, cache, 64, chunks[3]);
	find_caches(fixture, &free_chunks);
	assert_int_equal(free_chunks.list.count, 6);
	assert_int_equal(free_chunks.broken, 0);
	assert_true(has(&free_chunks, cache));
	for (size_t i = 0; i < 5; i++)
		assert_true(has(&free_chunks, chunks[i]));
	free_lists_free(&free_chunks);
}

static void a_cache_of_free_slots_is_found_and_so_are_its_chunks(void **state)
{
	a_cache_that_counts_free_slots_is_found(*state, 0x300);
}

/* 2.43 rounds its size twice; and no chunk is split for 16 bytes. */
static void a_cache_of_free_slots_may_be_32_bytes_larger(void **state)
{
	a_cache_that_counts_free_slots_is_found(*state, 0x320);
}

static void an_empty_cache_of_free_slots_is_known_by_them(void **state)
{
	struct fixture *fixture = *state;
	struct free_chunks free_chunks = {0};
	uint64_t cache;

	add_chunk(fixture, 0x300, true);
	cache = add_chunk(fixture, 0x300, true);
	finish(fixture);
	walk(fixture);
	make_slots(fixture, cache);
	find_caches(fixture, &free_chunks);
	assert_int_equal(free_chunks.list.count, 1);
	assert_true(has(&free_chunks, cache));
	free_lists_free(&free_chunks);
}

static void a_cache_of_free_slots_caught_between_linking_and_counting_is_read(void **state)
{
	struct fixture *fixture = *state;
	struct free_chunks free_chunks = {0};
	uint64_t cache = add_chunk(fixture, 0x300, true), chunk = add_chunk(fixture, 0x20, true);

	finish(fixture);
	walk(fixture);
	make_slots(fixture, cache);
	cache_chunk(fixture, cache, 0, chunk);
	slots_of(fixture, cache)[0] = SLOTS;
	find_caches(fixture, &free_chunks);
	assert_int_equal(free_chunks.list.count, 2);
	free_lists_free(&free_chunks);
	/* But not so far apart. */
	slots_of(fixture, cache)[0] = SLOTS + 1;
	find_caches(fixture, &free_chunks);
	assert_int_equal(free_chunks.list.count, 0);
}

static void a_ring_in_a_cache_of_free_slots_ends(void **state)
{
	struct fixture *fixture = *state;
	struct free_chunks free_chunks = {0};
	uint64_t cache = add_chunk(fixture, 0x300, true), chunk = add_chunk(fixture, 0x20, true);

	finish(fixture);
	walk(fixture);
	make_slots(fixture, cache);
	cache_chunk(fixture, cache, 0, chunk);
	link_mangled(fixture, chunk + 16, chunk + 16);
	find_caches(fixture, &free_chunks);
	assert_int_equal(free_chunks.list.count, 0);
}

/* It was made at the first free(): a zeroed block can come before it. */
static void a_zeroed_first_block_is_no_cache_where_caches_are_late(void **state)
{
	struct fixture *fixture = *state;
	struct free_chunks free_chunks = {0};

	add_chunk(fixture, 0x290, true);
	add_chunk(fixture, 0x40, true);
	finish(fixture);
	walk(fixture);
	find_caches(fixture, &free_chunks);
	assert_int_equal(free_chunks.list.count, 1);
	free_lists_free(&free_chunks);
	fixture->spans.list.items[0].caches_are_late = true;
	find_caches(fixture, &free_chunks);
	assert_int_equal(free_chunks.list.count, 0);
}

/* glibc.malloc.tcache_max of 2.43 can be above the size from which on blocks are mapped. */
static void a_cached_block_with_a_mapping_of_its_own_counts_as_not_known(void **state)
{
	static uint64_t mapped[4] __attribute__((aligned(16)));
	struct fixture *fixture = *state;
	struct free_chunks free_chunks = {0};
	uint64_t cache = add_chunk(fixture, 0x300, true), chunk = add_chunk(fixture, 0x20, true);
	size_t bin = 64 + 7; /* 128 to 256 KiB */

	finish(fixture);
	walk(fixture);
	make_slots(fixture, cache);
	cache_chunk(fixture, cache, 0, chunk);
	mapped[1] = 0x21ff0 | 2;
	mapped[2] = (uintptr_t)&mapped[2] >> 12;
	entries_of(fixture, cache)[bin] = (uintptr_t)&mapped[2];
	slots_of(fixture, cache)[bin]--;
	find_caches(fixture, &free_chunks);
	assert_int_equal(free_chunks.list.count, 2);
	assert_int_equal(free_chunks.broken, 1);
	free_lists_free(&free_chunks);
	mapped[1] = 0x11ff0 | 2;
	find_caches(fixture, &free_chunks);
	assert_int_equal(free_chunks.list.count, 0);
}

int main(void)
{
#define WITH_HEAP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_HEAP(free_chunks_of_a_threads_heap_are_not_marked_as_one),
		WITH_HEAP(a_walk_fed_in_windows_is_the_same_walk),
		WITH_HEAP(a_broken_heap_ends_the_walk_at_the_broken_chunk),
		WITH_HEAP(a_page_given_back_under_the_walk_does_not_count_as_swapped_out),
		WITH_HEAP(a_page_in_swap_ends_the_walk_for_good),
		WITH_HEAP(fence_posts_end_a_heap_that_is_used_no_more),
		WITH_HEAP(fast_bins_are_followed_mangled_or_not),
		WITH_HEAP(a_fast_bin_that_leads_nowhere_is_counted_as_broken),
		WITH_HEAP(fast_bins_that_loop_end),
		WITH_HEAP(a_thread_cache_is_found_through_its_thread_and_so_are_its_chunks),
		WITH_HEAP(a_thread_cache_in_a_chunk_that_was_free_before_is_found),
		WITH_HEAP(a_cache_caught_between_linking_and_counting_is_still_read),
		WITH_HEAP(a_block_of_the_same_size_as_a_cache_stays_a_block),
		WITH_HEAP(a_cache_of_free_slots_is_found_and_so_are_its_chunks),
		WITH_HEAP(a_cache_of_free_slots_may_be_32_bytes_larger),
		WITH_HEAP(an_empty_cache_of_free_slots_is_known_by_them),
		WITH_HEAP(a_cache_of_free_slots_caught_between_linking_and_counting_is_read),
		WITH_HEAP(a_ring_in_a_cache_of_free_slots_ends),
		WITH_HEAP(a_zeroed_first_block_is_no_cache_where_caches_are_late),
		WITH_HEAP(a_cached_block_with_a_mapping_of_its_own_counts_as_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
