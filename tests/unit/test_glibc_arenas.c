// SPDX-License-Identifier: GPL-2.0-or-later
/* Handmade arenas in this process: true ones are found, lookalikes are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "heap/allocators/glibc_walk.h"
#include "heap/allocators/glibc_arenas.h"

#define TOP 96
#define BINS 112
#define NEXT 2160
#define SYSTEM_MEM 2184
#define STATE_BYTES 2200
/* A separate arena is in its first heap, after the heap's description. */
#define HEAP_INFO_BYTES 0x30

struct fixture {
	uint64_t data[2048] __attribute__((aligned(16))); /* of a module */
	uint64_t *heaps; /* two of MALLOC_HEAP_BYTES, aligned to that */
	void *mapped;
	struct filter filter;
	struct peek peek;
};

static uint64_t *at(uint64_t address)
{
	return (uint64_t *)(uintptr_t)address;
}

static uint64_t data_start(const struct fixture *fixture)
{
	return (uintptr_t)fixture->data;
}

static uint64_t heap_start(const struct fixture *fixture)
{
	return (uintptr_t)fixture->heaps;
}

static int setup(void **state)
{
	struct fixture *fixture = aligned_alloc(16, (sizeof(*fixture) + 15) / 16 * 16);
	uint64_t start;

	memset(fixture, 0, sizeof(*fixture));
	fixture->mapped = mmap(NULL, 3 * MALLOC_HEAP_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	start = ((uintptr_t)fixture->mapped + MALLOC_HEAP_BYTES - 1) & ~(MALLOC_HEAP_BYTES - 1);
	fixture->heaps = (uint64_t *)(uintptr_t)start;
	fixture->peek = (struct peek){.source = live_memory(getpid()), .pagemap = -1};
	peek_forget(&fixture->peek);
	*state = fixture;
	return fixture->mapped == MAP_FAILED ||
	       filter_add(&fixture->filter, start, start + 2 * MALLOC_HEAP_BYTES) ||
	       filter_finish(&fixture->filter);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	peek_free(&fixture->peek);
	filter_free(&fixture->filter);
	munmap(fixture->mapped, 3 * MALLOC_HEAP_BYTES);
	free(fixture);
	return 0;
}

static void make_state(uint64_t address, uint64_t top, uint64_t next)
{
	for (uint64_t i = 0; i < MALLOC_BINS - 1; i++) {
		*at(address + BINS + i * 16) = address + BINS + i * 16 - 16;
		*at(address + BINS + i * 16 + 8) = address + BINS + i * 16 - 16;
	}
	*at(address + TOP) = top;
	*at(address + NEXT) = next;
	*at(address + SYSTEM_MEM) = 0x21000;
	*at(address + SYSTEM_MEM + 8) = 0x21000;
}

static int try_to_find(struct fixture *fixture, struct malloc_arenas *arenas)
{
	peek_forget(&fixture->peek);
	return malloc_arenas_find(&fixture->peek, &fixture->filter, data_start(fixture),
				  data_start(fixture) + sizeof(fixture->data), arenas);
}

static size_t find(struct fixture *fixture, struct malloc_arenas *arenas)
{
	assert_int_equal(try_to_find(fixture, arenas), 0);
	return arenas->list.count;
}

static void a_ring_of_arenas_is_found_through_the_one_in_the_data(void **state)
{
	struct fixture *fixture = *state;
	struct malloc_arenas arenas = {0};
	uint64_t main_arena = data_start(fixture) + 800;
	uint64_t other = heap_start(fixture) + HEAP_INFO_BYTES;

	make_state(main_arena, heap_start(fixture) + 0x100000, other);
	make_state(other, heap_start(fixture) + 0x2000, main_arena);
	assert_int_equal(find(fixture, &arenas), 2);
	assert_int_equal(arenas.list.items[0].address, main_arena);
	assert_true(arenas.list.items[0].main);
	assert_int_equal(arenas.list.items[1].address, other);
	assert_false(arenas.list.items[1].main);
	assert_int_equal(arenas.list.items[1].top, heap_start(fixture) + 0x2000);
	vec_free(&arenas.list);
}

#define MANY_ARENAS (8 * 512 + 1)

struct damage {
	const char *what;
	uint64_t offset, value;
	const char *fault;
};

static void what_contradicts_itself_anywhere_is_no_arena(void **state)
{
	static const char bin[] = "a bin leads out of anonymous memory";
	static const struct damage damages[] = {
		{"a bin with no pointer", BINS + 70 * 16, 0, bin},
		{"a bin that points outside all heaps", BINS + 8, 0x1234, bin},
		{"a top outside all heaps", TOP, 0x400000,
		 "its top chunk is not in anonymous memory"},
		{"a ring that does not close", NEXT, 0x400000,
		 "the ring of arenas that it leads to does not close"},
		{"more memory than ever", SYSTEM_MEM, 0x42000, "its sizes contradict each other"},
		{"a lock that is none", 0, 77, NULL},
	};
	struct fixture *fixture = *state;
	uint64_t arena = data_start(fixture) + 1600;

	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		struct malloc_arenas arenas = {0};

		memset(fixture->data, 0, sizeof(fixture->data));
		make_state(arena, heap_start(fixture) + 0x1000, arena);
		assert_int_equal(find(fixture, &arenas), 1);
		vec_free(&arenas.list);
		arenas = (struct malloc_arenas){0};
		*at(arena + damages[i].offset) = damages[i].value;
		/* It still resembles an arena, and may become one. */
		if (try_to_find(fixture, &arenas) != -EAGAIN || arenas.list.count ||
		    (damages[i].fault &&
		     (arenas.faulty != arena || strcmp(arenas.fault, damages[i].fault) != 0)))
			fail_msg("%s: %s", damages[i].what, arenas.fault ? arenas.fault : "found");
		vec_free(&arenas.list);
	}
}

