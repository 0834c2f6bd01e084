// SPDX-License-Identifier: GPL-2.0-or-later
/* The search for allocators in this process itself: glibc's is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "heap/heap_image_zones.h"
#include "heap/heap_reader.h"

/* Sanitizers have an allocator of their own. */
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

static int find(struct found *found)
{
	struct heap_view view = {
		.peek = &found->peek, .heaps = &found->heaps, .maps = &found->maps};

	*found = (struct found){.peek = {.source = live_memory(getpid()), .pagemap = -1}};
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
	assert_int_equal(find(&found), 0);
	assert_non_null(found.finds.states[0]);
	found_free(&found);
}

/* Data that looks like an allocator's everywhere takes hours otherwise. */
static void a_search_ends_after_minutes_with_what_it_has(void **state)
{
	struct found found;

	(void)state;
	look_s = 1000;
	assert_int_equal(find(&found), 0);
	for (size_t i = 0; i < HEAP_READERS_MAX; i++)
		assert_null(found.finds.states[i]);
	assert_null(found.peek.deadline);
	found_free(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_c_librarys_is_found),
		cmocka_unit_test(a_search_ends_after_minutes_with_what_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
