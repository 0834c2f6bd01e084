// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks at the memory of a process: at our own, which we know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "profile/look.h"

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
	struct look_request request = {(uint64_t)(uintptr_t)address, size};
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
	page[16 + 40] = 1; /* behind it */
	assert_true(look_once(&look, page + 16, 40).hash == before.hash);
	page[16 + 39] = 1; /* its last byte */
	assert_true(look_once(&look, page + 16, 40).hash != before.hash);
	munmap(page, PAGE);
}

static void another_run_has_another_key(void **state)
{
	static const char contents[] = "the same contents";
	struct look one, other;

	(void)state;
	assert_int_equal(look_open(&one), 0);
	assert_int_equal(look_open(&other), 0);
	assert_true(look_once(&one, contents, sizeof(contents)).hash !=
		    look_once(&other, contents, sizeof(contents)).hash);
}

static void blocks_of_equal_bytes_are_told(void **state)
{
	unsigned char *page = map_pages(1);
	struct look look;

	(void)state;
	assert_int_equal(look_open(&look), 0);
	page[PAGE - 1] = 1; /* there, but zero where it is looked at */
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
		requests[i] = (struct look_request){(uint64_t)(uintptr_t)(pages + i * PAGE), 8};
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
	struct look_request request = {0x1000, 8};
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(siphash_gives_the_papers_value),
		cmocka_unit_test(what_changes_is_seen_and_what_does_not_is_the_same),
		cmocka_unit_test(another_run_has_another_key),
		cmocka_unit_test(blocks_of_equal_bytes_are_told),
		cmocka_unit_test(blocks_may_lie_across_pages),
		cmocka_unit_test(absent_pages_stay_absent),
		cmocka_unit_test(holes_among_many_blocks_are_found),
		cmocka_unit_test(a_process_that_is_gone_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
