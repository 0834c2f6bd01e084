// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Targets of leakmon profile: idle, stopped, replaced and ended ones; effects of windows on them.
 */
#include <math.h>

#include "base/cleanup.h"
#include "code_bytes.h"
#include "dripper.h"
#include "shell.h"

/* It counts as using a twentieth of a core, and loses next to nothing of that. */
static void a_process_that_is_idle_has_windows_out_of_its_floor(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor = MONITOR_ATTACHED(harness, "profile", "-p", workload->pid_text,
						 "--format", "json", "1");
	json_t *report = after_windows(harness, monitor, 1);
	json_t *process = process_of(report, workload->pid);

	assert_true(real_at(process, "spent") <= 0.01);
	assert_int_equal(number_at(process, "samples"), 0);
	monitor_stop(harness, monitor);
	workload_do(harness, workload, "go");
}

static json_t *until_exact(struct harness *harness, struct child *monitor, pid_t pid, double s)
{
	for (;;) {
		json_t *report = monitor_report(harness, monitor);
		json_t *exact = json_object_get(process_of(report, pid), "exact");

		if (json_is_object(exact) && real_at(exact, "seconds") >= s)
			return report;
	}
}

/* A round of 321 allocations and as many frees each 0.2 s, and 20 blocks a second that stay. At 10
 * % of a core, which holds on a machine that is busy with other tests. */
static void a_process_with_few_events_is_tracked_exactly(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = dripper_run(harness, "dripper", NULL, "20", "200000", NULL);
	struct child *monitor = MONITOR(harness, "profile", "-p", workload->pid_text, "--overhead",
					"10%", "--format", "json", "1");
	pid_t pid = workload->pid;
	json_t *report = until_exact(harness, monitor, pid, 20), *process = process_of(report, pid);
	json_t *exact = json_object_get(process, "exact"), *drip = site_of(process, "drip");
	double seconds = real_at(exact, "seconds"), rate;

	expect_schema(harness, report, "profile");
	assert_true(real_at(exact, "core") < 0.1);
	/* All of the time is tracked, and each of its events is counted. */
	assert_true(real_at(process, "tracked_s") > 0.8 * seconds);
	monitor_stop(harness, monitor);
	rate = rate_of(harness, workload);
	assert_true(real_at(exact, "events_per_s") > 0.7 * (642 * 5 + rate));
	assert_true(real_at(exact, "events_per_s") < 1.05 * (642 * 5 + rate));
	assert_true(fabs(real_at(drip, "births_per_s") - rate) < 0.1 * rate);
	assert_int_equal(site_rank(process, "drip"), 0);
}

/* An expensive target is profiled in windows, and takes nothing from the budget of a cheap one. */
static void of_several_targets_each_is_tracked_in_its_way(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *quiet = dripper_run(harness, "dripper", NULL, "20", "1000000", NULL);
	struct child *busy = dripper_start(harness, "dripper", NULL, NULL);
	struct child *monitor = MONITOR(harness, "profile", "-n", "dripper", "--overhead", "20%",
					"--format", "json", "1");
	json_t *report, *process;

	monitor_wait_attached(harness, monitor, busy->pid);
	do {
		report = until_exact(harness, monitor, quiet->pid, 5);
		process = process_of(report, busy->pid);
	} while (number_at(process, "windows") < 5);
	assert_true(json_is_null(json_object_get(process, "exact")));
	assert_true(real_at(process, "spent") <= 0.4);
	assert_int_equal(site_rank(process, "drip"), 0);
	monitor_stop(harness, monitor);
	rate_of(harness, quiet);
	rate_of(harness, busy);
}

/* Exceptions, cancellation and forks all the while: it ends as it does alone. */
static void many_windows_do_no_harm_and_leave_no_probe(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "turmoil");
	struct child *monitor = MONITOR(harness, "profile", "-p", workload->pid_text, "--overhead",
					"50%", "--format", "json", "1");
	const char *windows = getenv("LEAKMON_TEST_WINDOWS");

	after_windows(harness, monitor, windows ? atoll(windows) : 60);
	monitor_stop(harness, monitor);
	assert_int_equal(code_difference(workload->pid), 0);
	child_signal(workload, SIGTERM);
	assert_int_equal(child_end(harness, workload), 43);
}

