// SPDX-License-Identifier: GPL-2.0-or-later
/* What a report shows and what the options do to it, on the smallest leaker:
 * 10 × 100 bytes in leak_a, 5 × 1000 in leak_b, 3 × 4096 in leak_c, 7 × 200 freed again. */
#include "harness.h"

#include <signal.h>
#include <sys/stat.h>

static json_t *site_at(json_t *process, size_t index)
{
	json_t *site = json_array_get(json_object_get(process, "sites"), index);

	assert_non_null(site);
	return site;
}

static json_t *frame_at(json_t *site, size_t index)
{
	json_t *frame = json_array_get(json_object_get(site, "frames"), index);

	assert_non_null(frame);
	return frame;
}

static void expect_text(json_t *object, const char *key, const char *want)
{
	const char *got = json_string_value(json_object_get(object, key));

	assert_non_null(got);
	assert_string_equal(got, want);
}

static void expect_ends_with(json_t *object, const char *key, const char *end)
{
	const char *got = json_string_value(json_object_get(object, key));

	if (!got || strlen(got) < strlen(end) || strcmp(got + strlen(got) - strlen(end), end) != 0)
		fail_msg("%s is %s, must end with %s", key, got ? got : "null", end);
}

static void every_site_has_its_functions_and_lines(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	json_t *report = WATCH(harness, workload, "go");
	json_t *truth = workload_ask(harness, workload, "ledger");
	json_t *process = process_of(report, workload->pid);
	json_t *leaks = json_object_get(truth, "sites");
	static const size_t by_bytes[] = {2, 1, 0};

	expect_truth(report, truth);
	expect_text(process, "comm", "leak");
	expect_ends_with(process, "exe", "/workloads/leak");
	assert_int_equal(number_at(report, "schema"), 1);
	assert_int_equal(number_at(report, "sequence"), 1);
	for (size_t i = 0; i < 3; i++) {
		json_t *leak = json_array_get(leaks, by_bytes[i]);
		json_t *site = site_at(process, i), *frame = frame_at(site, 0);

		expect_text(frame, "function", json_string_value(json_object_get(leak, "function")));
		expect_ends_with(frame, "file", "leak.c");
		assert_int_equal(number_at(frame, "line"), number_at(leak, "line"));
		expect_ends_with(frame, "module", "/workloads/leak");
		expect_text(frame_at(site, 1), "function", "repeat");
		expect_text(frame_at(site, 2), "function", "go");
	}
}

static void counters_of_a_site_tell_what_was_freed(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "blocks", "50", "24");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	json_t *site;

	workload_do(harness, workload, "go");
	workload_do(harness, workload, "free");
	workload_do(harness, workload, "go");
	site = site_at(process_of(monitor_stop(harness, monitor), workload->pid), 0);
	assert_int_equal(number_at(site, "count"), 50);
	assert_int_equal(number_at(site, "bytes"), 1200);
	assert_int_equal(number_at(site, "allocated_count"), 100);
	assert_int_equal(number_at(site, "allocated_bytes"), 2400);
	assert_int_equal(number_at(site, "freed_count"), 50);
	assert_int_equal(number_at(site, "freed_bytes"), 1200);
}

