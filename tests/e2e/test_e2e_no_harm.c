// SPDX-License-Identifier: GPL-2.0-or-later
/* The target is as it was: its code bytes after a detach, its life, its exceptions. */
#include "code_bytes.h"
#include "harness.h"

#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

static void after_a_detach_the_code_is_the_files(void **state)
{
	static const char *const methods[] = {"auto", "perf"};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < 2; i++) {
		struct child *workload = WORKLOAD(harness, "allocators");
		struct child *monitor;

		assert_int_equal(code_difference(workload->pid), 0);
		monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "--attach",
					   methods[i], "--format", "json", "3600");
		/* One breakpoint a function at least: else this test could not fail. */
		assert_true(code_difference(workload->pid) >= 8);
		workload_do(harness, workload, "go");
		monitor_stop(harness, monitor);
		assert_int_equal(code_difference(workload->pid), 0);
		workload_do(harness, workload, "go");
	}
}

/* Only the kernel removes the breakpoints, soon after. */
static void a_killed_monitor_leaves_the_target_alive_and_clean(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "crasher");
	struct child *monitor;

	workload_do(harness, workload, "storm");
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "3600");
	child_signal(monitor, SIGKILL);
	assert_int_equal(child_end(harness, monitor), 128 + SIGKILL);
	code_bytes_wait_clean(workload->pid);
	workload_do(harness, workload, "calm");
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

/*
 * A monitor killed while it detaches, as by a service manager's timeout, leaves nothing: closing
 * perf events one by one is slow.
 */
static void a_monitor_that_is_killed_while_it_detaches_leaves_no_breakpoint(void **state)
{
	static const long delays_ms[] = {1, 5, 20, 50, 100, 200};
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "allocators");

	for (size_t i = 0; i < sizeof(delays_ms) / sizeof(delays_ms[0]); i++) {
		const struct timespec delay = {.tv_nsec = delays_ms[i] * 1000000};
		struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text,
							 "--attach=perf", "3600");

		child_signal(monitor, SIGINT);
		nanosleep(&delay, NULL);
		child_signal(monitor, SIGKILL);
		child_end(harness, monitor);
		code_bytes_wait_clean(workload->pid);
	}
	workload_do(harness, workload, "go");
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

static void a_busy_target_survives_attach_and_detach_again_and_again(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "crasher");

	workload_do(harness, workload, "storm");
	for (int i = 0; i < 10; i++) {
		struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o",
							 "0", "--format", "json", "3600");

		expect_balance(monitor_stop(harness, monitor));
	}
	workload_do(harness, workload, "calm");
	assert_int_equal(code_difference(workload->pid), 0);
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

/* An unwinder's reaction to an unexpected return address kills the process. */
static void unwinding_is_undisturbed(void **state)
{
	static const struct {
		const char *workload;
		int code;
	} cases[] = {{"cancel", 42}, {"thrower", 43}};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < 2; i++) {
		struct child *workload = WORKLOAD(harness, cases[i].workload);
		struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o",
							 "0", "--format", "json", "3600");

		workload_do(harness, workload, "go");
		child_signal(monitor, SIGUSR1);
		expect_balance(monitor_report(harness, monitor));
		workload_send(workload, "leave");
		assert_int_equal(child_end(harness, workload), cases[i].code);
		assert_int_equal(child_end(harness, monitor), 0);
	}
}

/* A forked child inherits the parent's breakpoints: they must neither trap nor kill it. */
static void a_forked_child_lives(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "forker");
	char *line;

	WATCH(harness, workload, "go");
	workload_send(workload, "end");
	line = child_line(harness, workload, &workload->out);
	assert_string_equal(line, "child ended with status 0");
	free(line);
}

/* Skips the test on kernels without Syscall User Dispatch: x86 had it first. */
static struct harness *harness_dispatching(void **state)
{
	struct harness *harness = harness_bpf(state);

	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0)) {
		fprintf(stderr, "SKIP: this kernel has no Syscall User Dispatch: %m\n");
		skip();
	}
	return harness;
}

/* True: it lives, and 253 calls are reported as dropped. */
static bool dispatching_later_survives(struct harness *harness)
{
	struct child *workload = WORKLOAD(harness, "dispatcher");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	pid_t pid = workload->pid;
	json_t *report;

	if (!strstr(monitor->err.text, "(session)")) {
		fprintf(stderr, "SKIP: this kernel has no session probes (6.13)\n");
		skip();
	}
	workload_do(harness, workload, "go");
	child_signal(monitor, SIGUSR1);
	expect_truth(monitor_report(harness, monitor), workload_ask(harness, workload, "ledger"));
	for (int i = 0; i < 3; i++)
		workload_send(workload, ((const char *const[]){"on", "go", "threads"})[i]);
	workload_send(workload, "quit");
	if (child_end(harness, workload) != 0)
		return false;
	report = monitor_report(harness, monitor);
	expect_balance(report);
	/* malloc, calloc, posix_memalign, realloc; and pthread_create's calloc. */
	assert_int_equal(number_at(json_object_get(json_object_get(report, "ledger"), "dropped"),
				   "dispatch"),
			 100 + 50 + 50 + 50 + 3);
	assert_int_equal(ledger_at(report, "abandoned"), 0);
	assert_true(json_is_false(json_object_get(process_of(report, pid), "exact")));
	return true;
}

