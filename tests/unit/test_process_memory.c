// SPDX-License-Identifier: GPL-2.0-or-later
/* Words of a process, its own here: nothing that is not there is brought in for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc/fork_sharing.h"
#include "process/proc/process_memory.h"

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
 * some kernels under their own hypervisor have none (pvm_no_zero_page). Without CAP_SYS_ADMIN it
 * cannot be told from others.
 */
static void the_shared_page_of_zeros_is_not_there(void **state)
{
	_cleanup_close_ int pagemap = pagemap_open(live_memory(getpid()));
	/* Between untouchable pages: a separate mapping. */
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

#define SHARED_PAGES 512

/* KiB that it alone has of the mapping of a child. */
static unsigned long private_kib(pid_t pid, const void *address)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[256], begin[32];
	unsigned long sum = 0, kib;
	bool within = false;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	snprintf(begin, sizeof(begin), "%lx-", (unsigned long)(uintptr_t)address);
	while (fgets(line, sizeof(line), file)) {
		if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
			within = !strncmp(line, begin, strlen(begin));
		if (within && (sscanf(line, "Private_Clean: %lu", &kib) == 1 ||
			       sscanf(line, "Private_Dirty: %lu", &kib) == 1))
			sum += kib;
	}
	return sum;
}

static void read_in_every_way(pid_t child, const char *shared, size_t size)
{
	struct peek peek = {.source = live_memory(child),
			    .pagemap = pagemap_open(live_memory(child))};
	char *copy = malloc(size);
	struct iovec local[2] = {{copy, 100}, {copy + 100, MEMORY_PAGE}}, remote[2];
	uint64_t addresses[PEEK_AHEAD], words[PEEK_AHEAD];
	bool got[PEEK_AHEAD];

	assert_non_null(copy);
	assert_int_equal(memory_read(live_memory(child), (uintptr_t)shared, copy, size), size);
	assert_memory_equal(copy, shared, size);
	remote[0] = (struct iovec){(void *)(shared + 8), MEMORY_PAGE};
	remote[1] = (struct iovec){(void *)(shared + 5 * MEMORY_PAGE), 100};
	assert_int_equal(memory_read_pieces(child, local, 2, remote, 2), MEMORY_PAGE + 100);
	assert_memory_equal(copy, shared + 8, MEMORY_PAGE);
	assert_memory_equal(copy + MEMORY_PAGE, shared + 5 * MEMORY_PAGE, 100);
	peek_forget(&peek);
	for (size_t i = 0; i < PEEK_AHEAD; i++)
		addresses[i] = (uintptr_t)shared + i * 7 * MEMORY_PAGE;
	peek_scattered(&peek, addresses, words, got, PEEK_AHEAD);
	for (size_t i = 0; i < PEEK_AHEAD; i++) {
		assert_true(got[i]);
		assert_memory_equal((const char *)&words[i], shared + i * 7 * MEMORY_PAGE, 8);
	}
	/* Like process_vm_readv(2): absent memory fails. */
	remote[0] = (struct iovec){(void *)8, 100};
	assert_int_equal(memory_read_pieces(child, local, 1, remote, 1), -EFAULT);
	peek_free(&peek);
	close(peek.pagemap);
	free(copy);
}

/* A pin would give the child its own copy of each. */
static void pages_shared_by_fork_stay_shared(void **state)
{
	size_t size = SHARED_PAGES * MEMORY_PAGE;
	char *shared = mmap(NULL, size + MEMORY_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	(void)state;
	assert_ptr_not_equal(shared, MAP_FAILED);
	/* A mapping alone. */
	mprotect(shared + size, MEMORY_PAGE, PROT_NONE);
	madvise(shared, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i++)
		shared[i] = (char)(i / MEMORY_PAGE + i);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		pause();
		_exit(0);
	}
	assert_true(fork_may_share(child));
	assert_true(fork_may_share(getpid()));
	read_in_every_way(child, shared, size);
	assert_int_equal(private_kib(child, shared), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap(shared, size + MEMORY_PAGE);
}

/* It has executed a program, and has no children. */
static void a_program_without_children_shares_nothing(void **state)
{
	pid_t child = fork();

	(void)state;
	if (!child) {
		execl("/bin/sleep", "sleep", "60", NULL);
		_exit(1);
	}
	/* The answer is cached for a moment. */
	for (int i = 0; i < 100 && fork_may_share(child); i++)
		usleep(50000);
	assert_false(fork_may_share(child));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_shared_by_fork_stay_shared),
		cmocka_unit_test(a_program_without_children_shares_nothing),
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
