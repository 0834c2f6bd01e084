// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "binary/parse/thread_library.h"
#include "leakmon_thread.h"

static void read_file(const char *path, struct thread_library *library)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		skip();
	assert_int_equal(thread_library_read(fd, library), 0);
}

static int *word_of(pthread_t thread, uint32_t at)
{
	return (int *)(thread + at);
}

static size_t count_of(const struct thread_library *library, enum thread_probe probe)
{
	size_t count = 0;

	for (size_t i = 0; i < library->points.count; i++)
		count += library->points.items[i].probe == probe;
	return count;
}

static void glibc_joins_are_seen_where_the_descriptor_is_freed(void **state)
{
	struct thread_library library = {0};

	(void)state;
	read_file("/lib/x86_64-linux-gnu/libc.so.6", &library);
	assert_string_equal(library.why, "");
	assert_int_equal(count_of(&library, THREAD_PROBE_CREATE), 1);
	assert_int_equal(count_of(&library, THREAD_PROBE_DETACH), 1);
	assert_int_equal(count_of(&library, THREAD_PROBE_FREED), 1);
	assert_int_equal(count_of(&library, THREAD_PROBE_JOINED), 0);
	assert_true(library.has_layout);
	assert_true(library.layout.indirect);
	/* A thread of this library describes itself. */
	assert_int_equal(*word_of(pthread_self(), library.layout.tid_at), gettid());
	assert_int_equal(*word_of(pthread_self(), library.layout.joinid_at), 0);
	pthread_detach(pthread_self());
	assert_ptr_equal(*(void **)word_of(pthread_self(), library.layout.joinid_at),
			 (void *)pthread_self());
	assert_int_equal(library.attr_cookie, LM_ATTR_COOKIE(8, 1, 8, 8));
	thread_library_free(&library);
}

static void musl_joins_are_seen_at_their_returns(void **state)
{
	struct thread_library library = {0};

	(void)state;
	read_file("/lib/ld-musl-x86_64.so.1", &library);
	assert_string_equal(library.why, "");
	assert_int_equal(count_of(&library, THREAD_PROBE_CREATE), 1);
	assert_int_equal(count_of(&library, THREAD_PROBE_FREED), 0);
	assert_true(count_of(&library, THREAD_PROBE_JOIN) >= 3);
	assert_true(count_of(&library, THREAD_PROBE_JOINED) >= 2);
	assert_false(library.has_layout);
	thread_library_free(&library);
}

static void other_files_are_no_thread_libraries(void **state)
{
	struct thread_library library = {0};

	(void)state;
	read_file("/proc/self/exe", &library);
	assert_int_equal(library.points.count, 0);
	assert_string_equal(library.why, "");
	thread_library_free(&library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(glibc_joins_are_seen_where_the_descriptor_is_freed),
		cmocka_unit_test(musl_joins_are_seen_at_their_returns),
		cmocka_unit_test(other_files_are_no_thread_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