/* Runs on leak.c in text form and returns what leakmon printed. */
#define TEXT(harness, workload, ...)                                                               \
	text(harness, workload,                                                                    \
	     ARGUMENTS("leakmon", "-p", (workload)->pid_text, "-o", "0", ##__VA_ARGS__, "3600"))
static const char *text(struct harness *harness, struct child *workload, const char *const *argv)
{
	struct child *monitor = monitor_attached(harness, monitor_start(harness, argv, NULL));

	workload_do(harness, workload, "go");
	child_signal(monitor, SIGINT);
	if (child_end(harness, monitor))
		child_fail(monitor, "exit code %d", monitor->code);
	assert_non_null(monitor->out.text);
	return monitor->out.text;
}

static void expect_contains(const char *haystack, const char *needle)
{
	if (!strstr(haystack, needle))
		fail_msg("`%s` is not in:\n%s", needle, haystack);
}

static size_t occurrences(const char *haystack, const char *needle)
{
	size_t count = 0;

	for (const char *at = haystack; (at = strstr(at, needle)); at += strlen(needle))
		count++;
	return count;
}

static void text_has_the_two_lines_of_memleak_and_the_leaking_line(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	const char *report = TEXT(harness, workload);
	json_t *truth = workload_ask(harness, workload, "ledger");
	char line[64];

	expect_contains(report, "] Top 3 stacks with outstanding allocations:\n");
	expect_contains(report, "\t12288 bytes in 3 allocations from stack\n");
	expect_contains(report, "\t5000 bytes in 5 allocations from stack\n");
	expect_contains(report, "\t1000 bytes in 10 allocations from stack\n");
	expect_contains(report, "\t\tleak_c+0x");
	snprintf(line, sizeof(line), "leak.c:%d [leak]",
		 (int)number_at(json_array_get(json_object_get(truth, "sites"), 2), "line"));
	expect_contains(report, line);
	expect_contains(report, "ledger: 25 allocations = 7 frees + 18 outstanding + 0 purged + "
				"0 dropped; 0 frees of untracked blocks");
	/* No colour where there is no terminal. */
	assert_null(strchr(report, '\033'));
}

static void show_allocs_lists_every_block(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	const char *report = TEXT(harness, workload, "-a");

	assert_int_equal(occurrences(report, "\taddr = "), 18);
	assert_int_equal(occurrences(report, " size = 100 "), 10);
	assert_int_equal(occurrences(report, " size = 1000 "), 5);
	assert_int_equal(occurrences(report, " size = 4096 "), 3);
}

static void top_cuts_the_list_and_not_the_sums(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	json_t *process = process_of(WATCH(harness, workload, "go", "-T", "1"), workload->pid);

	assert_int_equal(json_array_size(json_object_get(process, "sites")), 1);
	expect_held(process, "leak_c", 3, 12288);
	assert_int_equal(number_at(process, "outstanding_count"), 18);
	assert_int_equal(number_at(process, "outstanding_bytes"), 18288);
}

static void sort_by_count_ranks_the_most_blocks_first(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	json_t *report = WATCH(harness, workload, "go", "--sort", "count");
	static const char *const order[] = {"leak_a", "leak_b", "leak_c"};

	for (size_t i = 0; i < 3; i++)
		expect_text(frame_at(site_at(process_of(report, workload->pid), i), 0), "function",
			    order[i]);
}

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
		json_t *report =
			WATCH(harness, workload, "go", "-z", row->min, "-Z", row->max);
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
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o",
						 "3600000", "--format", "json", "3600");
	json_t *report;

	workload_do(harness, workload, "go");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	assert_int_equal(ledger_at(report, "outstanding"), 18);
	assert_int_equal(number_at(process_of(report, workload->pid), "outstanding_count"), 0);
	assert_int_equal(json_array_size(json_object_get(process_of(report, workload->pid),
							 "sites")),
			 0);
}

static void interval_and_count_give_so_many_reports(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "--format",
						 "json", "0.2", "3");

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
		struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o",
							 "0", "--fail-over", cases[i].limit,
							 "3600");

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

/* Sampled numbers are estimates, and say so; the ledger counts the sampled blocks exactly. */
static void sampling_is_called_an_estimate(void **state)
{
	static const char *const options[][2] = {{"--sample-bytes", "4K"}, {"--sample-rate", "3"}};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < 2; i++) {
		struct child *workload = WORKLOAD(harness, "blocks", "20000", "64");
		json_t *report =
			WATCH(harness, workload, "go", options[i][0], options[i][1]);

		expect_balance(report);
		assert_int_equal(ledger_at(report, "allocations") + ledger_at(report, "unsampled"),
				 20000);
		assert_true(json_is_false(
			json_object_get(process_of(report, workload->pid), "exact")));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(every_site_has_its_functions_and_lines),
		e2e_test(counters_of_a_site_tell_what_was_freed),
		e2e_test(text_has_the_two_lines_of_memleak_and_the_leaking_line),
		e2e_test(show_allocs_lists_every_block),
		e2e_test(top_cuts_the_list_and_not_the_sums),
		e2e_test(sort_by_count_ranks_the_most_blocks_first),
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
	};

	return cmocka_run_group_tests_name("e2e_watch", tests, NULL, NULL);
}
