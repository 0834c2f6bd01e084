// SPDX-License-Identifier: GPL-2.0-or-later
/* Words of a process, its own here: nothing that is not there is brought in for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/process_memory.h"

struct scene {
	struct peek peek;
	uint64_t *words; /* the first of two pages is there */
};

static struct scene make_scene(void)
{
	struct scene scene = {.peek = {.source = live_memory(getpid()),
				       .pagemap = pagemap_open(live_memory(getpid()))}};

	scene.words = mmap(NULL, 2 * MEMORY_PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(scene.words, MAP_FAILED);
	assert_int_equal(madvise(scene.words, 2 * MEMORY_PAGE, MADV_NOHUGEPAGE), 0);
	scene.words[0] = 0x1234;
	return scene;
}

static void free_scene(struct scene *scene)
{
	peek_free(&scene->peek);
	close(scene->peek.pagemap);
	munmap(scene->words, 2 * MEMORY_PAGE);
}

static int peek_at(struct scene *scene, size_t page, uint64_t *word)
{
	return peek_words(&scene->peek, (uint64_t)(uintptr_t)scene->words + page * MEMORY_PAGE,
			  word, 1);
}

static bool is_there(struct scene *scene, size_t page)
{
	unsigned char there = 0;

	assert_int_equal(mincore((char *)scene->words + page * MEMORY_PAGE, MEMORY_PAGE, &there),
			 0);
	return there & 1;
}

static void what_is_not_there_is_not_brought_in(void **state)
{
	struct scene scene = make_scene();
	uint64_t word = 0;

	(void)state;
	assert_int_equal(peek_at(&scene, 0, &word), 0);
	assert_int_equal(word, 0x1234);
	for (int i = 0; i < 3; i++)
		assert_int_equal(peek_at(&scene, 1, &word), -EFAULT);
	assert_false(is_there(&scene, 1));
	free_scene(&scene);
}

/* Presence and absence are both as of the first reading. */
static size_t present_pages(const void *address, size_t pages)
{
	uint64_t entries[8];
	int fd = pagemap_open(live_memory(getpid()));
	size_t present = 0;

	assert_true(fd >= 0 && pages <= ARRAY_SIZE(entries));
	pagemap_read(live_memory(getpid()), fd, (uintptr_t)address, entries, pages);
	for (size_t i = 0; i < pages; i++)
		present += pagemap_is_present(entries[i]);
	close(fd);
	return present;
}

static void absent_memory_reads_as_zeros_and_stays_absent(void **state)
{
	struct scene scene = make_scene();
	uint64_t read[2 * MEMORY_PAGE / 8];

	(void)state;
	memset(read, 0xff, sizeof(read));
	assert_int_equal(memory_read_exact(live_memory(getpid()), (uintptr_t)scene.words, read,
					   sizeof(read)),
			 0);
	assert_int_equal(read[0], 0x1234);
	for (size_t i = 1; i < ARRAY_SIZE(read); i++)
		assert_int_equal(read[i], 0);
	assert_int_equal(present_pages(scene.words, 2), 1);
	free_scene(&scene);
}

static void an_absent_page_that_may_not_be_read_is_no_zeros(void **state)
{
	void *closed = mmap(NULL, 64 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t word;

	(void)state;
	assert_ptr_not_equal(closed, MAP_FAILED);
	assert_int_equal(memory_read_exact(live_memory(getpid()), (uintptr_t)closed, &word, 8),
			 -EFAULT);
	munmap(closed, 64 << 20);
}

static void absent_pages_of_a_file_and_of_shared_memory_are_read(void **state)
{
	int files[] = {memfd_create("shared", MFD_CLOEXEC), fileno(tmpfile())};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		uint64_t word = 0x77, read = 0;
		void *mapped;

		assert_int_equal(pwrite(files[i], &word, sizeof(word), MEMORY_PAGE), 8);
		mapped = mmap(NULL, 2 * MEMORY_PAGE, PROT_READ, MAP_SHARED, files[i], 0);
		assert_ptr_not_equal(mapped, MAP_FAILED);
		assert_int_equal(present_pages(mapped, 2), 0);
		assert_int_equal(memory_read_exact(live_memory(getpid()),
						   (uintptr_t)mapped + MEMORY_PAGE, &read, 8),
				 0);
		assert_int_equal(read, 0x77);
		munmap(mapped, 2 * MEMORY_PAGE);
		close(files[i]);
	}
}

static void what_was_seen_holds_until_it_is_forgotten(void **state)
{
	struct scene scene = make_scene();
	uint64_t word = 0;

	(void)state;
	assert_int_equal(peek_at(&scene, 0, &word), 0);
	assert_int_equal(peek_at(&scene, 1, &word), -EFAULT);
	scene.words[0] = 0x5678;
	scene.words[MEMORY_PAGE / 8] = 0x9abc;
	assert_int_equal(peek_at(&scene, 0, &word), 0);
	assert_int_equal(word, 0x1234);
	assert_int_equal(peek_at(&scene, 1, &word), -EFAULT);
	peek_forget(&scene.peek);
	assert_int_equal(peek_at(&scene, 0, &word), 0);
	assert_int_equal(word, 0x5678);
	assert_int_equal(peek_at(&scene, 1, &word), 0);
	assert_int_equal(word, 0x9abc);
	free_scene(&scene);
}

static void an_odd_address_is_no_word(void **state)
{
	struct scene scene = make_scene();
	uint64_t word;

	(void)state;
	assert_int_equal(peek_words(&scene.peek, (uint64_t)(uintptr_t)scene.words + 4, &word, 1),
			 -EFAULT);
	free_scene(&scene);
}

/* Bytes that the kernel counts as resident in the mapping that begins at `address`. */
static size_t rss_of(const volatile void *address)
{
	_cleanup_fclose_ FILE *smaps = fopen("/proc/self/smaps", "re");
	char line[256];
	unsigned long start, end, kib;
	bool found = false;

	assert_non_null(smaps);
	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			found = start == (uintptr_t)address;
		if (found && sscanf(line, "Rss: %lu kB", &kib) == 1)
			return kib * 1024;
	}
	fail_msg("no such mapping");
	return 0;
}