static void heaps_of_an_arena_are_followed_from_its_top_back(void **state)
{
	struct fixture *fixture = *state;
	struct malloc_arenas arenas = {0};
	struct heap_spans spans = {0};
	struct maps maps = {0};
	uint64_t first = heap_start(fixture), second = first + MALLOC_HEAP_BYTES;
	uint64_t arena = first + HEAP_INFO_BYTES, main_arena = data_start(fixture);

	make_state(main_arena, main_arena + TOP, arena);
	*at(main_arena + SYSTEM_MEM) = 0;
	make_state(arena, second + 0x4000, main_arena);
	memcpy(at(first), (uint64_t[]){arena, 0, 0x21000}, 24);
	memcpy(at(second), (uint64_t[]){arena, first, 0x9000}, 24);
	assert_int_equal(find(fixture, &arenas), 2);
	assert_int_equal(heap_spans_find(&fixture->peek, &arenas, &maps, 0, &spans), 0);
	assert_int_equal(spans.list.count, 2);
	assert_int_equal(spans.list.items[0].start, (arena + STATE_BYTES + 15) & ~15ull);
	assert_int_equal(spans.list.items[0].end, first + 0x21000);
	assert_int_equal(spans.list.items[0].top, 0);
	assert_int_equal(spans.list.items[1].start, second + HEAP_INFO_BYTES);
	assert_int_equal(spans.list.items[1].top, second + 0x4000);
	heap_spans_free(&spans);

	*at(first + 8) = second;
	peek_forget(&fixture->peek);
	assert_int_equal(heap_spans_find(&fixture->peek, &arenas, &maps, 0, &spans), 0);
	assert_int_equal(spans.list.count, 2);
	assert_int_not_equal(spans.lost, 0);
	heap_spans_free(&spans);

	*at(second) = 0;
	peek_forget(&fixture->peek);
	assert_int_equal(heap_spans_find(&fixture->peek, &arenas, &maps, 0, &spans), 0);
	assert_int_equal(spans.list.count, 0);
	assert_int_equal(spans.lost, second);
	heap_spans_free(&spans);
	vec_free(&arenas.list);
}

/* Between the two pointers of a bin, a thread can be stopped. */
static void an_arena_with_a_bin_being_filled_is_one(void **state)
{
	struct fixture *fixture = *state;
	struct malloc_arenas arenas = {0};
	uint64_t arena = data_start(fixture);

	make_state(arena, heap_start(fixture) + 0x1000, arena);
	*at(arena + BINS + 70 * 16 + 8) = heap_start(fixture) + 0x200;
	assert_int_equal(find(fixture, &arenas), 1);
	vec_free(&arenas.list);
}

static void data_without_an_arena_is_looked_at_once(void **state)
{
	struct fixture *fixture = *state;
	struct malloc_arenas arenas = {0};

	for (size_t i = 0; i < ARRAY_SIZE(fixture->data); i++)
		fixture->data[i] = data_start(fixture) + i % 7 * 8;
	assert_int_equal(try_to_find(fixture, &arenas), 0);
	assert_int_equal(arenas.list.count, 0);
}

