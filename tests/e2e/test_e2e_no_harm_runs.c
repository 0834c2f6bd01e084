// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ways in which monitors have harmed processes, each repeated: no process may die, hang or
 * notice. LEAKMON_RUNS sets the repetitions (1); the number of runs of each is printed.
 */
#include "harness.h"

#include <signal.h>
#include <time.h>

#define RUNS 1

static void expect_unharmed(struct harness *harness, struct child *workload,
			    const char *const *commands)
{
	for (; *commands; commands++)
		workload_do(harness, workload, *commands);
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

/* The workload's state before the attach keeps leakmon away. */
static void expect_refused(struct harness *harness, const char *name, const char *before,
			   const char *method, const char *words)
{
	struct child *workload = WORKLOAD(harness, name);

	workload_do(harness, workload, before);
	monitor_expect_error(harness,
			     MONITOR(harness, "-p", workload->pid_text, "--attach", method, "3600"),
			     1, words);
	expect_unharmed(harness, workload,
			strcmp(name, "dispatcher") ? ARGUMENTS("go", "go-second")
						   : ARGUMENTS("go", "threads"));
}

static void hook_before(struct harness *harness)
{
	expect_refused(harness, "rewriter", "hook", "auto", "has changed code of");
}

static void hook_before_perf(struct harness *harness)
{
	expect_refused(harness, "rewriter", "hook", "perf", "has changed code of");
}

static void move_before(struct harness *harness)
{
	expect_refused(harness, "rewriter", "move", "auto", "has moved code of");
}

static void move_of_a_page_before(struct harness *harness)
{
	expect_refused(harness, "rewriter", "move-part", "auto", "has moved code of");
}

static void dispatch_before(struct harness *harness)
{
	expect_refused(harness, "dispatcher", "on", "auto", "is under Syscall User Dispatch");
}

static void dispatch_before_multi(struct harness *harness)
{
	expect_refused(harness, "dispatcher", "on", "multi", "is under Syscall User Dispatch");
}

static void dispatch_before_perf(struct harness *harness)
{
	expect_refused(harness, "dispatcher", "on", "perf", "is under Syscall User Dispatch");
}

/* Changes to its code while it is watched. */
static void change_after(struct harness *harness, const char *command, const char *method)
{
	struct child *workload = WORKLOAD(harness, "rewriter");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "--attach",
						 method, "--format", "json", "3600");

	workload_do(harness, workload, "go");
	workload_do(harness, workload, command);
	child_signal(monitor, SIGUSR1);
	monitor_report(harness, monitor);
	workload_do(harness, workload, "go");
	monitor_stop(harness, monitor);
	expect_unharmed(harness, workload, ARGUMENTS("go", "go-second"));
}

static void hook_after(struct harness *harness)
{
	change_after(harness, "hook", "auto");
}

static void hook_after_perf(struct harness *harness)
{
	change_after(harness, "hook", "perf");
}

static void move_after(struct harness *harness)
{
	change_after(harness, "move", "auto");
}

static void drop_after(struct harness *harness)
{
	change_after(harness, "forget", "auto");
}

/* Four threads allocate without a pause. */
static void storm_through_attach_and_detach(struct harness *harness)
{
	struct child *workload = WORKLOAD(harness, "crasher"), *monitor;

	workload_do(harness, workload, "storm");
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "--format", "json", "3600");
	expect_balance(monitor_stop(harness, monitor));
	expect_unharmed(harness, workload, ARGUMENTS("calm"));
}

static void storm_through_the_monitors_death(struct harness *harness)
{
	struct child *workload = WORKLOAD(harness, "crasher"), *monitor;

	workload_do(harness, workload, "storm");
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "3600");
	child_signal(monitor, SIGKILL);
	child_end(harness, monitor);
	expect_unharmed(harness, workload, ARGUMENTS("calm"));
}

static void stop_for_a_census(struct harness *harness)
{
	struct child *workload = WORKLOAD(harness, "crasher"), *monitor;

	workload_do(harness, workload, "storm");
	monitor = MONITOR(harness, "retain", "-p", workload->pid_text, "--census", "--format",
			  "json");
	assert_int_equal(child_end(harness, monitor), 0);
	expect_unharmed(harness, workload, ARGUMENTS("calm"));
}

static const struct {
	const char *name;
	void (*run)(struct harness *harness);
} kinds[] = {
	{"hooked before the attach", hook_before},
	{"hooked before the attach (perf)", hook_before_perf},
	{"moved before the attach", move_before},
	{"a page moved before the attach", move_of_a_page_before},
	{"dispatching before the attach", dispatch_before},
	{"dispatching before the attach (multi)", dispatch_before_multi},
	{"dispatching before the attach (perf)", dispatch_before_perf},
	{"hooked after the attach", hook_after},
	{"hooked after the attach (perf)", hook_after_perf},
	{"moved after the attach", move_after},
	{"dropped after the attach", drop_after},
	{"attached to and left in a storm", storm_through_attach_and_detach},
	{"monitor killed in a storm", storm_through_the_monitors_death},
	{"stopped for a census in a storm", stop_for_a_census},
};

static void nobody_is_harmed(void **state)
{
	const char *given = getenv("LEAKMON_RUNS");
	size_t runs = given ? strtoul(given, NULL, 10) : RUNS;

	harness_bpf(state);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (size_t run = 0; run < runs; run++) {
			kinds[i].run(harness_bpf(state));
			/* A harness has room for a limited number of children. */
			harness_teardown(state);
			assert_int_equal(harness_setup(state), 0);
		}
		print_message("  %s: %zu runs, nobody was harmed\n", kinds[i].name, runs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {e2e_test(nobody_is_harmed)};

	return cmocka_run_group_tests_name("e2e_no_harm_runs", tests, NULL, NULL);
}
