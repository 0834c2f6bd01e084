// SPDX-License-Identifier: GPL-2.0-or-later
/* --descriptors: every open and close is counted exactly, by call stack. */
#include "harness.h"

#include <signal.h>

static struct child *opened(struct harness *harness, const struct child *workload)
{
	return MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "-T", "0",
				"--descriptors", "--format", "json", "3600");
}

static json_int_t figure(json_t *report, const char *key)
{
	return number_at(json_object_get(report, "descriptors"), key);
}

/*
 * Returns the number of descriptors of the kind with the function in their call stack. A kind of
 * NULL matches all kinds.
 */
static json_int_t opened_by(json_t *process, const char *function, const char *kind)
{
	json_int_t count = 0;
	json_t *site;
	size_t i;

	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		const char *family = json_string_value(json_object_get(site, "family"));
		const char *is = json_string_value(json_object_get(site, "kind"));

		if (!strcmp(family, "descriptors") && (!kind || (is && !strcmp(is, kind))) &&
		    stack_has_function(site, function))
			count += number_at(site, "count");
	}
	return count;
}

/*
 * Expects a difference of 0 in opened, closed and outstanding descriptors, in total and by call
 * stack.
 */
static void expect_descriptors(json_t *report, json_t *truth)
{
	static const char *const keys[] = {"opened", "closed", "open_before", "outstanding"};
	static const char *const losses[] = {"dropped", "adopted", "given_up", "foreign_calls"};
	json_t *process = process_of(report, (pid_t)number_at(truth, "pid")), *site;
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_int_equal(figure(process, keys[i]), number_at(truth, keys[i]));
	for (i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		assert_int_equal(figure(process, losses[i]), 0);
	json_array_foreach(json_object_get(truth, "sites"), i, site)
	{
		const char *function = json_string_value(json_object_get(site, "function"));

		assert_int_equal(opened_by(process, function, NULL), number_at(site, "count"));
	}
}

static void every_way_to_open_and_close_is_counted_exactly(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "opener", "4", "12000", "20261125");
	struct child *monitor = opened(harness, workload);
	json_t *report, *process;

	expect_descriptors(monitor_snapshot(harness, monitor),
			   workload_ask(harness, workload, "descriptors"));
	workload_do(harness, workload, "go");
	report = monitor_snapshot(harness, monitor);
	expect_descriptors(report, workload_ask(harness, workload, "descriptors"));
	process = process_of(report, workload->pid);
	assert_int_equal(opened_by(process, "call_pipe", "pipe"),
			 opened_by(process, "call_pipe", NULL));
	assert_int_equal(opened_by(process, "call_socket", "socket"),
			 opened_by(process, "call_socket", NULL));
	assert_int_equal(opened_by(process, "call_memfd", "memfd"),
			 opened_by(process, "call_memfd", NULL));
	assert_int_equal(opened_by(process, "call_eventfd", "anonymous inode"),
			 opened_by(process, "call_eventfd", NULL));
	/* Tables of children are not this one. */
	workload_do(harness, workload, "others");
	expect_descriptors(monitor_snapshot(harness, monitor),
			   workload_ask(harness, workload, "descriptors"));
	workload_do(harness, workload, "sweep");
	workload_do(harness, workload, "go");
	expect_descriptors(monitor_stop(harness, monitor),
			   workload_ask(harness, workload, "descriptors"));
}

/* The loader of the new program closes the descriptors that it opens. */
static void an_exec_keeps_what_it_does_not_close(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "opener", "2", "500", "3");
	struct child *monitor = opened(harness, workload);
	json_t *report, *truth;
	char *line;

	workload_do(harness, workload, "go");
	workload_send(workload, "exec");
	line = child_line(harness, workload, &workload->out);
	assert_non_null(strstr(line, "ready "));
	free(line);
	truth = workload_ask(harness, workload, "descriptors");
	report = monitor_stop(harness, monitor);
	assert_int_equal(figure(report, "outstanding"), number_at(truth, "outstanding"));
	assert_int_equal(figure(report, "adopted") + figure(report, "given_up"), 0);
}

static void a_diagnosis_names_the_opener(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *leaks = WORKLOAD(harness, "grower", "files", "20");
	struct child *monitor = MONITOR(harness, "diagnose", "-p", leaks->pid_text, "--for", "8s",
					"--format", "json");
	json_t *process, *opener;

	child_end(harness, monitor);
	assert_int_equal(monitor->code, 3);
	process = process_of(monitor_report(harness, monitor), leaks->pid);
	assert_string_equal(json_string_value(json_object_get(process, "part")), "descriptors");
	opener = json_object_get(process, "opener");
	assert_true(stack_has_function(opener, "one_file"));
	assert_int_equal(number_at(opener, "open"), number_at(opener, "opened"));
	assert_string_equal(json_string_value(json_object_get(opener, "patterns")), "/etc/passwd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(every_way_to_open_and_close_is_counted_exactly),
		e2e_test(an_exec_keeps_what_it_does_not_close),
		e2e_test(a_diagnosis_names_the_opener),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
