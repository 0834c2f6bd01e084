// SPDX-License-Identifier: GPL-2.0-or-later
/* Differences of recordings of real runs, and the verdict of a run with a history. */
#include "harness.h"

#include <signal.h>

static const char *path_of(struct harness *harness, char path[96], const char *name)
{
	snprintf(path, 96, "%s/%s", harness->directory, name);
	return path;
}

/* A run of a workload with that many goes before its first and its last snapshot. */
static pid_t record(struct harness *harness, const char *path, int first, int more)
{
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor = MONITOR_ATTACHED(harness, "record", "-p", workload->pid_text, "-o",
						 path, "--older", "0", "--label", "one", "3600");
	pid_t pid = workload->pid;

	for (int i = 0; i < first; i++)
		workload_do(harness, workload, "go");
	child_signal(monitor, SIGUSR1);
	child_wait_text(harness, monitor, &monitor->err, "snapshot 1 is recorded as `one`");
	for (int i = 0; i < more; i++)
		workload_do(harness, workload, "go");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	child_kill(workload);
	return pid;
}

static json_t *diff(struct harness *harness, int code, const char *const *argv)
{
	struct child *reader = monitor_start(harness, argv, NULL);
	json_t *document = monitor_report(harness, reader);

	assert_int_equal(child_end(harness, reader), code);
	return document;
}
#define DIFF(harness, code, ...)                                                                   \
	diff(harness, code, ARGUMENTS("leakmon", "diff", "--format", "json", __VA_ARGS__))

static json_int_t difference(json_t *object, const char *key)
{
	return number_at(json_object_get(object, key), "difference");
}

/* The row of that name, or with that innermost function. */
static json_t *row_of(json_t *document, const char *name)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(document, "rows"), i, row)
	{
		json_t *frame = json_array_get(json_object_get(row, "frames"), 0);
		const char *own = json_string_value(json_object_get(row, "name"));
		const char *function = json_string_value(json_object_get(frame, "function"));

		if ((own && !strcmp(own, name)) || (function && !strcmp(function, name)))
			return row;
	}
	fail_msg("no row %s", name);
	return NULL;
}

static void expect_row(json_t *document, const char *name, const char *state, json_int_t bytes,
		       json_int_t blocks)
{
	json_t *row = row_of(document, name);

	assert_string_equal(json_string_value(json_object_get(row, "state")), state);
	assert_int_equal(difference(row, "bytes"), bytes);
	assert_int_equal(difference(row, "count"), blocks);
}

static void one_recording_shows_what_grew_within_it(void **state)
{
	struct harness *harness = harness_bpf(state);
	char path[96], later[112];
	json_t *document;

	record(harness, path_of(harness, path, "run.lkm"), 1, 3);
	document = DIFF(harness, 0, path);
	assert_int_equal(difference(document, "bytes"), 3 * 18288);
	assert_int_equal(difference(document, "count"), 3 * 18);
	assert_true(json_is_true(json_object_get(document, "same_run")));
	expect_row(document, "leak_c", "grown", 3 * 12288, 9);
	expect_row(document, "leak_a", "grown", 3 * 1000, 30);
	/* Sorted by the difference. */
	assert_ptr_equal(json_array_get(json_object_get(document, "rows"), 0),
			 row_of(document, "leak_c"));
	snprintf(later, sizeof(later), "%s@last", path);
	document = DIFF(harness, 0, later, path);
	assert_int_equal(json_array_size(json_object_get(document, "rows")), 0);
	snprintf(later, sizeof(later), "%s@one", path);
	document = DIFF(harness, 0, "--by", "module", later, path);
	assert_int_equal(json_array_size(json_object_get(document, "rows")), 1);
	assert_int_equal(difference(document, "bytes"), 3 * 18288);
	document = DIFF(harness, 0, "--by", "function", path);
	expect_row(document, "leak_b", "grown", 15000, 15);
	document = DIFF(harness, 0, later, later);
	assert_int_equal(json_array_size(json_object_get(document, "rows")), 0);
	snprintf(later, sizeof(later), "%s@77", path);
	monitor_expect_error(harness, MONITOR(harness, "diff", later, path), 1,
			     "has no snapshot 77");
}

/* Other PIDs, other load addresses: the same stacks. */
static void two_runs_compare_by_stack(void **state)
{
	struct harness *harness = harness_bpf(state);
	char before[96], after[96];
	json_t *document;

	record(harness, path_of(harness, before, "before.lkm"), 1, 1);
	record(harness, path_of(harness, after, "after.lkm"), 1, 4);
	document = DIFF(harness, 0, before, after);
	assert_true(json_is_false(json_object_get(document, "same_run")));
	assert_true(json_is_false(json_object_get(document, "unrelated")));
	assert_int_equal(json_array_size(json_object_get(document, "rows")), 3);
	expect_row(document, "leak_a", "grown", 3 * 1000, 30);
	document = DIFF(harness, 0, after, before);
	expect_row(document, "leak_a", "shrunk", -3 * 1000, -30);
	document = DIFF(harness, 3, "--fail-over", "54863", before, after);
	assert_int_equal(difference(document, "bytes"), 54864);
	DIFF(harness, 0, "--fail-over", "54864", before, after);
	DIFF(harness, 0, "--fail-over", "0", after, before);
}

