// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "app/triage/attribute.h"
#include "base/cleanup.h"

#define PRESENT (1ull << 63)
#define SWAPPED (1ull << 62)
#define SHARED (1ull << 61)
#define THP (1ull << 22)
#define ZERO_PAGE (1ull << 24)
#define PAGE 4096

static void add(struct samples *samples, uint64_t address, uint64_t length, uint32_t site)
{
	struct sample sample = {.address = address, .length = length, .site = site, .weight = 1};

	assert_int_equal(samples_add(samples, &sample), 0);
}

static void a_page_is_worth_what_it_holds(void **state)
{
	static const struct {
		struct page_state page;
		double bytes;
	} cases[] = {
		{{0, 0, true}, 0},
		{{PRESENT, 0, true}, PAGE},
		{{SWAPPED, 0, true}, PAGE},
		{{SWAPPED, THP, true}, PAGE},
		{{PRESENT | SHARED, 0, true}, 0},
		{{SWAPPED | SHARED, 0, true}, 0},
		{{PRESENT, ZERO_PAGE, true}, 0},
		{{PRESENT, THP, true}, 512 * PAGE},
		{{PRESENT, THP, false}, PAGE},
		{{SHARED, 0, true}, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_float_equal(attribute_page(&cases[i].page), cases[i].bytes, 0);
}

/* Pages of this process: touched, given back, never touched, of a file, unmapped. */
static void only_pages_that_are_there_weigh(void **state)
{
	char *own =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *file = fopen("/proc/self/exe", "r");
	void *of_file = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fileno(file), 0);
	struct samples samples = {0};

	(void)state;
	madvise(own, 3 * PAGE, MADV_NOHUGEPAGE);
	own[0] = own[PAGE] = 1;
	assert_int_equal(madvise(own + PAGE, PAGE, MADV_DONTNEED), 0);
	assert_int_equal(*(volatile char *)of_file, 0x7f);
	for (uint64_t i = 0; i < 3; i++)
		add(&samples, (uintptr_t)own + i * PAGE, 0, 1);
	add(&samples, (uintptr_t)of_file, 0, 1);
	add(&samples, 0x1000, 0, 1);
	assert_int_equal(attribute_pages(&samples, getpid()), 0);
	assert_float_equal(samples.list.items[0].units, PAGE, 0);
	for (size_t i = 1; i < samples.list.count; i++)
		assert_float_equal(samples.list.items[i].units, 0, 0);
	samples_free(&samples);
	munmap(own, 3 * PAGE);
	munmap(of_file, PAGE);
	fclose(file);
}

static void a_process_that_is_gone_is_an_error(void **state)
{
	struct samples samples = {0};

	(void)state;
	assert_int_equal(attribute_pages(&samples, 4194303), -ESRCH);
}

static void mapping_at(struct maps *maps, uint64_t start, uint64_t end)
{
	struct mapping *mapping = vec_push(&maps->list);

	assert_non_null(mapping);
	mapping->start = start;
	mapping->end = end;
}

/* A remapped range belongs to the later call; a split one counts twice. */
static void mappings_belong_to_the_latest_that_found_their_room(void **state)
{
	struct samples samples = {0};
	struct maps maps = {0};

	(void)state;
	mapping_at(&maps, 0x10000, 0x20000); /* older than all samples */
	mapping_at(&maps, 0x30000, 0x31000); /* the two halves of the second one */
	mapping_at(&maps, 0x31000, 0x32000);
	mapping_at(&maps, 0x50000, 0x51000); /* mapped by the third, again by the fourth */
	add(&samples, 0x20000, 0x1000, 1);   /* unmapped since */
	add(&samples, 0x30000, 0x2000, 2);
	add(&samples, 0x4f000, 0x2000, 3);
	add(&samples, 0x50000, 0x1000, 4);
	assert_int_equal(attribute_mappings(&samples, &maps), 0);
	assert_float_equal(samples.list.items[0].units, 0, 0);
	assert_float_equal(samples.list.items[1].units, 2, 0);
	assert_float_equal(samples.list.items[2].units, 0, 0);
	assert_float_equal(samples.list.items[3].units, 1, 0);
	samples_free(&samples);
	vec_free(&maps.list);
}

static void *tell_tid(void *tid)
{
	*(pid_t *)tid = (pid_t)syscall(SYS_gettid);
	return NULL;
}

/* pthread_join() returns when the kernel clears the thread's number, before it is out of /proc. */
static void wait_until_gone(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d", tid);
	while (!access(path, F_OK))
		usleep(1000);
}

static void threads_weigh_while_they_live(void **state)
{
	struct samples samples = {0};
	pthread_t thread;
	pid_t ended = 0;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, tell_tid, &ended), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	wait_until_gone(ended);
	add(&samples, (uint64_t)getpid(), 0, 1);
	add(&samples, (uint64_t)ended, 0, 1);
	attribute_threads(&samples, getpid());
	assert_float_equal(samples.list.items[0].units, 1, 0);
	assert_float_equal(samples.list.items[1].units, 0, 0);
	samples_free(&samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_is_worth_what_it_holds),
		cmocka_unit_test(only_pages_that_are_there_weigh),
		cmocka_unit_test(a_process_that_is_gone_is_an_error),
		cmocka_unit_test(mappings_belong_to_the_latest_that_found_their_room),
		cmocka_unit_test(threads_weigh_while_they_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
