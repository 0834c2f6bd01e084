// SPDX-License-Identifier: GPL-2.0-or-later
/* Effects of SIGINT, SIGTERM and SIGHUP: noted, fatal, deferred; and cleanup. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fatal_signal.h"
#include "base/interrupt.h"

#define NOT_ENDED 7
/* Longer than two signals count as one. */
#define LATER_US 300000

/* Returns the exit code of a child that runs the function, or NOT_ENDED if it returns. */
static int outcome(void (*run)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		run();
		_exit(NOT_ENDED);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool is_readable(int fd)
{
	struct pollfd waited = {.fd = fd, .events = POLLIN};

	return poll(&waited, 1, 0) == 1;
}

static void the_first_is_noted(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	(void)state;
	assert_int_equal(interrupt_check(), 0);
	assert_int_equal(interrupt_exit_code(1), 1);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		assert_int_equal(interrupt_open(), 0);
		assert_int_equal(interrupt_check(), 0);
		assert_false(is_readable(interrupt_fd()));
		raise(signals[i]);
		raise(SIGTERM); /* so soon after, it is the same request */
		assert_int_equal(interrupt_check(), -EINTR);
		assert_true(interrupt_time_ns() > 0);
		assert_true(is_readable(interrupt_fd()));
		assert_int_equal(interrupt_exit_code(1), 128 + signals[i]);
		interrupt_close();
		assert_int_equal(interrupt_check(), 0);
	}
}

static void raise_twice(void)
{
	interrupt_open();
	raise(SIGINT);
	usleep(LATER_US);
	raise(SIGTERM);
}

static void raise_where_nothing_is_to_be_undone(void)
{
	interrupt_open();
	interrupt_ends(true);
	raise(SIGHUP);
}

static void allow_it_afterwards(void)
{
	interrupt_open();
	raise(SIGTERM);
	interrupt_ends(true);
}

static void the_second_ends_at_once_and_the_first_where_it_may(void **state)
{
	(void)state;
	assert_int_equal(outcome(raise_twice), 128 + SIGINT);
	assert_int_equal(outcome(raise_where_nothing_is_to_be_undone), 128 + SIGHUP);
	assert_int_equal(outcome(allow_it_afterwards), 128 + SIGTERM);
}

static void raise_when_ignored(void)
{
	signal(SIGHUP, SIG_IGN);
	interrupt_open();
	interrupt_ends(true);
	raise(SIGHUP);
	if (interrupt_check())
		_exit(1);
}

static void raise_in_a_forked_child(void)
{
	int status;
	pid_t pid;

	interrupt_open();
	interrupt_ends(true);
	pid = fork();
	if (!pid) {
		raise(SIGINT);
		_exit(9);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 9 ||
	    interrupt_check())
		_exit(1);
}

static void whom_it_does_not_concern_goes_on(void **state)
{
	(void)state;
	assert_int_equal(outcome(raise_when_ignored), NOT_ENDED);
	assert_int_equal(outcome(raise_in_a_forked_child), NOT_ENDED);
}

static char litter[] = "/tmp/leakmon-interrupt-XXXXXX", kept[] = "/tmp/leakmon-interrupt-XXXXXX";
static int said;

static void say_so(void)
{
	if (write(said, "x", 1) < 0)
		_exit(1);
}

static void raise_with_files(void)
{
	interrupt_open();
	interrupt_ends(true);
	fatal_signal_calls(say_so);
	interrupt_removes(kept);
	interrupt_removes(NULL);
	interrupt_removes(litter);
	raise(SIGINT);
}

static void what_was_begun_is_removed(void **state)
{
	int ends[2], first = mkstemp(litter), second = mkstemp(kept);

	(void)state;
	assert_true(first >= 0 && second >= 0);
	assert_int_equal(pipe(ends), 0);
	said = ends[1];
	assert_int_equal(outcome(raise_with_files), 128 + SIGINT);
	assert_int_equal(access(litter, F_OK), -1);
	assert_int_equal(access(kept, F_OK), 0);
	assert_true(is_readable(ends[0]));
	unlink(kept);
	close(first);
	close(second);
	close(ends[0]);
	close(ends[1]);
}

static void raise_with_a_database(void)
{
	interrupt_open();
	interrupt_ends(true);
	interrupt_removes_database(litter);
	raise(SIGTERM);
}

static void a_database_goes_with_what_stands_beside_it(void **state)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal", "-other"};
	char path[64];

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s%s", litter, suffixes[i]);
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	}
	assert_int_equal(outcome(raise_with_a_database), 128 + SIGTERM);
	for (size_t i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s%s", litter, suffixes[i]);
		assert_int_equal(access(path, F_OK), i == 4 ? 0 : -1);
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_is_noted),
		cmocka_unit_test(the_second_ends_at_once_and_the_first_where_it_may),
		cmocka_unit_test(whom_it_does_not_concern_goes_on),
		cmocka_unit_test(what_was_begun_is_removed),
		cmocka_unit_test(a_database_goes_with_what_stands_beside_it),
	};

	signal(SIGHUP, SIG_DFL); /* under nohup(1), too */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
