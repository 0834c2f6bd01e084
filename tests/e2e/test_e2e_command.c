// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon -- CMD ARGS` and `leakmon -c 'CMD ARGS'`: from the first allocation to the exit.
 * quick leaks one block of 33 bytes before main() and then the requested number. */
#include "harness.h"

#include <signal.h>
#include <sys/resource.h>

static const char *quick_path(void)
{
	const char *workloads = getenv("LEAKMON_WORKLOADS");
	static char path[256];

	snprintf(path, sizeof(path), "%s/quick", workloads ? workloads : "build/workloads");
	return path;
}

/* Leakmon's last line, after it ended by itself with exit code 0. */
static json_t *run_to_the_end(struct harness *harness, struct child *monitor)
{
	json_t *last = NULL;

	if (child_end(harness, monitor))
		child_fail(monitor, "exit code %d", monitor->code);
	while (monitor->out.taken < monitor->out.size)
		last = monitor_report(harness, monitor);
	if (!last)
		child_fail(monitor, "no report");
	return last;
}

static json_t *only_process(json_t *report)
{
	json_t *processes = json_object_get(report, "processes");

	assert_int_equal(json_array_size(processes), 1);
	return json_array_get(processes, 0);
}

static void expect_quick(json_t *report, json_int_t blocks, json_int_t size)
{
	json_t *process = only_process(report);

	expect_balance(report);
	assert_int_equal(ledger_at(report, "allocations"), blocks + 1);
	assert_int_equal(ledger_at(report, "frees"), 0);
	assert_int_equal(ledger_at(report, "outstanding") + ledger_at(report, "purged"),
			 blocks + 1);
	assert_int_equal(dropped_sum(report), 0);
	expect_held(process, "leak_early", 1, 33);
	expect_held(process, "leak_quick", blocks, blocks * size);
	assert_true(json_is_true(json_object_get(process, "exact")));
}

static void a_command_is_seen_from_its_first_allocation(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *monitor = MONITOR(harness, "-o", "0", "--format", "json", "3600", "--",
					quick_path(), "10", "100");

	expect_quick(run_to_the_end(harness, monitor), 10, 100);
}

static void a_command_in_one_word_is_split_like_a_shell_does(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *monitor;
	char command[512];

	snprintf(command, sizeof(command), "'%s' \"7\" 64", quick_path());
	monitor = MONITOR(harness, "-o", "0", "--format", "json", "-c", command, "3600");
	expect_quick(run_to_the_end(harness, monitor), 7, 64);
}

static void a_quick_leak_is_not_too_young_for_the_last_report(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *monitor =
		MONITOR(harness, "--format", "json", "3600", "--", quick_path(), "10", "100");

	expect_quick(run_to_the_end(harness, monitor), 10, 100);
}

static void fail_over_catches_a_command_that_ends_at_once(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *leaks = MONITOR(harness, "--fail-over", "1032", "--", quick_path());
	struct child *passes = MONITOR(harness, "--fail-over", "1033", "--", quick_path());

	monitor_expect_error(harness, leaks, 3, "--fail-over");
	assert_int_equal(child_end(harness, passes), 0);
}

/* Allocations of dash and env are purged with them; their exec'd program is watched from its
 * start. */
static void an_exec_chain_is_followed(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *monitor;
	char script[512];
	json_t *report, *process;
	size_t i;

	snprintf(script, sizeof(script), "exec env SOME=thing '%s' 12 50", quick_path());
	monitor = MONITOR(harness, "-o", "0", "--format", "json", "3600", "--", "sh", "-c", script);
	report = run_to_the_end(harness, monitor);
	expect_balance(report);
	assert_int_equal(dropped_sum(report), 0);
	json_array_foreach(json_object_get(report, "processes"), i, process)
	{
		if (strcmp(json_string_value(json_object_get(process, "comm")), "quick") != 0)
			continue;
		expect_held(process, "leak_early", 1, 33);
		expect_held(process, "leak_quick", 12, 600);
		return;
	}
	fail_msg("quick is not in the report");
}

static void a_command_that_is_not_there_is_named(void **state)
{
	struct harness *harness = harness_bpf(state);

	monitor_expect_error(harness, MONITOR(harness, "--", "/nonexistent/program"), 1,
			     "/nonexistent/program");
	monitor_expect_error(harness, MONITOR(harness, "--", "no-such-program-in-path"), 1,
			     "no-such-program-in-path");
	monitor_expect_error(harness, MONITOR(harness, "-c", "/etc/passwd"), 1, "/etc/passwd");
}

/* Ctrl-C reaches the whole foreground group: the last report must come nevertheless. */
static void ctrl_c_ends_command_and_monitor_with_a_report(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *monitor = MONITOR_ATTACHED(harness, "-o", "0", "--format", "json", "3600",
						 "--", "sleep", "3600");

	assert_int_equal(kill(-monitor->pid, SIGINT), 0);
	expect_balance(run_to_the_end(harness, monitor));
}

static void sigint_to_the_monitor_alone_gives_a_report(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *monitor = MONITOR_ATTACHED(harness, "-o", "0", "--format", "json", "3600",
						 "--", "sleep", "3600");

	expect_balance(monitor_stop(harness, monitor));
}

/* Leakmon itself takes as many descriptors as it may. */
static void a_command_keeps_its_limit_of_open_files(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct rlimit limit;
	struct child *monitor;
	char words[64];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(limit.rlim_cur > 200);
	limit.rlim_cur -= 1; /* not a value that leakmon would choose */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	monitor = MONITOR(harness, "--output", "/dev/null", "3600", "--", "sh", "-c",
			  "echo limit $(ulimit -n)");
	snprintf(words, sizeof(words), "limit %llu\n", (unsigned long long)limit.rlim_cur);
	child_wait_text(harness, monitor, &monitor->out, words);
	assert_int_equal(child_end(harness, monitor), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_command_is_seen_from_its_first_allocation),
		e2e_test(a_command_in_one_word_is_split_like_a_shell_does),
		e2e_test(a_quick_leak_is_not_too_young_for_the_last_report),
		e2e_test(fail_over_catches_a_command_that_ends_at_once),
		e2e_test(an_exec_chain_is_followed),
		e2e_test(a_command_that_is_not_there_is_named),
		e2e_test(ctrl_c_ends_command_and_monitor_with_a_report),
		e2e_test(sigint_to_the_monitor_alone_gives_a_report),
		e2e_test(a_command_keeps_its_limit_of_open_files),
	};

	return cmocka_run_group_tests_name("e2e_command", tests, NULL, NULL);
}
