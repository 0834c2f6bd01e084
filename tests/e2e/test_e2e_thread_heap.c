// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks of ended threads, against a program that knows the allocating threads. */
#include "harness.h"

#include <signal.h>

/* Sums over sites of one function, as "bytes" and "count" under some names. */
static struct held sum_of(json_t *process, const char *function, const char *bytes,
			  const char *count)
{
	struct held held = {0};
	json_t *site;
	size_t i;

	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		json_t *frames = json_object_get(site, "frames");
		json_t *name = json_object_get(json_array_get(frames, 0), "function");

		if (!json_is_string(name) || strcmp(json_string_value(name), function) != 0)
			continue;
		held.sites++;
		held.bytes += number_at(site, bytes);
		held.count += number_at(site, count);
	}
	return held;
}

static struct held truth_of(json_t *truth, const char *function)
{
	struct held held = {0};
	json_t *site;
	size_t i;

	json_array_foreach(json_object_get(truth, "sites"), i, site)
	{
		if (strcmp(json_string_value(json_object_get(site, "function")), function) != 0)
			continue;
		held.bytes = number_at(site, "bytes");
		held.count = number_at(site, "count");
	}
	return held;
}

/* All allocations of `function` are there and marked, or none is. */
static void expect_mark(json_t *process, json_t *truth, const char *function, bool dead)
{
	struct held is = truth_of(truth, function);
	struct held marked = sum_of(process, function, "by_dead_bytes", "by_dead_count");

	expect_held(process, function, is.count, is.bytes);
	assert_int_equal(marked.count, dead ? is.count : 0);
	assert_int_equal(marked.bytes, dead ? is.bytes : 0);
}

static json_t *report_now(struct harness *harness, struct child *workload, struct child *monitor)
{
	child_signal(monitor, SIGUSR1);
	return process_of(monitor_report(harness, monitor), workload->pid);
}

/* Unjoined threads, with their stacks and their blocks. */
static void expect_forgotten(json_t *process, json_t *truth, json_int_t alive)
{
	json_t *threads = json_object_get(process, "threads");
	json_t *groups = json_object_get(threads, "groups");
	json_t *group = json_array_get(groups, 0);
	json_t *frame = json_array_get(json_object_get(group, "frames"), 1);
	struct held forgotten = truth_of(truth, "leak_forgotten");

	assert_int_equal(number_at(threads, "alive"), alive);
	assert_int_equal(number_at(threads, "dead"), 20);
	assert_int_equal(number_at(threads, "dead_stack_bytes"), 20 * (8 << 20));
	assert_int_equal(number_at(threads, "dead_heap_count"), forgotten.count);
	assert_int_equal(number_at(threads, "dead_heap_bytes"), forgotten.bytes);
	assert_int_equal(json_array_size(groups), 1);
	assert_int_equal(number_at(group, "count"), 20);
	assert_int_equal(number_at(group, "heap_count"), forgotten.count);
	assert_string_equal(json_string_value(json_object_get(frame, "function")),
			    "create_forgotten");
}

static void blocks_of_threads_that_ended_are_marked(void **state)
{
	static const char *const ended[] = {"leak_joined", "leak_detached", "leak_forgotten"};
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "thread_heap");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	json_t *process, *truth;

	workload_do(harness, workload, "go");
	process = report_now(harness, workload, monitor);
	truth = workload_ask(harness, workload, "ledger");
	for (size_t i = 0; i < sizeof(ended) / sizeof(ended[0]); i++)
		expect_mark(process, truth, ended[i], true);
	expect_mark(process, truth, "leak_staying", false);
	expect_mark(process, truth, "leak_main", false);
	expect_forgotten(process, truth, 1 + 10);
	workload_do(harness, workload, "end");
	process = report_now(harness, workload, monitor);
	expect_mark(process, truth, "leak_staying", true);
	expect_mark(process, truth, "leak_main", false);
	expect_forgotten(process, truth, 1);
	monitor_stop(harness, monitor);
}