/* Lists that are empty point to themselves in any program; Python's allocator has 32 in a row. */
static void a_table_of_empty_lists_is_no_arena_at_work(void **state)
{
	struct fixture *fixture = *state;
	struct malloc_arenas arenas = {0};
	uint64_t table = data_start(fixture) + 160;

	memset(fixture->data, 0, sizeof(fixture->data));
	for (uint64_t i = 0; i < 32; i++) {
		*at(table + i * 16) = table + i * 16 - 16;
		*at(table + i * 16 + 8) = table + i * 16 - 16;
	}
	*at(table - BINS + NEXT) = heap_start(fixture);
	assert_int_equal(find(fixture, &arenas), 0);
}

/* Slots of 16 bytes, freed one after the other: each leads to the one before. */
static void a_list_of_free_slots_is_no_arena_at_work(void **state)
{
	struct fixture *fixture = *state;
	struct malloc_arenas arenas = {0};

	for (uint64_t i = 1; i < ARRAY_SIZE(fixture->data) / 2; i++)
		fixture->data[2 * i] = data_start(fixture) + i * 16 - 16;
	assert_int_equal(find(fixture, &arenas), 0);
}

/* It follows a module's data without a gap, and leads to the main arena in another one's. */
static void the_arena_of_a_thread_is_not_taken_for_the_main_one(void **state)
{
	struct fixture *fixture = *state;
	uint64_t heap = heap_start(fixture), arena = heap + HEAP_INFO_BYTES;
	uint64_t main_arena = data_start(fixture) + 800;
	struct malloc_arenas arenas = {0};

	*at(heap) = arena;
	make_state(arena, heap + 0x2000, main_arena);
	make_state(main_arena, heap + 0x100000, arena);
	assert_int_equal(
		malloc_arenas_find(&fixture->peek, &fixture->filter, heap, heap + 4096, &arenas),
		0);
	assert_int_equal(arenas.list.count, 0);
	assert_int_equal(find(fixture, &arenas), 2);
	assert_int_equal(arenas.list.items[0].address, main_arena);
	vec_free(&arenas.list);
}

/* sbrk(2) by somebody else moved the break by a few bytes, and malloc counts them. */
static void the_sum_of_an_arena_may_be_any(void **state)
{
	struct fixture *fixture = *state;
	struct malloc_arenas arenas = {0};
	uint64_t arena = data_start(fixture) + 800;

	make_state(arena, heap_start(fixture) + 0x1000, arena);
	*at(arena + SYSTEM_MEM) = 0x20ff8;
	assert_int_equal(find(fixture, &arenas), 1);
	vec_free(&arenas.list);
}

/* GLIBC_TUNABLES=glibc.malloc.hugetlb=2, with pages of 2 MiB. */
static void heaps_of_huge_pages_start_at_multiples_of_four_of_them(void **state)
{
	struct fixture *fixture = *state;
	struct malloc_arenas arenas = {0};
	struct heap_spans spans = {0};
	struct maps maps = {0};
	uint64_t first = heap_start(fixture) + (8 << 20), second = first + (16 << 20);
	uint64_t arena = first + HEAP_INFO_BYTES, main_arena = data_start(fixture);

	make_state(main_arena, main_arena + TOP, arena);
	*at(main_arena + SYSTEM_MEM) = 0;
	make_state(arena, second + 0x4000, main_arena);
	memcpy(at(first), (uint64_t[]){arena, 0, 0x21000}, 24);
	memcpy(at(second), (uint64_t[]){arena, first, 0x9000}, 24);
	assert_int_equal(find(fixture, &arenas), 2);
	assert_int_equal(heap_spans_find(&fixture->peek, &arenas, &maps, 0, &spans), 0);
	assert_int_equal(spans.lost, 0);
	assert_int_equal(spans.list.count, 2);
	assert_int_equal(spans.list.items[0].end, first + 0x21000);
	assert_int_equal(spans.list.items[1].end, second + 0x9000);
	heap_spans_free(&spans);
	vec_free(&arenas.list);
}

/* glibc 2.43: without fast bins, and so with all fields elsewhere. */
#define TOP_243 8
#define BINS_243 24
#define NEXT_243 2072
#define SYSTEM_MEM_243 2096
#define STATE_BYTES_243 2112

