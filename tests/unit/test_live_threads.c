// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "trace/collect/owners.h"
#include "trace/collect/reading.h"

#define PROCESS 0x1000000042ull
#define OTHER 0x2000000042ull

static void fill(struct live_threads *live, const struct lm_live_thread *threads, size_t count)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], threads, count * sizeof(*threads)),
			 count * sizeof(*threads));
	close(fds[1]);
	assert_int_equal(live_threads_read(live, fds[0]), 0);
	close(fds[0]);
}

static void a_block_is_of_the_thread_that_had_the_tid_then(void **state)
{
	static const struct lm_live_thread threads[] = {
		{.process = PROCESS, .start_ns = 100, .tid = 7},
		{.process = OTHER, .start_ns = 100, .tid = 8},
	};
	static const struct {
		lm_process_key process;
		struct lm_block block;
		bool ended;
	} cases[] = {
		{PROCESS, {.tid = 7, .born_ns = 100}, false},
		{PROCESS, {.tid = 7, .born_ns = 500}, false},
		{PROCESS, {.tid = 7, .born_ns = 99}, true},  /* another thread had it before */
		{PROCESS, {.tid = 9, .born_ns = 500}, true}, /* unused */
		{PROCESS, {.tid = 8, .born_ns = 500}, true}, /* a stranger has it now */
		{OTHER, {.tid = 8, .born_ns = 500}, false},
		{PROCESS, {.tid = 9, .born_ns = UINT64_MAX}, false}, /* came after the reading */
	};
	struct live_threads live = {0};

	(void)state;
	fill(&live, threads, ARRAY_SIZE(threads));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(live_threads_has_ended(&live, cases[i].process, &cases[i].block),
				 cases[i].ended);
	live_threads_free(&live);
}

/* More than one read gives, and more than fits a buffer. */
static void all_records_are_taken(void **state)
{
	struct lm_live_thread threads[1000] = {0};
	struct live_threads live = {0};

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(threads); i++)
		threads[i] = (struct lm_live_thread){.process = PROCESS, .start_ns = i, .tid = i};
	fill(&live, threads, ARRAY_SIZE(threads));
	assert_int_equal(live.threads.count, ARRAY_SIZE(threads));
	assert_int_equal(live.threads.items[999].start_ns, 999);
	live_threads_free(&live);
}

static void half_a_record_is_an_error_and_changes_nothing(void **state)
{
	struct live_threads live = {.taken_ns = 5};
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "half", 4), 4);
	close(fds[1]);
	assert_int_equal(live_threads_read(&live, fds[0]), -EPROTO);
	assert_int_equal(live.taken_ns, 5);
	assert_int_equal(live_threads_read(&live, -1), -EBADF);
	close(fds[0]);
}

static void owner_add(struct owners *owners, lm_process_key process, uint32_t tid, uint64_t born_ns,
		      uint64_t died_ns)
{
	*vec_push(&owners->list) = (struct owner){
		.process = process, .tid = tid, .born_ns = born_ns, .died_ns = died_ns};
}

static void of_threads_with_one_tid_each_owns_its_time(void **state)
{
	static const struct {
		uint64_t process, at_ns, born_ns; /* born_ns 0: none */
		uint32_t tid;
	} cases[] = {
		{PROCESS, 10, 10, 7}, {PROCESS, 20, 10, 7}, {PROCESS, 21, 0, 7},
		{PROCESS, 29, 0, 7},  {PROCESS, 30, 30, 7}, {PROCESS, 45, 30, 7},
		{PROCESS, 9, 0, 7},   {PROCESS, 99, 0, 7},  {OTHER, 15, 15, 7},
		{OTHER, 14, 0, 7},    {PROCESS, 15, 5, 6},  {PROCESS, 15, 0, 5},
	};
	struct owners owners = {0};

	(void)state;
	assert_int_equal(owners_index(&owners), 0);
	assert_null(owners_find(&owners, PROCESS, 7, 10));
	owner_add(&owners, PROCESS, 7, 30, 50);
	owner_add(&owners, OTHER, 7, 15, 25);
	owner_add(&owners, PROCESS, 6, 5, 60);
	owner_add(&owners, PROCESS, 7, 10, 20);
	assert_int_equal(owners_index(&owners), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct owner *owner =
			owners_find(&owners, cases[i].process, cases[i].tid, cases[i].at_ns);

		assert_int_equal(owner ? owner->born_ns : 0, cases[i].born_ns);
	}
	owners_free(&owners);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_is_of_the_thread_that_had_the_tid_then),
		cmocka_unit_test(all_records_are_taken),
		cmocka_unit_test(half_a_record_is_an_error_and_changes_nothing),
		cmocka_unit_test(of_threads_with_one_tid_each_owns_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