static json_t *read_recording(struct harness *harness, const char *const *argv)
{
	struct child *reader = monitor_start(harness, argv, NULL);
	json_t *document = monitor_report(harness, reader);

	assert_int_equal(child_end(harness, reader), 0);
	return document;
}

#define READ(harness, ...)                                                                         \
	read_recording(harness, ARGUMENTS("leakmon", __VA_ARGS__, "--format", "json"))

static void snapshot_into_recording(struct harness *harness, struct child *monitor,
				    const char *word)
{
	child_signal(monitor, SIGUSR1);
	child_wait_text(harness, monitor, &monitor->err, word);
}

static void expect_growth(json_t *diff, json_t *truth, const char *function)
{
	struct held is = truth_of(truth, function), grown = {0};
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(diff, "rows"), i, row)
	{
		json_t *frame = json_array_get(json_object_get(row, "frames"), 0);
		json_t *name = json_object_get(frame, "function");

		if (!json_is_string(name) || strcmp(json_string_value(name), function) != 0)
			continue;
		grown.bytes += number_at(json_object_get(row, "by_dead_bytes"), "difference");
		grown.count += number_at(json_object_get(row, "by_dead_count"), "difference");
	}
	assert_int_equal(grown.bytes, is.bytes);
	assert_int_equal(grown.count, is.count);
}

/* Before all threads, while some stay, and when they have ended. */
static void recordings_keep_the_marks(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "thread_heap");
	char path[96];
	struct child *monitor;
	json_t *process, *truth;

	snprintf(path, sizeof(path), "%s/heap.lkm", harness->directory);
	monitor = MONITOR_ATTACHED(harness, "record", "-p", workload->pid_text, "-o", path,
				   "--older", "0", "--label", "asked", "3600");
	snapshot_into_recording(harness, monitor, "snapshot 1 is recorded");
	workload_do(harness, workload, "go");
	snapshot_into_recording(harness, monitor, "snapshot 2 is recorded");
	workload_do(harness, workload, "end");
	truth = workload_ask(harness, workload, "ledger");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	process = process_of(READ(harness, "report", path, "--at", "2"), workload->pid);
	expect_mark(process, truth, "leak_joined", true);
	expect_mark(process, truth, "leak_staying", false);
	process = process_of(READ(harness, "report", path), workload->pid);
	expect_mark(process, truth, "leak_staying", true);
	expect_mark(process, truth, "leak_main", false);
	expect_growth(READ(harness, "diff", path), truth, "leak_staying");
}

/* With --by-dead-threads nothing else is listed; the ledger still counts everything. */
static void the_filter_leaves_only_them(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "thread_heap");
	struct child *monitor =
		MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--by-dead-threads",
				 "--show-allocs", "--format", "json", "3600");
	json_t *report, *process, *truth, *site, *block;
	size_t i, j, blocks = 0;

	workload_do(harness, workload, "go");
	child_signal(monitor, SIGUSR1);
	report = monitor_report(harness, monitor);
	expect_balance(report);
	process = process_of(report, workload->pid);
	truth = workload_ask(harness, workload, "ledger");
	assert_int_equal(number_at(process, "outstanding_count"), 40 * 2 + 30 + 20 * 3);
	assert_int_equal(number_at(process, "outstanding_bytes"),
			 truth_of(truth, "leak_joined").bytes +
				 truth_of(truth, "leak_detached").bytes +
				 truth_of(truth, "leak_forgotten").bytes);
	json_array_foreach(json_object_get(process, "sites"), i, site)
		json_array_foreach(json_object_get(site, "blocks"), j, block)
	{
		assert_true(json_is_true(json_object_get(block, "by_dead")));
		blocks++;
	}
	assert_int_equal(blocks, 40 * 2 + 30 + 20 * 3);
	monitor_stop(harness, monitor);
}

