// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "triage/process_reading.h"

static double count_in(const char *text)
{
	_cleanup_(maps_free) struct maps maps = {0};
	_cleanup_free_ char *copy = strdup(text);

	for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
		struct mapping *mapping = vec_push(&maps.list);

		assert_int_equal(maps_parse_line(line, mapping), 0);
		mapping->path = strdup(mapping->path);
	}
	return thread_stacks_orphaned(&maps, NAN);
}

static void a_stack_lies_right_above_its_guard(void **state)
{
	static const struct {
		const char *maps;
		double stacks;
	} cases[] = {
		{"1000-2000 ---p 00000000 00:00 0 \n2000-12000 rw-p 00000000 00:00 0 \n", 1},
		/* Two, one above the other. */
		{"1000-2000 ---p 00000000 00:00 0 \n2000-12000 rw-p 00000000 00:00 0 \n"
		 "12000-13000 ---p 00000000 00:00 0 \n13000-23000 rw-p 00000000 00:00 0 \n",
		 2},
		/* Not right above. */
		{"1000-2000 ---p 00000000 00:00 0 \n3000-12000 rw-p 00000000 00:00 0 \n", 0},
		/* The unused part of an arena, and the next arena. */
		{"21000-4000000 ---p 00000000 00:00 0 \n4000000-4021000 rw-p 00000000 00:00 0 \n",
		 0},
		/* The hole in a library, and its data. */
		{"1000-2000 ---p 00001000 08:01 77 /lib/x.so\n2000-3000 rw-p 00002000 08:01 77 "
		 "/lib/x.so\n",
		 0},
		{"1000-2000 ---p 00000000 00:00 0 \n2000-12000 rw-s 00000000 00:00 0 \n", 0},
		{"", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_float_equal(count_in(cases[i].maps), cases[i].stacks, 0);
}

static void *end_at_once(void *argument)
{
	return argument;
}

/* The real thing: forty unjoined threads, until they are joined. */
static void threads_that_were_not_joined_keep_their_stacks(void **state)
{
	_cleanup_(maps_free) struct maps before = {0}, after = {0};
	pthread_t threads[40];
	double added;

	(void)state;
	assert_int_equal(maps_read(getpid(), MAPS_ALL, &before), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, end_at_once, NULL), 0);
	assert_int_equal(maps_read(getpid(), MAPS_ALL, &after), 0);
	added = thread_stacks_orphaned(&after, 1) - thread_stacks_orphaned(&before, 1);
	assert_float_equal(added, ARRAY_SIZE(threads), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void living_threads_have_theirs(void **state)
{
	struct mapping list[] = {
		{.start = 0x1000, .end = 0x2000, .path = ""},
		{.start = 0x2000, .end = 0x9000, .readable = true, .writable = true, .path = ""}};
	const struct maps maps = {.list = {.items = list, .count = ARRAY_SIZE(list)}};

	(void)state;
	assert_float_equal(thread_stacks_orphaned(&maps, 1), 1, 0);
	assert_float_equal(thread_stacks_orphaned(&maps, 2), 0, 0);
	assert_float_equal(thread_stacks_orphaned(&maps, 9), 0, 0);
	assert_float_equal(thread_stacks_orphaned(&maps, (double)NAN), 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_lies_right_above_its_guard),
		cmocka_unit_test(threads_that_were_not_joined_keep_their_stacks),
		cmocka_unit_test(living_threads_have_theirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
