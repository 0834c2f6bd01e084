// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Times, destinations and contents of reports, on the smallest leaker: 10 × 100 bytes in leak_a, 5
 * × 1000 in leak_b, 3 × 4096 in leak_c, 7 × 200 freed again.
 */
#include "harness.h"

#include <signal.h>

struct size_case {
	const char *min, *max;
	json_int_t count, bytes, allocations, frees;
};

static void size_limits_leave_out_other_sizes(void **state)
{
	static const struct size_case cases[] = {
		{"1000", "18446744073709551615", 8, 17288, 8, 0},
		{"0", "1000", 15, 6000, 22, 7},
		{"101", "4095", 5, 5000, 12, 7},
		{"100", "100", 10, 1000, 10, 0},
	};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct size_case *row = &cases[i];
		struct child *workload = WORKLOAD(harness, "leak");
		json_t *report = WATCH(harness, workload, "go", "-z", row->min, "-Z", row->max);
		json_t *process = process_of(report, workload->pid);

		expect_balance(report);
		assert_int_equal(number_at(process, "outstanding_count"), row->count);
		assert_int_equal(number_at(process, "outstanding_bytes"), row->bytes);
		assert_int_equal(ledger_at(report, "allocations"), row->allocations);
		assert_int_equal(ledger_at(report, "frees"), row->frees);
	}
}

static void older_leaves_out_young_blocks_but_not_from_the_ledger(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "3600000",
						 "--format", "json", "3600");
	json_t *report;

	workload_do(harness, workload, "go");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	assert_int_equal(ledger_at(report, "outstanding"), 18);
	assert_int_equal(number_at(process_of(report, workload->pid), "outstanding_count"), 0);
	assert_int_equal(
		json_array_size(json_object_get(process_of(report, workload->pid), "sites")), 0);
}

static void interval_and_count_give_so_many_reports(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor =
		MONITOR_ATTACHED(harness, "-p", workload->pid_text, "--format", "json", "0.2", "3");

	for (int i = 1; i <= 3; i++)
		assert_int_equal(number_at(monitor_report(harness, monitor), "sequence"), i);
	assert_int_equal(child_end(harness, monitor), 0);
	assert_int_equal(monitor->out.taken, monitor->out.size);
}

static void sigusr1_takes_a_snapshot_now(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	json_t *report;

	for (int i = 1; i <= 2; i++) {
		workload_do(harness, workload, "go");
		child_signal(monitor, SIGUSR1);
		report = monitor_report(harness, monitor);
		assert_int_equal(number_at(report, "sequence"), i);
		expect_held(process_of(report, workload->pid), "leak_a", 10 * i, 1000 * i);
	}
	report = monitor_stop(harness, monitor);
	assert_int_equal(number_at(report, "sequence"), 3);
	assert_int_equal(ledger_at(report, "outstanding"), 36);
}

static void sigterm_gives_a_last_report(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");

	workload_do(harness, workload, "go");
	child_signal(monitor, SIGTERM);
	assert_int_equal(child_end(harness, monitor), 0);
	assert_int_equal(ledger_at(monitor_report(harness, monitor), "outstanding"), 18);
}

static void output_goes_to_the_file_and_not_to_stdout(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;
	char path[64];
	json_t *report;

	snprintf(path, sizeof(path), "%s/report.json", harness->directory);
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format", "json",
				   "--output", path, "3600");
	workload_do(harness, workload, "go");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	assert_int_equal(monitor->out.size, 0);
	report = json_load_file(path, JSON_DISABLE_EOF_CHECK, NULL);
	assert_non_null(report);
	json_array_append_new(harness->documents, report);
	assert_int_equal(ledger_at(report, "outstanding"), 18);
}

static void fail_over_exits_with_3_only_above_the_limit(void **state)
{
	static const struct {
		const char *limit;
		int code;
	} cases[] = {{"18287", 3}, {"18288", 0}, {"1G", 0}, {"0", 3}};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct child *workload = WORKLOAD(harness, "leak");
		struct child *monitor =
			MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
					 "--fail-over", cases[i].limit, "3600");

		workload_do(harness, workload, "go");
		child_signal(monitor, SIGINT);
		if (child_end(harness, monitor) != cases[i].code)
			child_fail(monitor, "--fail-over %s: exit code %d", cases[i].limit,
				   monitor->code);
	}
}

