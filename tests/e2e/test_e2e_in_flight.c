// SPDX-License-Identifier: GPL-2.0-or-later
/* Events inside a call of the allocator, and calls with an unfollowable return. */
#include "harness.h"

#include <signal.h>

static void set_preload(void)
{
	const char *directory = getenv("LEAKMON_WORKLOADS");
	char path[512];

	snprintf(path, sizeof(path), "%s/evictor.so", directory ? directory : "build/workloads");
	setenv("LD_PRELOAD", realpath(path, NULL), 1);
}

static struct child *cacher_start(struct harness *harness)
{
	const char *directory = getenv("LEAKMON_WORKLOADS");
	struct child *workload;
	char path[512], *line;

	snprintf(path, sizeof(path), "%s/cacher", directory ? directory : "build/workloads");
	workload = child_start(harness, path, ARGUMENTS("cacher"), set_preload);
	line = child_line(harness, workload, &workload->out);
	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
	return workload;
}

/* Checks after each command, with every attach method that has separate programs. */
static void what_happens_inside_a_call_is_counted_exactly(void **state)
{
	static const char *const methods[] = {"auto", "multi"};
	static const char *const commands[] = {"fill", "inner", "evict", "grow"};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < 2; i++) {
		struct child *workload = cacher_start(harness);
		struct child *monitor =
			MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format",
					 "json", "--attach", methods[i], "3600");

		for (size_t j = 0; j < 4; j++) {
			print_message("  %s, %s\n", methods[i], commands[j]);
			workload_do(harness, workload, commands[j]);
			child_signal(monitor, SIGUSR1);
			expect_truth(monitor_report(harness, monitor),
				     workload_ask(harness, workload, "ledger"));
		}
	}
}

static json_int_t dropped_at(json_t *report, const char *cause)
{
	return number_at(json_object_get(json_object_get(report, "ledger"), "dropped"), cause);
}

/*
 * The kernel keeps 64 return probes per thread, and drops further ones. Another tool's are on 150
 * levels of a function: 63 levels allocate with room for one more.
 */
static void calls_beyond_the_kernels_limit_of_return_probes_are_dropped(void **state)
{
	static const char *const methods[] = {"auto", "multi"};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < 2; i++) {
		struct child *workload = WORKLOAD(harness, "nester");
		struct child *other = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-S",
						       "nest_", "--attach=multi", "3600");
		struct child *monitor =
			MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format",
					 "json", "--attach", methods[i], "3600");
		json_t *report;

		workload_do(harness, workload, "go");
		child_signal(monitor, SIGUSR1);
		report = monitor_report(harness, monitor);
		expect_balance(report);
		assert_int_equal(ledger_at(report, "allocations"), 250);
		assert_int_equal(ledger_at(report, "outstanding"), 100 + 63);
		assert_int_equal(dropped_at(report, "depth"), 150 - 63);
		assert_int_equal(ledger_at(report, "abandoned"), 0);
		assert_true(
			json_is_false(json_object_get(process_of(report, workload->pid), "exact")));
		/* 63 are followed to their new size; unknown blocks are expected. */
		workload_do(harness, workload, "resize");
		child_signal(monitor, SIGUSR1);
		report = monitor_report(harness, monitor);
		expect_balance(report);
		assert_int_equal(ledger_at(report, "outstanding_bytes"), 100 * 16 + 63 * 40);
		assert_int_equal(dropped_at(report, "depth"), 2 * (150 - 63));
		assert_int_equal(ledger_at(report, "untracked_frees"), 150 - 63);
		workload_do(harness, workload, "free");
		report = monitor_stop(harness, monitor);
		expect_balance(report);
		assert_int_equal(ledger_at(report, "outstanding"), 100);
		assert_int_equal(dropped_sum(report), 2 * (150 - 63));
		child_kill(other);
		child_kill(workload);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(what_happens_inside_a_call_is_counted_exactly),
		e2e_test(calls_beyond_the_kernels_limit_of_return_probes_are_dropped),
	};

	return cmocka_run_group_tests_name("e2e_in_flight", tests, NULL, NULL);
}
