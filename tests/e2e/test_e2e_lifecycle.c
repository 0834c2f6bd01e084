// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes end, are killed, replace themselves and fork while they are watched. */
#include "harness.h"

#include <signal.h>

static struct child *attach(struct harness *harness, struct child *workload)
{
	return MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format", "json",
				"3600");
}

/* leakmon ends by itself, with exit code 0; its last report. */
static json_t *last_report(struct harness *harness, struct child *monitor)
{
	json_t *last = NULL;

	if (child_end(harness, monitor))
		child_fail(monitor, "exit code %d", monitor->code);
	while (monitor->out.taken < monitor->out.size)
		last = monitor_report(harness, monitor);
	assert_non_null(last);
	return last;
}

/* Blocks of an ended process are either still on the ledger or purged. */
static void expect_gone(json_t *report, json_int_t allocations, json_int_t frees)
{
	expect_balance(report);
	assert_int_equal(ledger_at(report, "allocations"), allocations);
	assert_int_equal(ledger_at(report, "frees"), frees);
	assert_int_equal(ledger_at(report, "outstanding") + ledger_at(report, "purged"),
			 allocations - frees);
}

static void a_target_that_exits_gets_a_last_report_with_its_blocks(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor = attach(harness, workload);
	pid_t pid = workload->pid;
	json_t *report;

	workload_do(harness, workload, "go");
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
	report = last_report(harness, monitor);
	expect_gone(report, 25, 7);
	expect_held(process_of(report, pid), "leak_a", 10, 1000);
	expect_held(process_of(report, pid), "leak_b", 5, 5000);
	expect_held(process_of(report, pid), "leak_c", 3, 12288);
}

static void a_target_that_kills_itself_gets_a_last_report(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "crasher");
	struct child *monitor = attach(harness, workload);
	pid_t pid = workload->pid;
	json_t *report;

	workload_send(workload, "crash");
	assert_int_equal(child_end(harness, workload), 128 + SIGKILL);
	report = last_report(harness, monitor);
	expect_gone(report, 20, 0);
	expect_held(process_of(report, pid), "leak_before_crash", 20, 6000);
}

static void a_target_killed_in_the_middle_of_calls_leaves_a_balanced_ledger(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "crasher");
	struct child *monitor = attach(harness, workload);

	workload_do(harness, workload, "storm");
	child_signal(monitor, SIGUSR1);
	expect_balance(monitor_report(harness, monitor));
	child_signal(workload, SIGKILL);
	assert_int_equal(child_end(harness, workload), 128 + SIGKILL);
	expect_balance(last_report(harness, monitor));
}

static void one_of_two_targets_may_end(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *stays = WORKLOAD(harness, "leak"), *goes = WORKLOAD(harness, "blocks", "30");
	struct child *monitor;
	char text[64];
	json_t *report;

	snprintf(text, sizeof(text), "%s,%s", goes->pid_text, stays->pid_text);
	monitor = MONITOR(harness, "-p", text, "-o", "0", "--format", "json", "3600");
	snprintf(text, sizeof(text), "attached to PID %s", stays->pid_text);
	child_wait_text(harness, monitor, &monitor->err, text);
	workload_do(harness, goes, "go");
	workload_send(goes, "quit");
	assert_int_equal(child_end(harness, goes), 0);
	workload_do(harness, stays, "go");
	report = monitor_stop(harness, monitor);
	expect_gone(report, 25 + 30, 7);
	assert_int_equal(number_at(process_of(report, stays->pid), "outstanding_count"), 18);
}

/* After an exec the heap is another one, under the same PID. */
static void an_exec_purges_the_old_program_and_follows_the_new_one(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "execer");
	struct child *monitor = attach(harness, workload);
	char *line;
	json_t *report, *process;

	workload_do(harness, workload, "go");
	workload_send(workload, "exec");
	line = child_line(harness, workload, &workload->out);
	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
	workload_do(harness, workload, "go");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	assert_int_equal(ledger_at(report, "allocations"), 14);
	assert_int_equal(ledger_at(report, "outstanding"), 4);
	assert_int_equal(ledger_at(report, "purged"), 10);
	process = process_of(report, workload->pid);
	expect_held(process, "leak_second", 4, 256);
	expect_held(process, "leak_first", 0, 0);
}

static void the_main_thread_may_leave_first(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leader_exit");
	struct child *monitor = attach(harness, workload);
	json_t *report;

	workload_do(harness, workload, "go");
	workload_do(harness, workload, "leave");
	workload_do(harness, workload, "go");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	assert_int_equal(ledger_at(report, "purged"), 0);
	expect_held(process_of(report, workload->pid), "leak_worker", 12, 960);
}

/* The kernel keeps no address space for such a main thread: probes cannot be bound to it. */
static void a_process_without_its_main_thread_is_refused_with_the_reason(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leader_exit");

	workload_do(harness, workload, "leave");
	monitor_expect_error(harness, MONITOR(harness, "-p", workload->pid_text), 1, "main thread");
	workload_do(harness, workload, "go");
}

/* The child's use of its copy of the heap changes nothing in the parent's ledger. */
static void a_fork_does_not_touch_the_parents_ledger(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "forker");
	json_t *report = WATCH(harness, workload, "go");
	json_t *process = process_of(report, workload->pid);
	char *line;

	expect_balance(report);
	assert_int_equal(dropped_sum(report), 0);
	expect_held(process, "leak_parent", 11, 704);
	expect_held(process, "leak_child", 0, 0);
	assert_int_equal(number_at(process, "outstanding_count"), 11);
	workload_send(workload, "end");
	line = child_line(harness, workload, &workload->out);
	assert_string_equal(line, "child ended with status 0");
	free(line);
}

static void a_pid_that_ends_between_reports_ends_the_monitor(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "0.05");

	workload_do(harness, workload, "go");
	workload_send(workload, "quit");
	expect_gone(last_report(harness, monitor), 25, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_target_that_exits_gets_a_last_report_with_its_blocks),
		e2e_test(a_target_that_kills_itself_gets_a_last_report),
		e2e_test(a_target_killed_in_the_middle_of_calls_leaves_a_balanced_ledger),
		e2e_test(one_of_two_targets_may_end),
		e2e_test(an_exec_purges_the_old_program_and_follows_the_new_one),
		e2e_test(the_main_thread_may_leave_first),
		e2e_test(a_process_without_its_main_thread_is_refused_with_the_reason),
		e2e_test(a_fork_does_not_touch_the_parents_ledger),
		e2e_test(a_pid_that_ends_between_reports_ends_the_monitor),
	};

	return cmocka_run_group_tests_name("e2e_lifecycle", tests, NULL, NULL);
}