static void two_processes_are_counted_apart(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *one = WORKLOAD(harness, "leak"), *two = WORKLOAD(harness, "allocators");
	struct child *monitor;
	char pids[64];
	json_t *report;

	snprintf(pids, sizeof(pids), "%s,%s", one->pid_text, two->pid_text);
	monitor = MONITOR(harness, "-p", pids, "-o", "0", "--format", "json", "3600");
	snprintf(pids, sizeof(pids), "attached to PID %s", one->pid_text);
	child_wait_text(harness, monitor, &monitor->err, pids);
	snprintf(pids, sizeof(pids), "attached to PID %s", two->pid_text);
	child_wait_text(harness, monitor, &monitor->err, pids);
	workload_do(harness, one, "go");
	workload_do(harness, two, "go");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	assert_int_equal(number_at(process_of(report, one->pid), "outstanding_count"), 18);
	expect_held(process_of(report, one->pid), "leak_b", 5, 5000);
	expect_held(process_of(report, two->pid), "case_malloc", 1, 11);
	assert_int_equal(number_at(process_of(report, two->pid), "outstanding_count"),
			 number_at(workload_ask(harness, two, "ledger"), "outstanding_count"));
}

/* The neighbour runs the same code from the same files; nothing of it may be counted. */
static void a_process_that_was_not_named_is_not_counted(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *neighbour = WORKLOAD(harness, "leak");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	json_t *report;

	workload_do(harness, neighbour, "go");
	workload_do(harness, workload, "go");
	report = monitor_stop(harness, monitor);
	assert_int_equal(json_array_size(json_object_get(report, "processes")), 1);
	expect_truth(report, workload_ask(harness, workload, "ledger"));
}

static void object_names_the_file_to_probe(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	json_t *report = WATCH(harness, workload, "go", "-O", "/lib/x86_64-linux-gnu/libc.so.6");

	expect_truth(report, workload_ask(harness, workload, "ledger"));
}

/* Sampled numbers are marked as estimates; the ledger counts the sampled blocks exactly. */
static void sampling_is_called_an_estimate(void **state)
{
	static const char *const options[][2] = {{"--sample-bytes", "4K"}, {"--sample-rate", "3"}};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < 2; i++) {
		struct child *workload = WORKLOAD(harness, "blocks", "20000", "64");
		json_t *report = WATCH(harness, workload, "go", options[i][0], options[i][1]);

		expect_balance(report);
		assert_int_equal(ledger_at(report, "allocations") + ledger_at(report, "unsampled"),
				 20000);
		assert_true(
			json_is_false(json_object_get(process_of(report, workload->pid), "exact")));
	}
}

static size_t lines_with(const char *text, const char *word)
{
	size_t count = 0;

	for (text = strstr(text, word); text; text = strstr(text + 1, word))
		count++;
	return count;
}

/* 25 allocations, of which 7 are freed. */
static void trace_prints_every_allocation_and_every_free(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor =
		MONITOR_ATTACHED(harness, "-p", workload->pid_text, "--trace", "3600");

	workload_do(harness, workload, "go");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	assert_int_equal(lines_with(monitor->out.text, " malloc allocated "), 25);
	assert_int_equal(lines_with(monitor->out.text, " free freed "), 7);
	assert_int_equal(lines_with(monitor->out.text, " allocated 4096 bytes at 0x"), 3);
	assert_int_equal(lines_with(monitor->out.text, " freed 200 bytes at 0x"), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(size_limits_leave_out_other_sizes),
		e2e_test(older_leaves_out_young_blocks_but_not_from_the_ledger),
		e2e_test(interval_and_count_give_so_many_reports),
		e2e_test(sigusr1_takes_a_snapshot_now),
		e2e_test(sigterm_gives_a_last_report),
		e2e_test(output_goes_to_the_file_and_not_to_stdout),
		e2e_test(fail_over_exits_with_3_only_above_the_limit),
		e2e_test(two_processes_are_counted_apart),
		e2e_test(a_process_that_was_not_named_is_not_counted),
		e2e_test(object_names_the_file_to_probe),
		e2e_test(sampling_is_called_an_estimate),
		e2e_test(trace_prints_every_allocation_and_every_free),
	};

	return cmocka_run_group_tests_name("e2e_watch", tests, NULL, NULL);
}
