// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks of the memory of a process: our own, which is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/profile/look.h"
#include "base/cleanup.h"

#define PAGE 4096u

static unsigned char *map_pages(size_t count)
{
	void *pages = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	assert_true(pages != MAP_FAILED);
	return pages;
}

static struct look_result look_once(const struct look *look, const void *address, size_t size)
{
	struct look_request request = {.address = (uint64_t)(uintptr_t)address, .size = size};
	struct look_result result;

	assert_int_equal(look_at(look, getpid(), &request, 1, &result), 0);
	return result;
}

/* The paper's appendix A. */
static void siphash_gives_the_papers_value(void **state)
{
	const struct siphash_key key = {{0x0706050403020100u, 0x0f0e0d0c0b0a0908u}};
	unsigned char data[15];

	(void)state;
	for (unsigned char i = 0; i < sizeof(data); i++)
		data[i] = i;
	assert_true(siphash(&key, data, sizeof(data)) == 0xa129ca6149be45e5u);
}

static void what_changes_is_seen_and_what_does_not_is_the_same(void **state)
{
	unsigned char *page = map_pages(1);
	struct look look;
	struct look_result before, after;

	(void)state;
	assert_int_equal(look_open(&look), 0);
	memcpy(page + 16, "some contents", 13);
	before = look_once(&look, page + 16, 40);
	after = look_once(&look, page + 16, 40);
	assert_int_equal(before.state, LOOK_READ);
	assert_true(before.hash == after.hash && !before.uniform);
	page[16 + 40] = 1; /* after it */
	assert_true(look_once(&look, page + 16, 40).hash == before.hash);
	page[16 + 39] = 1; /* its last byte */
	assert_true(look_once(&look, page + 16, 40).hash != before.hash);
	munmap(page, PAGE);
}

static void another_run_has_another_key(void **state)
{
	unsigned char *page = map_pages(1);
	struct look one, other;

	(void)state;
	memcpy(page, "the same contents", 17);
	assert_int_equal(look_open(&one), 0);
	assert_int_equal(look_open(&other), 0);
	assert_true(look_once(&one, page, 17).hash != look_once(&other, page, 17).hash);
	munmap(page, PAGE);
}

static void blocks_of_equal_bytes_are_detected(void **state)
{
	unsigned char *page = map_pages(1);
	struct look look;

	(void)state;
	assert_int_equal(look_open(&look), 0);
	page[PAGE - 1] = 1; /* there, but zero in the checked part */
	assert_true(look_once(&look, page, 100).uniform);
	memset(page, 7, 64);
	assert_true(look_once(&look, page, 100).uniform);
	page[63] = 8;
	assert_false(look_once(&look, page, 100).uniform);
	munmap(page, PAGE);
}

/* Only the first 64 bytes count, also across a page's end. */
static void blocks_may_lie_across_pages(void **state)
{
	unsigned char *pages = map_pages(2);
	struct look look;
	struct look_result before;

	(void)state;
	assert_int_equal(look_open(&look), 0);
	memset(pages, 1, 2 * PAGE);
	before = look_once(&look, pages + PAGE - 10, 1000);
	assert_int_equal(before.state, LOOK_READ);
	pages[PAGE + 54] = 2;
	assert_true(look_once(&look, pages + PAGE - 10, 1000).hash == before.hash);
	pages[PAGE + 53] = 2;
	assert_true(look_once(&look, pages + PAGE - 10, 1000).hash != before.hash);
	munmap(pages, 2 * PAGE);
}

static void absent_pages_stay_absent(void **state)
{
	unsigned char *pages = map_pages(8), present[8];
	struct look look;

	(void)state;
	assert_int_equal(look_open(&look), 0);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(look_once(&look, pages + i * PAGE + 100, 64).state, LOOK_ABSENT);
	assert_int_equal(mincore(pages, 8 * PAGE, present), 0);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(present[i] & 1, 0);
	munmap(pages, 8 * PAGE);
	assert_int_equal(look_once(&look, pages, 64).state, LOOK_UNMAPPED);
}

