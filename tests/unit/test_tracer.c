// SPDX-License-Identifier: GPL-2.0-or-later
/* A process that leakmon stops resumes in time, whatever happens to leakmon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/pause/tracer.h"
#include "process/proc/process_list.h"

#define SECOND_NS 1000000000ull
#define THREADS 8

/* A process that waits in epoll_wait(2) with all its threads. */
struct shared {
	unsigned ready, failed; /* calls, without a signal */
};

struct fixture {
	struct shared *shared;
	pid_t target;
};

static struct shared *shared;

static void *wait_for_nothing(void *argument)
{
	int queue = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;

	(void)argument;
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		if (epoll_wait(queue, &event, 1, 20) < 0)
			__atomic_add_fetch(&shared->failed, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	pthread_t thread;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	fixture->shared = shared;
	fixture->target = fork();
	if (!fixture->target) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 1; i < THREADS; i++)
			pthread_create(&thread, NULL, wait_for_nothing, NULL);
		wait_for_nothing(NULL);
	}
	while (__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST) < THREADS)
		usleep(1000);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	kill(fixture->target, SIGKILL);
	waitpid(fixture->target, NULL, 0);
	munmap(fixture->shared, sizeof(*fixture->shared));
	free(fixture);
	return 0;
}

static bool stands(pid_t pid)
{
	return process_task_state(pid, pid) == 't';
}

static bool comes_to_run(pid_t pid)
{
	for (int i = 0; i < 5000; i++) {
		if (!stands(pid))
			return true;
		usleep(1000);
	}
	return false;
}

/*
 * Expects that none of its calls failed, even those that a tracer without a monitor was about to
 * stop.
 */
static void expect_undisturbed(const struct fixture *fixture)
{
	usleep(50000);
	assert_true(comes_to_run(fixture->target));
	assert_int_equal(__atomic_load_n(&fixture->shared->failed, __ATOMIC_SEQ_CST), 0);
}

static void it_stands_until_it_is_let_go(void **state)
{
	struct fixture *fixture = *state;
	struct tracer tracer = {0};
	struct stop stop;

	assert_int_equal(tracer_start(&tracer), 0);
	assert_int_equal(tracer_stop(&tracer, fixture->target, 60 * SECOND_NS, &stop), 0);
	assert_int_equal(stop.threads.count, THREADS);
	for (size_t i = 0; i < stop.threads.count; i++)
		assert_true(machine_sp(&stop.threads.items[i].registers));
	usleep(20000);
	assert_true(stands(fixture->target));
	assert_int_equal(tracer_resume(&tracer, &stop), 0);
	assert_false(stands(fixture->target));
	assert_true(stop.ended_ns - stop.began_ns >= SECOND_NS / 50);
	stop_free(&stop);
	tracer_end(&tracer);
	tracer_end(&tracer);
	expect_undisturbed(fixture);
}

static void one_that_asks_too_late_is_told_so(void **state)
{
	struct fixture *fixture = *state;
	struct tracer tracer = {0};
	struct stop stop;

	assert_int_equal(tracer_start(&tracer), 0);
	assert_int_equal(tracer_stop(&tracer, fixture->target, SECOND_NS / 4, &stop), 0);
	assert_true(stop.resume_ns <= stop.began_ns + SECOND_NS / 4);
	assert_true(comes_to_run(fixture->target));
	assert_true(monotonic_ns() >= stop.resume_ns);
	assert_int_equal(tracer_resume(&tracer, &stop), -ETIMEDOUT);
	stop_free(&stop);
	tracer_end(&tracer);
	expect_undisturbed(fixture);
}

static void what_cannot_be_stopped_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	struct tracer tracer = {0};
	struct stop stop;

	assert_int_equal(tracer_start(&tracer), 0);
	assert_int_equal(tracer_stop(&tracer, fixture->target, 1, &stop), -ETIMEDOUT);
	stop_free(&stop);
	/* For once. */
	assert_int_equal(tracer_stop(&tracer, fixture->target, SECOND_NS, &stop), -EAGAIN);
	stop_free(&stop);
	tracer_end(&tracer);
	assert_int_equal(tracer_stop(&tracer, fixture->target, SECOND_NS, &stop), -EAGAIN);
	expect_undisturbed(fixture);
}