static void record_now(struct harness *harness, struct child *monitor, int sequence)
{
	char text[64];

	usleep(20000);
	snprintf(text, sizeof(text), "snapshot %d is recorded", sequence);
	child_signal(monitor, SIGUSR1);
	child_wait_text(harness, monitor, &monitor->err, text);
}

static void a_leak_gets_its_verdict_live_and_from_the_recording(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor, *reader;
	char path[96], expected[32];
	json_t *process, *trend;
	const char *verdict;

	path_of(harness, path, "trend.lkm");
	monitor = MONITOR_ATTACHED(harness, "record", "-p", workload->pid_text, "-o", path,
				   "--older", "0", "--label", "now", "3600");
	for (int i = 1; i <= 30; i++) {
		workload_do(harness, workload, "go");
		record_now(harness, monitor, i);
	}
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	reader = MONITOR(harness, "report", path, "--format", "json", "--sort", "growth");
	process = process_of(monitor_report(harness, reader), workload->pid);
	assert_int_equal(child_end(harness, reader), 0);
	trend = json_object_get(json_array_get(json_object_get(process, "sites"), 0), "trend");
	verdict = json_string_value(json_object_get(trend, "verdict"));
	/* On a busy machine the last steps may be slow, which changes the rate. */
	assert_true(!strcmp(verdict, "leaking") || !strcmp(verdict, "growing"));
	assert_true(json_number_value(json_object_get(trend, "survival")) == 1);
	reader = MONITOR(harness, "report", path);
	snprintf(expected, sizeof(expected), "%s: +", verdict);
	child_wait_text(harness, reader, &reader->out, expected);
	assert_int_equal(child_end(harness, reader), 0);
}

#define COMPILED 4
#define READINGS_EACH 8

/* Every stack belongs to the one total, the program's leak. */
static void expect_one_leak(json_t *report, const struct child *workload)
{
	json_t *sites = json_object_get(process_of(report, workload->pid), "sites"), *site;
	json_int_t leaked = 10 * 1000 * COMPILED * READINGS_EACH, bytes = 0;
	size_t i;

	expect_balance(report);
	/* New code has no unwind rows at first: then its stack is another one, which ends there. */
	assert_true(json_array_size(sites) >= COMPILED);
	json_array_foreach(sites, i, site)
	{
		json_t *trend = json_object_get(site, "trend");
		json_t *merged = json_object_get(trend, "merged");
		const char *verdict = json_string_value(json_object_get(trend, "verdict"));

		/* A hundredth is a part worth naming. */
		if (number_at(site, "bytes") > leaked / 100)
			assert_true(!strcmp(verdict, "leaking") || !strcmp(verdict, "growing"));
		bytes += number_at(site, "bytes");
		/* The last snapshot may still grow by itself. */
		if (!merged)
			continue;
		assert_int_equal(number_at(merged, "stacks"), json_array_size(sites));
		assert_int_equal(number_at(merged, "bytes"), leaked);
	}
	assert_int_equal(bytes, leaked);
}

/* The first reading is of before there was a leak. */
static void leak_through_compiled_code(struct harness *harness, struct child *workload,
				       struct child *monitor, bool live)
{
	for (int i = 0; i <= COMPILED * READINGS_EACH; i++) {
		if (i % READINGS_EACH == 1)
			workload_do(harness, workload, "compile");
		if (i)
			workload_do(harness, workload, "go");
		if (!live)
			record_now(harness, monitor, i + 1);
		else if (!usleep(20000))
			monitor_snapshot(harness, monitor);
	}
}

static void a_leak_through_code_that_moves_is_one_leak_live_and_from_the_recording(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "compiler"), *monitor;
	char path[96];

	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format", "json",
				   "3600");
	leak_through_compiled_code(harness, workload, monitor, true);
	expect_one_leak(monitor_stop(harness, monitor), workload);

	path_of(harness, path, "compiled.lkm");
	workload = WORKLOAD(harness, "compiler");
	monitor = MONITOR_ATTACHED(harness, "record", "-p", workload->pid_text, "-o", path,
				   "--older", "0", "--label", "now", "3600");
	leak_through_compiled_code(harness, workload, monitor, false);
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	monitor = MONITOR(harness, "report", path, "--format", "json");
	expect_one_leak(monitor_report(harness, monitor), workload);
	assert_int_equal(child_end(harness, monitor), 0);
}

static void watch_shows_sparklines_and_ranks_by_integral(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;

	workload_do(harness, workload, "go");
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--sort",
				   "integral", "0.2", "5");
	workload_do(harness, workload, "go");
	assert_int_equal(child_end(harness, monitor), 0);
	/* The highest block of the sparkline, U+2588: the memory is at its maximum. */
	assert_non_null(strstr(monitor->out.text, "\xe2\x96\x88"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(one_recording_shows_what_grew_within_it),
		e2e_test(two_runs_compare_by_stack),
		e2e_test(a_leak_gets_its_verdict_live_and_from_the_recording),
		e2e_test(a_leak_through_code_that_moves_is_one_leak_live_and_from_the_recording),
		e2e_test(watch_shows_sparklines_and_ranks_by_integral),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
