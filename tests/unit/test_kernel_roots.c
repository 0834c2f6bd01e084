// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/kernel_roots.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "report/retain_result.h"
#include "trace/probe/held_words.h"

/* The words that BPF would have read. */
static struct held_list given;

/* Replaces the function that reads a kernel map. */
int held_words_list(const struct held_words *held, struct held_list *list)
{
	(void)held;
	*list = given;
	list->words = calloc(given.count + 1, sizeof(*list->words));
	if (!list->words)
		return -ENOMEM;
	if (given.count)
		memcpy(list->words, given.words, given.count * sizeof(*list->words));
	return 0;
}

#define HELD ((const struct held_words *)&given)

static const struct kernel_word *find(const struct kernel_roots *roots, uint64_t value)
{
	for (size_t i = 0; i < roots->list.count; i++) {
		if (roots->list.items[i].value == value)
			return &roots->list.items[i];
	}
	return NULL;
}

static void data_of_epoll_entries_and_timers_are_read_without_bpf(void **state)
{
	_cleanup_(kernel_roots_free) struct kernel_roots roots = {0};
	_cleanup_close_ int poll = epoll_create1(EPOLL_CLOEXEC), event = eventfd(0, EFD_CLOEXEC);
	struct epoll_event entry = {.events = EPOLLIN, .data.u64 = 0x7f1234567890};
	struct sigevent notify = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
	const struct maps maps = {0};
	timer_t timer;

	(void)state;
	notify.sigev_value.sival_ptr = (void *)0x7f1234567abc;
	assert_int_equal(epoll_ctl(poll, EPOLL_CTL_ADD, event, &entry), 0);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &notify, &timer), 0);
	assert_int_equal(kernel_roots_read(getpid(), &maps, NULL, -EPERM, &roots), 0);
	timer_delete(timer);
	assert_int_equal(find(&roots, 0x7f1234567890)->holder, KERNEL_EPOLL);
	assert_int_equal(find(&roots, 0x7f1234567890)->number, poll);
	assert_int_equal(find(&roots, 0x7f1234567abc)->holder, KERNEL_TIMER);
	assert_non_null(strstr(roots.why_unread, "CAP_BPF"));
	assert_null(roots.why_uncertain);
}

static void words_of_bpf_have_a_number_where_their_holder_has_one(void **state)
{
	struct lm_held_word words[] = {
		{0x7f0000001000, 1, LM_HELD_SIGNAL_STACK, -1},
		{0x7f0000002000, 1, LM_HELD_URING_REQUEST, 5},
		{0x7f0000003000, 1, LM_HELD_QUEUE_NOTICE, 6},
	};
	_cleanup_(kernel_roots_free) struct kernel_roots roots = {0};
	const struct maps maps = {0};

	(void)state;
	given = (struct held_list){.words = words, .count = ARRAY_SIZE(words)};
	assert_int_equal(kernel_roots_read(getpid(), &maps, HELD, 0, &roots), 0);
	assert_int_equal(find(&roots, 0x7f0000001000)->number, 0);
	assert_int_equal(find(&roots, 0x7f0000002000)->number, 0);
	assert_int_equal(find(&roots, 0x7f0000003000)->number, 6);
	assert_null(roots.why_unread);
	assert_null(roots.why_uncertain);
}

static void requests_that_were_not_found_or_not_read_make_it_uncertain(void **state)
{
	static const struct {
		size_t uring, aio;
		const char *mapping; /* NULL: none */
		bool read;
		const char *expected; /* NULL: nothing is uncertain */
	} cases[] = {
		{0, 0, "anon_inode:[io_uring]", true, NULL},
		{1, 0, NULL, true, "an io_uring may hold more"},
		{0, SIZE_MAX, NULL, true, "AIO may hold more"},
		{1, 1, NULL, true, "io_uring and AIO may hold more"},
		{0, 0, "anon_inode:[io_uring]", false, "an io_uring may hold more"},
		{0, 0, "/[aio]", false, "AIO may hold more"},
		{0, 0, "/lib/libaio.so", false, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(kernel_roots_free) struct kernel_roots roots = {0};
		struct mapping mapping = {.path = (char *)(uintptr_t)cases[i].mapping};
		const struct maps maps = {
			.list = {.items = &mapping, .count = cases[i].mapping != NULL}};

		given = (struct held_list){.uring_unknown = cases[i].uring,
					   .aio_unknown = cases[i].aio};
		assert_int_equal(kernel_roots_read(getpid(), &maps, cases[i].read ? HELD : NULL,
						   -EINVAL, &roots),
				 0);
		assert_int_equal(roots.why_unread != NULL, !cases[i].read);
		assert_int_equal(roots.why_uncertain != NULL, cases[i].expected != NULL);
		if (cases[i].expected)
			assert_ptr_equal(strstr(roots.why_uncertain, cases[i].expected),
					 roots.why_uncertain);
	}
}

static void every_holder_has_a_name_and_only_objects_with_numbers_show_one(void **state)
{
	unsigned numbered = 0;

	(void)state;
	for (uint32_t i = 0; i < KERNEL_HOLDER_MAX_; i++) {
		assert_non_null(kernel_holder_name(i));
		numbered += kernel_root_has_number(kernel_holder_name(i));
	}
	assert_int_equal(numbered, 3);
	assert_true(kernel_root_has_number("epoll"));
	assert_true(kernel_root_has_number("timer"));
	assert_true(kernel_root_has_number("message queue"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_of_epoll_entries_and_timers_are_read_without_bpf),
		cmocka_unit_test(words_of_bpf_have_a_number_where_their_holder_has_one),
		cmocka_unit_test(requests_that_were_not_found_or_not_read_make_it_uncertain),
		cmocka_unit_test(every_holder_has_a_name_and_only_objects_with_numbers_show_one),
	};

	return cmocka_run_group_tests_name("kernel_roots", tests, NULL, NULL);
}