/* More than one batch, with holes in it. */
static void holes_among_many_blocks_are_found(void **state)
{
	enum { BLOCKS = 3000 };
	unsigned char *pages = map_pages(BLOCKS);
	struct look_request *requests = calloc(BLOCKS, sizeof(*requests));
	struct look_result *results = calloc(BLOCKS, sizeof(*results));
	struct look look;

	(void)state;
	assert_true(requests && results);
	assert_int_equal(look_open(&look), 0);
	for (size_t i = 0; i < BLOCKS; i++) {
		memcpy(pages + i * PAGE, &i, sizeof(i));
		requests[i] = (struct look_request){
			.address = (uint64_t)(uintptr_t)(pages + i * PAGE), .size = 8};
	}
	for (size_t i = 0; i < BLOCKS; i += 7)
		munmap(pages + i * PAGE, PAGE);
	assert_int_equal(look_at(&look, getpid(), requests, BLOCKS, results), 0);
	for (size_t i = 0; i < BLOCKS; i++) {
		assert_int_equal(results[i].state, i % 7 ? LOOK_READ : LOOK_UNMAPPED);
		if (i % 7)
			assert_true(results[i].hash == siphash(&look.key, &i, sizeof(i)));
	}
	for (size_t i = 0; i < BLOCKS; i++)
		munmap(pages + i * PAGE, PAGE);
	free(requests);
	free(results);
}

static void a_process_that_is_gone_is_gone(void **state)
{
	struct look_request request = {.address = 0x1000, .size = 8};
	struct look_result result;
	struct look look;
	pid_t child = fork();

	(void)state;
	if (!child)
		_exit(0);
	assert_true(child > 0 && waitpid(child, NULL, 0) == child);
	assert_int_equal(look_open(&look), 0);
	assert_int_equal(look_at(&look, child, &request, 1, &result), -ESRCH);
}

/* Its blocks are not dead, the process is: without a wait, it is still there. */
static void a_process_that_is_killed_yields_nothing_more(void **state)
{
	unsigned char *page = map_pages(1);
	struct look_request request = {.address = (uint64_t)(uintptr_t)page, .size = 8};
	struct look_result result;
	struct look look;
	siginfo_t end;
	pid_t child;

	(void)state;
	page[0] = 1;
	child = fork();
	while (!child)
		pause();
	assert_int_equal(look_open(&look), 0);
	assert_int_equal(look_at(&look, child, &request, 1, &result), 0);
	assert_int_equal(result.state, LOOK_READ);
	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0);
	assert_int_equal(look_at(&look, child, &request, 1, &result), -ESRCH);
	waitpid(child, NULL, 0);
	munmap(page, PAGE);
}

/* -------- glibc's chunks: memory that is cut as its malloc cuts it, by hand */

#define CHUNKS 64
#define CHUNK 112u

struct heap {
	unsigned char *pages;
	struct look look;
};

/* The block of a chunk. */
static uint64_t *block_at(const struct heap *heap, size_t chunk)
{
	return (uint64_t *)(void *)(heap->pages + 16 + chunk * CHUNK);
}

/* All are in use. */
static void heap_begin(struct heap *heap)
{
	heap->pages = map_pages(2);
	assert_int_equal(look_open(&heap->look), 0);
	for (size_t i = 0; i < CHUNKS; i++) {
		memset(block_at(heap, i), (int)i + 1, 100);
		block_at(heap, i)[-1] = CHUNK | 1;
	}
}

static struct look_result look_for(const struct heap *heap, size_t chunk, size_t size,
				   uint32_t known)
{
	struct look_request request = {.address = (uint64_t)(uintptr_t)block_at(heap, chunk),
				       .size = size,
				       .find_chunk = !known,
				       .chunk = known};
	struct look_result result;

	assert_int_equal(look_at(&heap->look, getpid(), &request, 1, &result), 0);
	return result;
}

