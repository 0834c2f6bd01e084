// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The contents of a report, on the smallest leaker: 10 × 100 bytes in leak_a, 5 × 1000 in leak_b, 3
 * × 4096 in leak_c, 7 × 200 freed again.
 */
#include "harness.h"

#include <signal.h>

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

		expect_text(frame, "function",
			    json_string_value(json_object_get(leak, "function")));
		expect_ends_with(frame, "file", "leak.c");
		assert_int_equal(number_at(frame, "line"), number_at(leak, "line"));
		expect_ends_with(frame, "module", "/workloads/leak");
		expect_text(frame_at(site, 1), "function", "repeat");
		expect_text(frame_at(site, 2), "function", "go");
	}
}

static void counters_of_a_site_show_what_was_freed(void **state)
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

/* Runs on leak.c in text form and returns leakmon's output. */
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

/* Sizes as people read them, or in bytes; the frames of the user, and no term that is zero. */
static void text_has_the_two_lines_of_memleak_and_the_leaking_line(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	const char *report = TEXT(harness, workload, "--bytes");
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
	expect_contains(report, "ledger: 25 allocations = 7 frees + 18 outstanding\n");
	assert_null(strstr(report, "_start"));
	assert_null(strstr(report, "[libc.so.6]"));
	/* No colour without a terminal. */
	assert_null(strchr(report, '\033'));
	report = TEXT(harness, workload);
	expect_contains(report, "\t12.0 KiB in 3 allocations from stack\n");
	report = TEXT(harness, workload, "-v");
	expect_contains(report, "_start+0x");
	expect_contains(report, "ledger: 25 allocations = 7 frees + 18 outstanding + 0 purged + "
				"0 dropped; 0 frees of untracked blocks");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(every_site_has_its_functions_and_lines),
		e2e_test(counters_of_a_site_show_what_was_freed),
		e2e_test(text_has_the_two_lines_of_memleak_and_the_leaking_line),
		e2e_test(show_allocs_lists_every_block),
		e2e_test(top_cuts_the_list_and_not_the_sums),
		e2e_test(sort_by_count_ranks_the_most_blocks_first),
	};

	return cmocka_run_group_tests_name("e2e_report", tests, NULL, NULL);
}
