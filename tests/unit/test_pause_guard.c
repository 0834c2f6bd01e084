// SPDX-License-Identifier: GPL-2.0-or-later
/* A holder never exceeds its time, whatever happens to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "pause/pause_guard.h"

#define SECOND_NS 1000000000ull

/* Exit code of a child that does that; 128 + signal. */
static int run(int (*child)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int be_stopped(void)
{
	struct pause_guard guard = {0};

	if (pause_guard_start(&guard))
		return 1;
	pause_guard_watch(&guard, monotonic_ns() + 60 * SECOND_NS);
	/* Without a guard the test would end here, with its time. */
	raise(SIGSTOP);
	raise(SIGSTOP);
	pause_guard_watch(&guard, 0);
	return pause_guard_end(&guard) ? 42 : 2;
}

static void a_stopped_monitor_goes_on(void **state)
{
	(void)state;
	assert_int_equal(run(be_stopped), 42);
}

static int be_in_time(void)
{
	struct pause_guard guard = {0};

	for (int i = 0; i < 20; i++) {
		if (pause_guard_start(&guard))
			return 1;
		pause_guard_watch(&guard, monotonic_ns() + SECOND_NS / 1000);
		usleep(i * 1000);
		pause_guard_watch(&guard, 0);
		if (pause_guard_end(&guard))
			return 2;
		/* Its end is reaped, and a second call is harmless. */
		if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD || pause_guard_end(&guard))
			return 3;
	}
	return 42;
}

static void a_monitor_in_time_or_a_little_late_notices_nothing(void **state)
{
	(void)state;
	assert_int_equal(run(be_in_time), 42);
}

static int be_late(void)
{
	struct pause_guard guard = {0};

	if (pause_guard_start(&guard))
		return 1;
	/* Not a word of it in the test's own output. */
	pause_guard_watch(&guard, monotonic_ns() + SECOND_NS / 100);
	for (int i = 0; i < 60; i++)
		sleep(1);
	return 2;
}

static void a_late_monitor_is_killed(void **state)
{
	uint64_t began_ns = monotonic_ns();

	(void)state;
	assert_int_equal(run(be_late), 128 + SIGKILL);
	assert_true(monotonic_ns() - began_ns >= SECOND_NS);
	assert_true(monotonic_ns() - began_ns < 20 * SECOND_NS);
}

static int pid_pipe[2];

static int be_killed(void)
{
	struct pause_guard guard = {0};

	if (pause_guard_start(&guard) ||
	    write(pid_pipe[1], &guard.pid, sizeof(guard.pid)) != sizeof(guard.pid))
		return 1;
	kill(getpid(), SIGKILL);
	return 2;
}

static void it_ends_with_whom_it_guards(void **state)
{
	int status;
	pid_t guard;

	(void)state;
	assert_int_equal(pipe(pid_pipe), 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	assert_int_equal(run(be_killed), 128 + SIGKILL);
	assert_int_equal(read(pid_pipe[0], &guard, sizeof(guard)), sizeof(guard));
	assert_int_equal(waitpid(guard, &status, 0), guard);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void read_file(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	FILE *file;
	size_t got;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = fopen(path, "r");
	assert_non_null(file);
	got = fread(text, 1, size - 1, file);
	fclose(file);
	text[got] = '\0';
}

/* A stop for all that are called so, or for a terminal's job, is none for it. */
static void it_has_a_name_and_a_session_of_its_own(void **state)
{
	struct pause_guard guard = {0};
	char text[4096] = "";

	(void)state;
	assert_int_equal(pause_guard_start(&guard), 0);
	for (int i = 0; i < 5000 && strcmp(text, "pause-guard") != 0; i++) {
		usleep(1000);
		read_file(guard.pid, "cmdline", text, sizeof(text));
	}
	assert_string_equal(text, "pause-guard");
	read_file(guard.pid, "comm", text, sizeof(text));
	assert_string_equal(text, "pause-guard\n");
	assert_int_equal(getsid(guard.pid), guard.pid);
	assert_false(pause_guard_end(&guard));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stopped_monitor_goes_on),
		cmocka_unit_test(a_monitor_in_time_or_a_little_late_notices_nothing),
		cmocka_unit_test(a_late_monitor_is_killed),
		cmocka_unit_test(it_ends_with_whom_it_guards),
		cmocka_unit_test(it_has_a_name_and_a_session_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