static bool is_freed(const struct heap *heap, size_t chunk)
{
	return look_for(heap, chunk, 100, CHUNK).freed;
}

/* 104 bytes are the most that fit; from 73 on it may be cut so, with a rest that is too small. */
static void chunks_are_known_by_the_size_before_them(void **state)
{
	struct heap heap;

	(void)state;
	heap_begin(&heap);
	assert_int_equal(look_for(&heap, 5, 100, 0).chunk, CHUNK);
	assert_int_equal(look_for(&heap, 5, 104, 0).chunk, CHUNK);
	assert_int_equal(look_for(&heap, 5, 105, 0).chunk, 0);
	assert_int_equal(look_for(&heap, 5, 73, 0).chunk, CHUNK);
	assert_int_equal(look_for(&heap, 5, 72, 0).chunk, 0);
	block_at(&heap, 5)[-1] = CHUNK | 5; /* in a thread's arena */
	assert_int_equal(look_for(&heap, 5, 100, 0).chunk, CHUNK);
	block_at(&heap, 5)[-1] = CHUNK | 2; /* mapped separately: nothing follows it */
	assert_int_equal(look_for(&heap, 5, 100, 0).chunk, 0);
	munmap(heap.pages, 2 * PAGE);
}

/* Also at a page's end, and while neighbours are allocated and freed. */
static void blocks_in_use_are_not_free(void **state)
{
	struct heap heap;

	(void)state;
	heap_begin(&heap);
	for (size_t i = 0; i + 1 < CHUNKS; i++)
		assert_false(is_freed(&heap, i));
	block_at(&heap, 7)[-1] = CHUNK; /* the one before it is free */
	block_at(&heap, 8)[-1] = 48 | 1;
	assert_false(is_freed(&heap, 7));
	memset(block_at(&heap, 9), 0, 100); /* written to */
	assert_false(is_freed(&heap, 9));
	munmap(heap.pages, 2 * PAGE);
}

/* Merged with a free chunk before it, a block is unchanged; only the next chunk shows it. */
static void a_free_block_that_stays_as_it_was_is_detected(void **state)
{
	struct look_result before, after;
	struct heap heap;

	(void)state;
	heap_begin(&heap);
	before = look_for(&heap, 3, 100, CHUNK);
	block_at(&heap, 4)[-1] = CHUNK;
	after = look_for(&heap, 3, 100, CHUNK);
	assert_true(!before.freed && after.freed && before.hash == after.hash);
	munmap(heap.pages, 2 * PAGE);
}

static void memory_that_is_cut_in_another_way_held_another_block(void **state)
{
	struct heap heap;

	(void)state;
	heap_begin(&heap);
	block_at(&heap, 3)[-1] = 2 * CHUNK | 1;
	assert_true(is_freed(&heap, 3));
	block_at(&heap, 3)[-1] = 0x4142434445464748; /* it is inside a chunk by now */
	assert_true(is_freed(&heap, 3));
	munmap(heap.pages, 2 * PAGE);
}

static void link_to(const struct heap *heap, size_t from, const void *to)
{
	block_at(heap, from)[0] = (uint64_t)(uintptr_t)to ^ (uintptr_t)block_at(heap, from) >> 12;
}

/* 10 -> 20 -> 30, like a thread's cache: each with the key after the link. */
static void blocks_in_a_threads_cache_are_free(void **state)
{
	const uint64_t key = 0x9e3779b97f4a7c15u;
	struct heap heap;

	(void)state;
	heap_begin(&heap);
	link_to(&heap, 10, block_at(&heap, 20));
	link_to(&heap, 20, block_at(&heap, 30));
	link_to(&heap, 30, NULL);
	for (size_t i = 10; i <= 30; i += 10)
		block_at(&heap, i)[1] = key;
	for (size_t i = 10; i <= 30; i += 10)
		assert_true(is_freed(&heap, i));
	block_at(&heap, 20)[1] = 1; /* taken out */
	assert_false(is_freed(&heap, 10));
	block_at(&heap, 20)[1] = key;
	block_at(&heap, 20)[-1] = 2 * CHUNK | 1; /* no list has two sizes */
	assert_false(is_freed(&heap, 10));
	munmap(heap.pages, 2 * PAGE);
}