static void without_a_tracer_nothing_is_sure(void **state)
{
	struct fixture *fixture = *state;
	struct tracer tracer = {0};
	struct stop stop;

	assert_int_equal(tracer_start(&tracer), 0);
	assert_int_equal(tracer_stop(&tracer, fixture->target, 60 * SECOND_NS, &stop), 0);
	kill(tracer.pid, SIGKILL);
	assert_true(comes_to_run(fixture->target));
	assert_int_equal(tracer_resume(&tracer, &stop), -EAGAIN);
	assert_true(stop.ended_ns > stop.began_ns);
	stop_free(&stop);
	tracer_end(&tracer);
	expect_undisturbed(fixture);
}

/* A monitor that stops the target; its PID. */
static pid_t monitor(const struct fixture *fixture)
{
	struct tracer tracer = {0};
	struct stop stop;
	pid_t pid = fork();

	if (pid)
		return pid;
	if (tracer_start(&tracer) || tracer_stop(&tracer, fixture->target, 60 * SECOND_NS, &stop))
		_exit(1);
	raise(SIGSTOP);
	_exit(tracer_resume(&tracer, &stop) == -ECANCELED ? 42 : 2);
}

static void while_the_monitor_is_stopped_it_runs(void **state)
{
	struct fixture *fixture = *state;
	pid_t pid = monitor(fixture);
	int status;

	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_true(comes_to_run(fixture->target));
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 42);
	expect_undisturbed(fixture);
}

/* At any moment: before, while threads come to their stop, and after. */
static void killed_at_any_moment_it_disturbs_nothing(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < 100; i++) {
		pid_t pid = monitor(fixture);

		usleep(i * 50);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_true(comes_to_run(fixture->target));
	}
	expect_undisturbed(fixture);
}

static int pid_pipe[2];

static void be_killed(const struct fixture *fixture)
{
	struct tracer tracer = {0};
	struct stop stop;

	if (tracer_start(&tracer) || tracer_stop(&tracer, fixture->target, 60 * SECOND_NS, &stop) ||
	    write(pid_pipe[1], &tracer.pid, sizeof(tracer.pid)) != sizeof(tracer.pid))
		_exit(1);
	kill(getpid(), SIGKILL);
}

static void it_ends_with_its_monitor(void **state)
{
	struct fixture *fixture = *state;
	pid_t pid, tracer;
	int status;

	assert_int_equal(pipe(pid_pipe), 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (!pid)
		be_killed(fixture);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(read(pid_pipe[0], &tracer, sizeof(tracer)), sizeof(tracer));
	assert_int_equal(waitpid(tracer, &status, 0), tracer);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	expect_undisturbed(fixture);
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

/* A signal to all of that name, or to a terminal's job, does not reach it. */
static void it_has_a_name_and_a_session_of_its_own(void **state)
{
	struct tracer tracer = {0};
	char text[4096] = "";

	(void)state;
	assert_int_equal(tracer_start(&tracer), 0);
	for (int i = 0; i < 5000 && strcmp(text, "pause-tracer") != 0; i++) {
		usleep(1000);
		read_file(tracer.pid, "cmdline", text, sizeof(text));
	}
	assert_string_equal(text, "pause-tracer");
	read_file(tracer.pid, "comm", text, sizeof(text));
	assert_string_equal(text, "pause-tracer\n");
	assert_int_equal(getsid(tracer.pid), tracer.pid);
	tracer_end(&tracer);
}

int main(void)
{
#define WITH_TARGET(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_TARGET(it_stands_until_it_is_let_go),
		WITH_TARGET(one_that_asks_too_late_is_told_so),
		WITH_TARGET(what_cannot_be_stopped_is_an_error),
		WITH_TARGET(without_a_tracer_nothing_is_sure),
		WITH_TARGET(while_the_monitor_is_stopped_it_runs),
		WITH_TARGET(killed_at_any_moment_it_disturbs_nothing),
		WITH_TARGET(it_ends_with_its_monitor),
		cmocka_unit_test(it_has_a_name_and_a_session_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