static void make_state_243(uint64_t address, uint64_t top, uint64_t next)
{
	for (uint64_t i = 0; i < MALLOC_BINS - 1; i++) {
		*at(address + BINS_243 + i * 16) = address + BINS_243 + i * 16 - 16;
		*at(address + BINS_243 + i * 16 + 8) = address + BINS_243 + i * 16 - 16;
	}
	*at(address + TOP_243) = top;
	*at(address + NEXT_243) = next;
	*at(address + SYSTEM_MEM_243) = 0x21000;
	*at(address + SYSTEM_MEM_243 + 8) = 0x22000;
}

static void arenas_without_fast_bins_are_found_up_to_the_end_of_the_data(void **state)
{
	struct fixture *fixture = *state;
	struct malloc_arenas arenas = {0};
	struct heap_spans spans = {0};
	struct maps maps = {0};
	uint64_t main_arena = data_start(fixture) + sizeof(fixture->data) - STATE_BYTES_243;
	uint64_t first = heap_start(fixture), other = first + HEAP_INFO_BYTES;

	make_state_243(main_arena, main_arena + TOP_243, other);
	*at(main_arena + SYSTEM_MEM_243) = 0;
	make_state_243(other, first + 0x2000, main_arena);
	memcpy(at(first), (uint64_t[]){other, 0, 0x21000}, 24);
	assert_int_equal(find(fixture, &arenas), 2);
	assert_string_equal(arenas.list.items[0].layout->versions, "glibc 2.43");
	assert_int_equal(arenas.list.items[0].address, main_arena);
	assert_int_equal(arenas.list.items[1].address, other);
	assert_int_equal(arenas.list.items[1].top, first + 0x2000);
	assert_int_equal(arenas.list.items[1].system_mem, 0x21000);
	for (size_t i = 0; i < MALLOC_FASTBINS; i++)
		assert_int_equal(arenas.list.items[1].fastbins[i], 0);
	assert_int_equal(heap_spans_find(&fixture->peek, &arenas, &maps, 0, &spans), 0);
	assert_int_equal(spans.list.count, 1);
	assert_int_equal(spans.list.items[0].start, other + STATE_BYTES_243);
	assert_true(spans.list.items[0].caches_are_late);
	heap_spans_free(&spans);
	*at(other + NEXT_243) = other;
	peek_forget(&fixture->peek);
	assert_int_equal(malloc_arenas_refresh(&fixture->peek, &fixture->filter, &arenas),
			 -EBADMSG);
	vec_free(&arenas.list);
}

/* From its top on, an arena with empty fast bins is one without them, but for the ring. */
static void an_arena_with_fast_bins_is_not_one_without_88_bytes_into_it(void **state)
{
	struct fixture *fixture = *state;
	struct malloc_arenas arenas = {0};
	uint64_t arena = data_start(fixture) + 800;

	make_state(arena, heap_start(fixture) + 0x1000, arena);
	assert_int_equal(find(fixture, &arenas), 1);
	assert_int_equal(arenas.list.items[0].address, arena);
	assert_string_equal(arenas.list.items[0].layout->versions, "glibc 2.27 to 2.42");
	vec_free(&arenas.list);
}

/* struct malloc_par from mmapped_mem on. */
static void where_the_heap_begins_is_found_by_what_stands_around_it(void **state)
{
	struct fixture *fixture = *state;
	uint64_t start = data_start(fixture), end = start + 4096, heap = heap_start(fixture);
	struct malloc_par_tail tail = {0};
	uint64_t *par = &fixture->data[12];

	memcpy(par, (uint64_t[]){0x63000, 0x90000, heap, 64, 1032, 7}, 48);
	assert_int_equal(malloc_par_find(&fixture->peek, &fixture->filter, start, end, &tail), 0);
	assert_int_equal(tail.heap_start, heap);
	assert_int_equal(tail.mapped_bytes, 0x63000);
	/* In the form of 2.43: mremap(2) has left 16 bytes. */
	memcpy(par, (uint64_t[]){0x63010, 0x90000, heap, 64, 1041, 16}, 48);
	peek_forget(&fixture->peek);
	assert_int_equal(malloc_par_find(&fixture->peek, &fixture->filter, start, end, &tail), 0);
	assert_int_equal(tail.mapped_bytes, 0x63010);
	assert_int_equal(tail.cache_count, 16);
	par[0] = 0x91000;
	peek_forget(&fixture->peek);
	assert_int_equal(malloc_par_find(&fixture->peek, &fixture->filter, start, end, &tail),
			 -ENOENT);
	par[0] = 0x63000;
	par[2] = 0x555500000000;
	peek_forget(&fixture->peek);
	assert_int_equal(malloc_par_find(&fixture->peek, &fixture->filter, start, end, &tail),
			 -ENOENT);
}

