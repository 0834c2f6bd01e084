// SPDX-License-Identifier: GPL-2.0-or-later
/* Unusual processes: exact like all others, and unharmed. */
#include "retain_json.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/syscall.h>

#include "shell.h"

#define GDB "/usr/bin/gdb"

static void quit(struct harness *harness, struct child *workload)
{
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

/* Threads that the kernel made for itself in the process run none of its code. */
static void a_process_with_an_io_uring_is_exact_and_can_be_stopped(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "ring");
	json_t *report;

	if (!number_at(workload_ask(harness, workload, "ring"), "ring")) {
		fprintf(stderr, "SKIPPED, nothing was tested: there is no io_uring here\n");
		skip();
	}
	report = WATCH(harness, workload, "go");
	expect_truth(report, workload_ask(harness, workload, "ledger"));
	workload_do(harness, workload, "nops");
	report = RETAIN(harness, workload);
	assert_true(json_is_true(json_object_get(report, "settled")));
	assert_true(json_is_true(json_object_get(json_object_get(report, "picture"), "stopped")));
	workload_do(harness, workload, "nops");
	quit(harness, workload);
}

/* 30,000 at the attach, and 30,000 more while it is watched. */
static void a_process_with_nearly_as_many_mappings_as_it_may_have_is_exact(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "manymaps", "30000"), *monitor;
	json_t *process;

	workload_do(harness, workload, "go");
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format", "json",
				   "3600");
	workload_do(harness, workload, "go");
	process = process_of(monitor_stop(harness, monitor), workload->pid);
	assert_true(json_is_true(json_object_get(process, "exact")));
	assert_int_equal(number_at(process, "outstanding_count"), 300);
	assert_int_equal(number_at(process, "outstanding_bytes"), 300 * 5000);
	quit(harness, workload);
}

static __attribute__((noinline)) void pass_breakpoint(void)
{
	__asm__ volatile("");
}

/* Under some hypervisors they can be set, and are never hit. */
static bool has_hardware_breakpoints(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT,
				       .size = sizeof(attr),
				       .bp_type = HW_BREAKPOINT_X,
				       .bp_addr = (uintptr_t)pass_breakpoint,
				       .bp_len = sizeof(long),
				       .exclude_kernel = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	uint64_t hits = 0;

	pass_breakpoint();
	if (fd < 0 || read(fd, &hits, sizeof(hits)) != sizeof(hits))
		hits = 0;
	close(fd);
	return hits == 1;
}

/* gdb comes while leakmon watches, with a breakpoint in a debug register, and goes. */
static void a_hardware_breakpoint_changes_nothing(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor, *gdb;
	json_t *report;

	if (access(GDB, X_OK)) {
		fprintf(stderr, "SKIPPED, nothing was tested: there is no gdb\n");
		skip();
	}
	if (!has_hardware_breakpoints()) {
		fprintf(stderr, "SKIPPED, nothing was tested: hardware breakpoints are not hit\n");
		skip();
	}
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format", "json",
				   "3600");
	gdb = child_start(harness, GDB,
			  ARGUMENTS("gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off",
				    "-p", workload->pid_text, "-ex", "thbreak __libc_malloc", "-ex",
				    "echo waiting\\n", "-ex", "continue", "-ex", "detach"),
			  NULL);
	child_wait_text(harness, gdb, &gdb->out, "waiting");
	workload_do(harness, workload, "go");
	assert_int_equal(child_end(harness, gdb), 0);
	if (!gdb->out.text || !strstr(gdb->out.text, "Temporary breakpoint 1, "))
		child_fail(gdb, "it was not stopped, but: %s", gdb->out.text);
	workload_do(harness, workload, "go");
	report = monitor_stop(harness, monitor);
	expect_truth(report, workload_ask(harness, workload, "ledger"));
	quit(harness, workload);
}

/* The unified hierarchy, wherever it is: frozen processes there can be killed. */
static const char *unified(void)
{
	return access("/sys/fs/cgroup/cgroup.procs", F_OK) ? "/sys/fs/cgroup/unified"
							   : "/sys/fs/cgroup";
}

static void freeze(struct harness *harness, const struct child *workload, bool frozen)
{
	free(shell(harness, 0,
		   "cd %s/leakmon-unusual-%d && echo %d > cgroup.freeze && "
		   "while ! grep -q 'frozen %d' cgroup.events; do sleep 0.01; done",
		   unified(), workload->pid, frozen, frozen));
}

/* Before the attach, at a report, at a census, and while leakmon leaves. */
static void a_frozen_process_is_watched_and_left_as_any_other(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;
	json_t *report;

	free(shell(harness, 0,
		   "mkdir %s/leakmon-unusual-%d && echo %d > %s/leakmon-unusual-%d/cgroup.procs",
		   unified(), workload->pid, workload->pid, unified(), workload->pid));
	freeze(harness, workload, true);
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format", "json",
				   "3600");
	freeze(harness, workload, false);
	workload_do(harness, workload, "go");
	freeze(harness, workload, true);
	child_signal(monitor, SIGUSR1);
	report = monitor_report(harness, monitor);
	assert_int_equal(number_at(process_of(report, workload->pid), "outstanding_count"), 18);
	report = RETAIN(harness, workload);
	assert_int_equal(number_at(report, "pid"), workload->pid);
	report = monitor_stop(harness, monitor);
	freeze(harness, workload, false);
	expect_truth(report, workload_ask(harness, workload, "ledger"));
	workload_do(harness, workload, "go");
	quit(harness, workload);
	free(shell(harness, 0, "rmdir %s/leakmon-unusual-*", unified()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_process_with_an_io_uring_is_exact_and_can_be_stopped),
		e2e_test(a_process_with_nearly_as_many_mappings_as_it_may_have_is_exact),
		e2e_test(a_hardware_breakpoint_changes_nothing),
		e2e_test(a_frozen_process_is_watched_and_left_as_any_other),
	};

	return cmocka_run_group_tests_name("e2e_unusual", tests, NULL, NULL);
}