/* 10 -> 20, as a fast bin has them: the links lead to the chunks. */
static void blocks_in_a_fast_bin_are_free(void **state)
{
	struct heap heap;

	(void)state;
	heap_begin(&heap);
	link_to(&heap, 10, block_at(&heap, 20) - 2);
	link_to(&heap, 20, NULL);
	assert_true(is_freed(&heap, 10) && is_freed(&heap, 20));
	block_at(&heap, 20)[-1] = 2 * CHUNK | 1;
	assert_false(is_freed(&heap, 10));
	munmap(heap.pages, 2 * PAGE);
}

/* Ordinary pointers, with which most objects begin; and arbitrary words. */
static void pointers_in_blocks_are_no_lists(void **state)
{
	struct heap heap;
	uint64_t random = 88172645463325252u;

	(void)state;
	heap_begin(&heap);
	for (size_t i = 0; i + 2 < CHUNKS; i++) {
		block_at(&heap, i)[0] = (uint64_t)(uintptr_t)block_at(&heap, i + 1);
		block_at(&heap, i)[1] = (uint64_t)(uintptr_t)block_at(&heap, i + 1);
		assert_false(is_freed(&heap, i));
	}
	for (size_t i = 0; i < 100000; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		block_at(&heap, 11)[0] = random >> random % 64;
		assert_false(is_freed(&heap, 11));
	}
	munmap(heap.pages, 2 * PAGE);
}

/* The headers around a block that is alone in its page are in no page. */
static void absent_neighbours_prove_nothing_and_stay_absent(void **state)
{
	unsigned char *pages = map_pages(3), present[3];
	struct look_request request = {.address = (uint64_t)(uintptr_t)pages + PAGE,
				       .size = PAGE - 8,
				       .find_chunk = true,
				       .chunk = PAGE};
	struct look_result result;
	struct look look;

	(void)state;
	assert_int_equal(look_open(&look), 0);
	pages[PAGE] = 1;
	assert_int_equal(look_at(&look, getpid(), &request, 1, &result), 0);
	assert_true(result.state == LOOK_READ && !result.chunk && !result.freed);
	assert_int_equal(mincore(pages, 3 * PAGE, present), 0);
	assert_true(!(present[0] & 1) && present[1] & 1 && !(present[2] & 1));
	munmap(pages, 3 * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(siphash_gives_the_papers_value),
		cmocka_unit_test(what_changes_is_seen_and_what_does_not_is_the_same),
		cmocka_unit_test(another_run_has_another_key),
		cmocka_unit_test(blocks_of_equal_bytes_are_detected),
		cmocka_unit_test(blocks_may_lie_across_pages),
		cmocka_unit_test(absent_pages_stay_absent),
		cmocka_unit_test(holes_among_many_blocks_are_found),
		cmocka_unit_test(a_process_that_is_gone_is_gone),
		cmocka_unit_test(a_process_that_is_killed_yields_nothing_more),
		cmocka_unit_test(chunks_are_known_by_the_size_before_them),
		cmocka_unit_test(blocks_in_use_are_not_free),
		cmocka_unit_test(a_free_block_that_stays_as_it_was_is_detected),
		cmocka_unit_test(memory_that_is_cut_in_another_way_held_another_block),
		cmocka_unit_test(blocks_in_a_threads_cache_are_free),
		cmocka_unit_test(blocks_in_a_fast_bin_are_free),
		cmocka_unit_test(pointers_in_blocks_are_no_lists),
		cmocka_unit_test(absent_neighbours_prove_nothing_and_stay_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