/* The tid of a dead thread that left a block is reused by another thread, which stays alive. */
static void a_tid_that_is_used_again_is_another_thread(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "thread_heap");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	json_t *process, *truth;

	if (!json_is_true(json_object_get(workload_ask(harness, workload, "reuse"), "reused"))) {
		print_message("SKIPPED: this kernel does not let tids be chosen\n");
		skip();
	}
	process = report_now(harness, workload, monitor);
	truth = workload_ask(harness, workload, "ledger");
	expect_mark(process, truth, "leak_before", true);
	expect_mark(process, truth, "leak_after", false);
	monitor_stop(harness, monitor);
}

static void without_thread_probes_only_the_living_are_counted(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "thread_heap");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "--no-threads",
						 "-o", "0", "--format", "json", "3600");
	json_t *process, *threads;

	workload_do(harness, workload, "go");
	process = report_now(harness, workload, monitor);
	threads = json_object_get(process, "threads");
	assert_int_equal(number_at(threads, "alive"), 11);
	assert_true(json_is_null(json_object_get(threads, "dead")));
	assert_true(json_is_null(json_object_get(threads, "dead_stack_bytes")));
	expect_mark(process, workload_ask(harness, workload, "ledger"), "leak_joined", true);
	monitor_stop(harness, monitor);
}

/* `leakmon threads` on the 20 unjoined threads; three blocks each, with --heap. */
static void expect_dead(json_t *process, json_t *truth, bool heap)
{
	json_t *threads = json_object_get(process, "threads");
	json_t *group = json_array_get(json_object_get(threads, "groups"), 0), *dead;
	struct held forgotten = truth_of(truth, "leak_forgotten"), sum = {0};
	size_t i;

	assert_int_equal(number_at(threads, "dead"), 20);
	assert_int_equal(number_at(group, "count"), 20);
	json_array_foreach(json_object_get(group, "threads"), i, dead)
	{
		if (!heap) {
			assert_true(json_is_null(json_object_get(dead, "heap_count")));
			continue;
		}
		assert_int_equal(number_at(dead, "heap_count"), 3);
		sum.bytes += number_at(dead, "heap_bytes");
	}
	assert_int_equal(i, 20);
	assert_int_equal(sum.bytes, heap ? forgotten.bytes : 0);
}

static void threads_reports_what_each_left_on_the_heap(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "thread_heap");
	struct child *monitor = MONITOR_ATTACHED(harness, "threads", "-n", "thread_heap", "--heap",
						 "--show-threads", "--format", "json", "3600");

	workload_do(harness, workload, "go");
	expect_dead(report_now(harness, workload, monitor),
		    workload_ask(harness, workload, "ledger"), true);
	monitor_stop(harness, monitor);
}

/* Unwind rows of a process go to the kernel after a first walk has reached it. */
static void let_it_be_walked(struct harness *harness, struct child *workload, struct child *monitor)
{
	workload_ask(harness, workload, "reuse");
	workload_do(harness, workload, "end");
	child_signal(monitor, SIGUSR1);
	monitor_report(harness, monitor);
}

/* One process existed before, one comes later. */
static void threads_of_the_whole_machine_are_followed(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *before = WORKLOAD(harness, "thread_heap"), *after;
	struct child *monitor =
		MONITOR(harness, "threads", "--show-threads", "--format", "json", "3600");

	child_wait_text(harness, monitor, &monitor->err, "for the threads of ");
	after = WORKLOAD(harness, "thread_heap");
	let_it_be_walked(harness, before, monitor);
	let_it_be_walked(harness, after, monitor);
	workload_do(harness, before, "go");
	workload_do(harness, after, "go");
	expect_dead(report_now(harness, before, monitor), workload_ask(harness, before, "ledger"),
		    false);
	expect_dead(report_now(harness, after, monitor), workload_ask(harness, after, "ledger"),
		    false);
	monitor_stop(harness, monitor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(blocks_of_threads_that_ended_are_marked),
		e2e_test(recordings_keep_the_marks),
		e2e_test(the_filter_leaves_only_them),
		e2e_test(a_tid_that_is_used_again_is_another_thread),
		e2e_test(without_thread_probes_only_the_living_are_counted),
		e2e_test(threads_reports_what_each_left_on_the_heap),
		e2e_test(threads_of_the_whole_machine_are_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