/* In data that are made for it. */
static size_t find_in(struct fixture *fixture, uint64_t start, uint64_t end)
{
	struct malloc_arenas arenas = {0};
	size_t count;

	peek_forget(&fixture->peek);
	assert_int_equal(malloc_arenas_find(&fixture->peek, &fixture->filter, start, end, &arenas),
			 0);
	count = arenas.list.count;
	vec_free(&arenas.list);
	return count;
}

static void data_full_of_arenas_has_no_more_than_a_process_can(void **state)
{
	struct fixture *fixture = *state;
	uint64_t start = heap_start(fixture) + MALLOC_HEAP_BYTES, count = MALLOC_MAX_ARENAS + 10;

	for (uint64_t i = 0; i < count; i++)
		make_state(start + i * STATE_BYTES, heap_start(fixture), start + i * STATE_BYTES);
	assert_int_equal(find_in(fixture, start, start + count * STATE_BYTES), MALLOC_MAX_ARENAS);
}

/* Eight for each CPU, and the main one. */
static void the_arenas_of_512_cpus_and_more_are_found(void **state)
{
	struct fixture *fixture = *state;
	uint64_t others = heap_start(fixture), main_arena = others + MALLOC_HEAP_BYTES;

	for (uint64_t i = 0; i < MANY_ARENAS - 1; i++)
		make_state(others + i * STATE_BYTES, others,
			   i + 2 == MANY_ARENAS ? main_arena : others + (i + 1) * STATE_BYTES);
	make_state(main_arena, others, others);
	assert_int_equal(find_in(fixture, main_arena, main_arena + STATE_BYTES), MANY_ARENAS);
}

/* Each would be followed again, up to the maximum length of a ring. */
static void ways_that_lead_into_another_ring_are_given_up(void **state)
{
	struct fixture *fixture = *state;
	uint64_t chain = heap_start(fixture), data = chain + MALLOC_HEAP_BYTES, end;

	for (uint64_t i = 0; i < MALLOC_MAX_ARENAS; i++)
		make_state(chain + i * STATE_BYTES, chain, chain + (i + 1) * STATE_BYTES);
	make_state(data, chain, data);
	for (uint64_t i = 1; i <= 16; i++)
		make_state(data + i * STATE_BYTES, chain, chain);
	end = data + 18 * STATE_BYTES;
	make_state(end - STATE_BYTES, chain, end - STATE_BYTES);
	assert_int_equal(find_in(fixture, data, end), 1);
	/* Behind fewer such states, the arena is found. */
	assert_int_equal(find_in(fixture, data + 2 * STATE_BYTES, end), 1);
	assert_int_equal(find_in(fixture, data, end - 2 * STATE_BYTES), 1);
}

int main(void)
{
#define WITH_MEMORY(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_MEMORY(a_ring_of_arenas_is_found_through_the_one_in_the_data),
		WITH_MEMORY(what_contradicts_itself_anywhere_is_no_arena),
		WITH_MEMORY(heaps_of_an_arena_are_followed_from_its_top_back),
		WITH_MEMORY(an_arena_with_a_bin_being_filled_is_one),
		WITH_MEMORY(data_without_an_arena_is_looked_at_once),
		WITH_MEMORY(a_table_of_empty_lists_is_no_arena_at_work),
		WITH_MEMORY(a_list_of_free_slots_is_no_arena_at_work),
		WITH_MEMORY(the_arena_of_a_thread_is_not_taken_for_the_main_one),
		WITH_MEMORY(the_sum_of_an_arena_may_be_any),
		WITH_MEMORY(heaps_of_huge_pages_start_at_multiples_of_four_of_them),
		WITH_MEMORY(arenas_without_fast_bins_are_found_up_to_the_end_of_the_data),
		WITH_MEMORY(an_arena_with_fast_bins_is_not_one_without_88_bytes_into_it),
		WITH_MEMORY(where_the_heap_begins_is_found_by_what_stands_around_it),
		WITH_MEMORY(data_full_of_arenas_has_no_more_than_a_process_can),
		WITH_MEMORY(the_arenas_of_512_cpus_and_more_are_found),
		WITH_MEMORY(ways_that_lead_into_another_ring_are_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
