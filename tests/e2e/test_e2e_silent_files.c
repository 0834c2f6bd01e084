// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs on a file system, and with memory, whose server may never answer: leakmon nevertheless
 * ends in time.
 */
#include "retain_json.h"

#include <fcntl.h>
#include <signal.h>

#include "served.h"
#include "shell.h"

static void end(struct harness *harness, struct served *served)
{
	kill(served->server, SIGCONT);
	workload_do(harness, served->workload, "go");
	workload_send(served->workload, "quit");
	assert_int_equal(child_end(harness, served->workload), 0);
}

static void a_program_on_fuse_is_exact_and_its_stacks_have_names_and_lines(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct served served = serve(harness, "leak");
	json_t *report = WATCH(harness, served.workload, "go");

	expect_truth(report, workload_ask(harness, served.workload, "ledger"));
	end(harness, &served);
}

/* The kernel reads the code while all forks wait: no probe may depend on that server. */
static void an_allocator_on_fuse_gets_no_probes_and_the_reason_is_named(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct served served = serve(harness, "portable_static");
	struct child *monitor =
		MONITOR(harness, "-p", served.workload->pid_text, "--format", "json", "1", "1");

	assert_int_equal(child_end(harness, monitor), 1);
	assert_non_null(strstr(monitor->err.text, "is on a FUSE file system"));
	kill(served.workload->pid, SIGKILL);
	child_end(harness, served.workload);
}

static void expect_end_with_a_reason(struct harness *harness, const char *const *argv)
{
	struct child *monitor = monitor_start(harness, argv, NULL);

	child_end(harness, monitor);
	assert_true(monitor->code == 0 || monitor->code == 1);
	assert_non_null(strstr(monitor->err.text, "the file system did not answer within"));
}

static void a_file_system_that_never_answers_holds_nothing_up(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct served served = serve(harness, "leak");
	const char *pid = served.workload->pid_text;
	struct child *monitor;

	assert_int_equal(kill(served.server, SIGSTOP), 0);
	expect_end_with_a_reason(harness, ARGUMENTS("leakmon", "-p", pid, "1", "1"));
	expect_end_with_a_reason(harness, ARGUMENTS("leakmon", "retain", "-p", pid, "--census"));
	expect_end_with_a_reason(harness, ARGUMENTS("leakmon", "threads", "-p", pid, "1", "1"));
	expect_end_with_a_reason(harness, ARGUMENTS("leakmon", "doctor", "-p", pid));
	monitor = MONITOR(harness, "memory", "-p", pid, "1", "1");
	assert_int_equal(child_end(harness, monitor), 0);
	end(harness, &served);
}

/* It is watched when it stops answering, and once more when it answers again. */
static void a_file_system_that_stops_answering_loses_nothing_that_was_counted(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct served served = serve(harness, "leak");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", served.workload->pid_text, "-o",
						 "0", "--format", "json", "3600");

	workload_do(harness, served.workload, "go");
	assert_int_equal(kill(served.server, SIGSTOP), 0);
	expect_truth(monitor_stop(harness, monitor),
		     workload_ask(harness, served.workload, "ledger"));
	end(harness, &served);
}

/* A thread's stack is in memory that is never served: none of its pages can be read. */
static void a_stack_that_is_never_there_holds_nothing_up(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "silent_stack");
	const json_t *process;
	json_t *report;

	workload_do(harness, workload, "start");
	report = report_of(harness, MONITOR(harness, "threads", "-p", workload->pid_text,
					    "--format", "json", "1", "1"));
	process = json_array_get(json_object_get(report, "processes"), 0);
	process = json_object_get(process, "threads");
	assert_int_equal(json_integer_value(json_object_get(process, "alive")), 2);
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_program_on_fuse_is_exact_and_its_stacks_have_names_and_lines),
		e2e_test(an_allocator_on_fuse_gets_no_probes_and_the_reason_is_named),
		e2e_test(a_file_system_that_never_answers_holds_nothing_up),
		e2e_test(a_file_system_that_stops_answering_loses_nothing_that_was_counted),
		e2e_test(a_stack_that_is_never_there_holds_nothing_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