/* Between two windows or in one: nothing waits for it, and it continues unchanged. */
static void a_target_that_is_stopped_meanwhile_goes_on(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = dripper_start(harness, "dripper", NULL, NULL);
	struct child *monitor = PROFILE(harness, workload);
	json_int_t windows = number_at(after_windows(harness, monitor, 5), "windows");

	child_signal(workload, SIGSTOP);
	monitor_report(harness, monitor);
	monitor_report(harness, monitor);
	child_signal(workload, SIGCONT);
	after_windows(harness, monitor, windows + 5);
	monitor_stop(harness, monitor);
	rate_of(harness, workload);
}

/* The former program is gone, with its sites. */
static void a_target_that_execs_begins_anew(void **state)
{
	struct harness *harness = harness_bpf(state);
	const char *directory = getenv("LEAKMON_WORKLOADS");
	char command[512];
	struct child *workload, *monitor;
	json_t *process;

	/* A shell that allocates until it has to become the other one. */
	snprintf(command, sizeof(command),
		 "echo ready $$; trap 'exec %s/dripper 200 20' TERM; while :; do x=\"$x$x.\"; "
		 "x=${x%%%%??????????*}; done",
		 directory ? directory : "build/workloads");
	workload = child_start(harness, "/bin/sh", ARGUMENTS("sh", "-c", command), NULL);
	free(child_line(harness, workload, &workload->out));
	monitor = PROFILE(harness, workload);
	after_windows(harness, monitor, 5);
	child_signal(workload, SIGTERM);
	for (;;) {
		process = process_of(monitor_report(harness, monitor), workload->pid);
		if (!strcmp(json_string_value(json_object_get(process, "comm")), "dripper") &&
		    number_at(process, "windows") >= 10)
			break;
	}
	assert_int_equal(site_rank(process, "drip"), 0);
	monitor_stop(harness, monitor);
}

/* The last report includes it. */
static void a_target_that_ends_is_reported(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = dripper_start(harness, "dripper", NULL, NULL);
	pid_t pid = workload->pid;
	struct child *monitor = PROFILE(harness, workload);
	json_t *process, *report;

	after_windows(harness, monitor, 10);
	rate_of(harness, workload);
	assert_int_equal(child_end(harness, monitor), 0);
	report = NULL;
	while (monitor->out.taken < monitor->out.size)
		report = monitor_report(harness, monitor);
	assert_non_null(report);
	process = process_of(report, pid);
	assert_true(json_is_true(json_object_get(process, "exited")));
	assert_int_equal(site_rank(process, "drip"), 0);
}

static void set_perturb(void)
{
	setenv("MALLOC_PERTURB_", "165", 1);
}

/* leakmon's freed memory is overwritten: reports on a window would be nonsense. */
static void processes_that_end_while_their_probes_go_are_accounted_for(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *stays = dripper_start(harness, "dripper", NULL, NULL);
	struct child *monitor =
		monitor_start(harness,
			      ARGUMENTS("leakmon", "profile", "-v", "-n", "dripper", "--overhead",
					"50%", "--format", "json", "0.02"),
			      set_perturb);
	pid_t pids[12] = {stays->pid};
	size_t windows = 0;

	monitor_wait_attached(harness, monitor, stays->pid);
	for (size_t i = 1; i < ARRAY_SIZE(pids); i++) {
		struct child *leaves = dripper_start(harness, "dripper", NULL, NULL);
		json_t *process;

		pids[i] = leaves->pid;
		do
			process = process_in(monitor_report(harness, monitor), pids[i]);
		while (!process || number_at(process, "windows") < 1);
		child_signal(leaves, SIGKILL);
		assert_int_equal(child_end(harness, leaves), 128 + SIGKILL);
	}
	after_windows(harness, monitor, 1);
	monitor_stop(harness, monitor);
	while (monitor->err.taken < monitor->err.size) {
		char *line = child_line(harness, monitor, &monitor->err);
		bool known = false;
		pid_t pid;

		if (strstr(line, ": a window of ") && sscanf(line, "leakmon: PID %d:", &pid) == 1) {
			for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
				known |= pid == pids[i];
			assert_true(known);
			windows++;
		}
		free(line);
	}
	assert_true(windows > ARRAY_SIZE(pids));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_process_that_is_idle_has_windows_out_of_its_floor),
		e2e_test(a_process_with_few_events_is_tracked_exactly),
		e2e_test(of_several_targets_each_is_tracked_in_its_way),
		e2e_test(many_windows_do_no_harm_and_leave_no_probe),
		e2e_test(a_target_that_is_stopped_meanwhile_goes_on),
		e2e_test(a_target_that_execs_begins_anew),
		e2e_test(a_target_that_ends_is_reported),
		e2e_test(processes_that_end_while_their_probes_go_are_accounted_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
