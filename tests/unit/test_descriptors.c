// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/descriptors.h"

/* The lowest number that is free: all below it are open, and none above. */
static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	close_range((unsigned)fd, ~0u, 0);
	return fd;
}

static void what_is_left_is_counted_and_given_back(void **state)
{
	struct rlimit before, limit;
	int free_before = lowest_free();

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = (rlim_t)free_before + 10;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(descriptors_left(0));
	assert_true(descriptors_left(10));
	assert_false(descriptors_left(11));
	assert_false(descriptors_left(1000));
	assert_int_equal(lowest_free(), free_before);
	assert_int_equal(descriptors_check_start(), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void the_limit_is_raised_to_what_is_allowed(void **state)
{
	struct rlimit limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = (rlim_t)lowest_free() + 20;
	limit.rlim_max = 900;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(descriptors_raise_limit(), 900);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(limit.rlim_cur, 900);
	assert_int_equal(descriptors_check_start(), 0);
}

static void only_two_errors_mean_that_there_are_none(void **state)
{
	(void)state;
	assert_true(descriptors_are_out(-EMFILE));
	assert_true(descriptors_are_out(-ENFILE));
	assert_false(descriptors_are_out(0));
	assert_false(descriptors_are_out(-ENOMEM));
	assert_false(descriptors_are_out(EMFILE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_is_counted_and_given_back),
		cmocka_unit_test(the_limit_is_raised_to_what_is_allowed),
		cmocka_unit_test(only_two_errors_mean_that_there_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