/*
 * A page that was only read is present if Rss has it: mostly not, because it is a shared page; but
 * some kernels under a hypervisor of their own have none (pvm_no_zero_page). Without CAP_SYS_ADMIN
 * it cannot be distinguished from others.
 */
static void the_shared_page_of_zeros_is_not_there(void **state)
{
	_cleanup_close_ int pagemap = pagemap_open(live_memory(getpid()));
	/* Between others that cannot be touched: a mapping of its own. */
	char *around = mmap(NULL, 4 * MEMORY_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile char *pages = around + MEMORY_PAGE;
	uint64_t entries[2];

	(void)state;
	if (geteuid())
		skip();
	assert_true(around != MAP_FAILED);
	assert_int_equal(mprotect((void *)pages, 2 * MEMORY_PAGE, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(madvise((void *)pages, 2 * MEMORY_PAGE, MADV_NOHUGEPAGE), 0);
	assert_int_equal(pages[0], 0);
	pages[MEMORY_PAGE] = 1;
	pagemap_read(live_memory(getpid()), pagemap, (uintptr_t)pages, entries, 2);
	assert_int_equal(MEMORY_PAGE *
				 (pagemap_is_present(entries[0]) + pagemap_is_present(entries[1])),
			 rss_of(pages));
	assert_true(pagemap_is_present(entries[1]));
	pages[0] = 1;
	pagemap_read(live_memory(getpid()), pagemap, (uintptr_t)pages, entries, 1);
	assert_true(pagemap_is_present(entries[0]));
	munmap(around, 4 * MEMORY_PAGE);
}

static void parts_of_a_larger_page_are_as_the_page_is(void **state)
{
	static const struct {
		uint64_t first, parts;
		uint64_t want[6];
	} cases[] = {
		{8, 1, {10, 11, 12, 13, 14, 15}},
		{8, 4, {10, 10, 10, 10, 11, 11}},
		{11, 4, {10, 11, 11, 11, 11, 12}},
		{15, 16, {10, 11, 11, 11, 11, 11}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t entries[6] = {10, 11, 12, 13, 14, 15};

		pagemap_spread(entries, ARRAY_SIZE(entries), cases[i].first, cases[i].parts);
		assert_memory_equal(entries, cases[i].want, sizeof(entries));
	}
}

#define MADV_GUARD_INSTALL_ 102 /* since Linux 6.13 */

static void a_guard_page_is_not_swapped_out(void **state)
{
	const uint64_t swapped = 1ull << 62, guard = 1ull << 58;
	_cleanup_close_ int pagemap = pagemap_open(live_memory(getpid()));
	void *page =
		mmap(NULL, MEMORY_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t entry;

	(void)state;
	assert_true(pagemap_is_swapped(swapped));
	assert_false(pagemap_is_swapped(swapped | guard));
	assert_true(page != MAP_FAILED);
	if (!madvise(page, MEMORY_PAGE, MADV_GUARD_INSTALL_)) {
		pagemap_read(live_memory(getpid()), pagemap, (uintptr_t)page, &entry, 1);
		assert_false(pagemap_is_present(entry));
		/* Before Linux 6.15 nothing distinguishes it. */
		assert_true(!pagemap_is_swapped(entry) || !(entry & guard));
	}
	munmap(page, MEMORY_PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_there_is_not_brought_in),
		cmocka_unit_test(absent_memory_reads_as_zeros_and_stays_absent),
		cmocka_unit_test(an_absent_page_that_may_not_be_read_is_no_zeros),
		cmocka_unit_test(absent_pages_of_a_file_and_of_shared_memory_are_read),
		cmocka_unit_test(parts_of_a_larger_page_are_as_the_page_is),
		cmocka_unit_test(what_was_seen_holds_until_it_is_forgotten),
		cmocka_unit_test(an_odd_address_is_no_word),
		cmocka_unit_test(the_shared_page_of_zeros_is_not_there),
		cmocka_unit_test(a_guard_page_is_not_swapped_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
