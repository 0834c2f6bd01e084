// SPDX-License-Identifier: GPL-2.0-or-later
/* The search for allocators in this process itself: glibc's is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "heap/allocators/heap_image_zones.h"
#include "heap/allocators/heap_reader.h"
#include "process/proc/core.h"

/* Sanitizers have a separate allocator. */
void *__libc_malloc(size_t size);

/* How long each look at the clock takes. */
static time_t look_s;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	static time_t passed_s;
	int result = (int)syscall(SYS_clock_gettime, clock, time);

	passed_s += look_s;
	time->tv_sec += passed_s;
	return result;
}

struct found {
	struct maps maps;
	struct filter heaps;
	struct peek peek;
	struct heap_finds finds;
};

/* A core file with this process's memory. */
ssize_t core_read(const struct core *core, uint64_t address, void *buffer, size_t size)
{
	(void)core;
	return memory_read(live_memory(getpid()), address, buffer, size);
}

uint64_t core_page_size(const struct core *core)
{
	(void)core;
	return MEMORY_PAGE;
}

static int find(struct found *found, const struct core *core)
{
	struct heap_view view = {
		.peek = &found->peek, .heaps = &found->heaps, .maps = &found->maps};

	*found = (struct found){.peek = {.pagemap = -1}};
	found->peek.source = core ? (struct memory_source){.core = core} : live_memory(getpid());
	assert_int_equal(maps_read(getpid(), MAPS_ALL, &found->maps), 0);
	assert_int_equal(filter_heaps_from_maps(&found->maps, &found->heaps), 0);
	peek_forget(&found->peek);
	return heap_finds_make(&found->finds, &view);
}

static void found_free(struct found *found)
{
	heap_finds_free(&found->finds);
	peek_free(&found->peek);
	filter_free(&found->heaps);
	maps_free(&found->maps);
}

static void the_c_librarys_is_found(void **state)
{
	struct found found;

	(void)state;
	assert_non_null(__libc_malloc(100));
	look_s = 0;
	assert_int_equal(find(&found, NULL), 0);
	assert_non_null(found.finds.states[0]);
	found_free(&found);
}

/* Data that looks like an allocator's everywhere takes hours otherwise. */
static void a_search_ends_after_minutes_with_what_it_has(void **state)
{
	static const char core[1]; /* its address will do */

	(void)state;
	look_s = 1000;
	for (int of_core = 0; of_core < 2; of_core++) {
		char process[32], text[256] = "";
		int heard = memfd_create("heard", MFD_CLOEXEC), before = dup(STDERR_FILENO);
		struct found found;

		assert_true(dup2(heard, STDERR_FILENO) >= 0);
		assert_int_equal(find(&found, of_core ? (const void *)core : NULL), 0);
		assert_true(dup2(before, STDERR_FILENO) >= 0);
		for (size_t i = 0; i < HEAP_READERS_MAX; i++)
			assert_null(found.finds.states[i]);
		assert_null(found.peek.deadline);
		found_free(&found);
		snprintf(process, sizeof(process), "process %d: the search", getpid());
		assert_true(pread(heard, text, sizeof(text) - 1, 0) > 0);
		assert_non_null(strstr(text, of_core ? "the core file: the search" : process));
		close(heard);
		close(before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_c_librarys_is_found),
		cmocka_unit_test(a_search_ends_after_minutes_with_what_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