/*
 * Under Syscall User Dispatch a return probe, where that is a system call, would kill the process.
 * A session probe forgoes it, unless another monitor probes the same file: hence more than one try.
 */
static void a_process_that_dispatches_later_survives_a_session(void **state)
{
	struct harness *harness = harness_dispatching(state);
	const struct timespec pause = {.tv_nsec = 500000000};
	bool survived = dispatching_later_survives(harness);

	for (int tries = 1; !survived && tries < 5; tries++) {
		nanosleep(&pause, NULL);
		survived = dispatching_later_survives(harness);
	}
	assert_true(survived);
}

/*
 * Without sessions, leakmon sets no return probe for threads. A session of another monitor does, in
 * every process with a breakpoint on the same function: the kernel only asks the session's own
 * processes whether they want the return. Hence more than one try.
 */
static void a_process_that_dispatches_later_survives_plain_thread_probes(void **state)
{
	struct harness *harness = harness_dispatching(state);
	const struct timespec pause = {.tv_nsec = 500000000};
	int code = -1;

	for (int tries = 0; code && tries < 5; tries++) {
		struct child *workload = WORKLOAD(harness, "dispatcher");
		struct child *monitor =
			MONITOR_ATTACHED(harness, "threads", "-p", workload->pid_text,
					 "--attach=multi", "--format", "json", "3600");

		for (int i = 0; i < 3; i++)
			workload_send(workload, ((const char *const[]){"on", "go", "threads"})[i]);
		workload_send(workload, "quit");
		code = child_end(harness, workload);
		child_end(harness, monitor);
		if (code)
			nanosleep(&pause, NULL);
	}
	assert_int_equal(code, 0);
}

static void a_process_that_dispatches_is_left_alone(void **state)
{
	static const char *const methods[] = {"auto", "multi", "perf"};
	struct harness *harness = harness_dispatching(state);

	for (size_t i = 0; i < 3; i++) {
		struct child *workload = WORKLOAD(harness, "dispatcher");

		workload_do(harness, workload, "on");
		monitor_expect_error(
			harness,
			MONITOR(harness, "-p", workload->pid_text, "--attach", methods[i], "3600"),
			1, "is under Syscall User Dispatch");
		workload_do(harness, workload, "go");
		workload_do(harness, workload, "threads");
		workload_send(workload, "quit");
		assert_int_equal(child_end(harness, workload), 0);
	}
}

/* The process lives and both blocks are confessed; false: it was killed. */
static bool handler_above_survives(struct harness *harness)
{
	struct child *workload = WORKLOAD(harness, "jumper");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	json_t *report;

	if (!strstr(monitor->err.text, "(session)")) {
		fprintf(stderr, "SKIP: this kernel has no session probes (6.13)\n");
		skip();
	}
	workload_send(workload, "nested_high");
	workload_send(workload, "quit");
	if (child_end(harness, workload) != 0)
		return false;
	report = monitor_report(harness, monitor);
	expect_balance(report);
	assert_int_equal(
		number_at(json_object_get(json_object_get(report, "ledger"), "dropped"), "handler"),
		2);
	return true;
}

/*
 * Above the interrupted call a second return probe would kill the process. A session probe omits
 * it, unless another monitor probes the same file, even for another process: the kernel then makes
 * the return probe for that one. A monitor that was just killed is still being detached:
 * hence more than one try.
 */
static void a_handler_above_an_interrupted_call_survives_a_session(void **state)
{
	struct harness *harness = harness_bpf(state);
	const struct timespec pause = {.tv_nsec = 500000000};
	bool survived = handler_above_survives(harness);

	for (int tries = 1; !survived && tries < 5; tries++) {
		nanosleep(&pause, NULL);
		survived = handler_above_survives(harness);
	}
	assert_true(survived);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(after_a_detach_the_code_is_the_files),
		e2e_test(a_killed_monitor_leaves_the_target_alive_and_clean),
		e2e_test(a_monitor_that_is_killed_while_it_detaches_leaves_no_breakpoint),
		e2e_test(a_busy_target_survives_attach_and_detach_again_and_again),
		e2e_test(unwinding_is_undisturbed),
		e2e_test(a_forked_child_lives),
		e2e_test(a_process_that_dispatches_later_survives_a_session),
		e2e_test(a_process_that_dispatches_later_survives_plain_thread_probes),
		e2e_test(a_process_that_dispatches_is_left_alone),
		e2e_test(a_handler_above_an_interrupted_call_survives_a_session),
	};

	return cmocka_run_group_tests_name("e2e_no_harm", tests, NULL, NULL);
}
