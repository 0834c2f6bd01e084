// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "process/proc/file_kinds.h"

static void what_a_descriptor_links_to_has_a_kind(void **state)
{
	static const char *const cases[][2] = {
		{"socket:[4711]", "socket"},
		{"pipe:[4711]", "pipe"},
		{"net:[4026531840]", "net"},
		{"anon_inode:[eventpoll]", "[eventpoll]"},
		{"anon_inode:inotify", "inotify"},
		{"/memfd:jit (deleted)", "memfd"},
		{"/dev/null", "/dev/null"},
		{"/dev/pts/3", "/dev/pts/3"},
		{"/var/log/app.log", "/var/log/*"},
		{"/tmp/x (deleted)", "/tmp/* (deleted)"},
		{"/file", "/*"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char name[256];

		file_kind_name(cases[i][0], name, sizeof(name));
		assert_string_equal(name, cases[i][1]);
	}
}

static void a_long_path_is_cut(void **state)
{
	char path[4096], name[256];

	(void)state;
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 3] = '/';
	path[sizeof(path) - 1] = '\0';
	file_kind_name(path, name, sizeof(name));
	assert_int_equal(strlen(name), sizeof(name) - 32 + 2);
	path[0] = 'x';
	file_kind_name(path, name, sizeof(name));
	assert_int_equal(strlen(name), sizeof(name) - 1);
}

static void own_files_are_counted_by_kind(void **state)
{
	struct file_kinds before = {0}, after = {0};
	int pipes[2], sockets[2], event;

	(void)state;
	assert_int_equal(file_kinds_read(&before, getpid(), 10), 0);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	event = eventfd(0, 0);
	assert_int_equal(file_kinds_read(&after, getpid(), 10), 0);
	assert_float_equal(file_kinds_open(&after, "pipe") - file_kinds_open(&before, "pipe"), 2,
			   0);
	assert_float_equal(
		file_kinds_open(&after, "[eventfd]") - file_kinds_open(&before, "[eventfd]"), 1, 0);
	assert_float_equal(file_kinds_open(&after, "socket (UNIX-STREAM)") +
				   file_kinds_open(&after, "socket (UNIX)") -
				   file_kinds_open(&before, "socket (UNIX-STREAM)") -
				   file_kinds_open(&before, "socket (UNIX)"),
			   2, 0);
	assert_float_equal(file_kinds_open(&after, "no such kind"), 0, 0);
	for (size_t i = 0; i < 2; i++) {
		close(pipes[i]);
		close(sockets[i]);
	}
	close(event);
	file_kinds_free(&before);
	file_kinds_free(&after);
}

/* Only every n-th is read, and each represents n. */
static void many_files_are_sampled(void **state)
{
	int fds[300], dup_of = open("/dev/null", O_RDONLY);
	struct file_kinds kinds = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = dup(dup_of);
	assert_int_equal(file_kinds_read(&kinds, getpid(), 4 * FILE_KINDS_LOOKS), 0);
	assert_float_equal(file_kinds_open(&kinds, "/dev/null"), 301, 30);
	assert_float_equal((double)((int)file_kinds_open(&kinds, "/dev/null") % 5), 0, 0);
	file_kinds_free(&kinds);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	close(dup_of);
}

static void a_process_that_is_gone_is_an_error(void **state)
{
	struct file_kinds kinds = {0};

	(void)state;
	assert_int_equal(file_kinds_read(&kinds, 4194303, 10), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_descriptor_links_to_has_a_kind),
		cmocka_unit_test(a_long_path_is_cut),
		cmocka_unit_test(own_files_are_counted_by_kind),
		cmocka_unit_test(many_files_are_sampled),
		cmocka_unit_test(a_process_that_is_gone_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
