// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Go programs from outside, against what the programs' own runtime says of them
 * (tests/runtimes/go): runtime.Stack, runtime.MemProfile, runtime.MemStats. They are compiled by
 * tests/runtimes/go.sh; versions that are not there are skipped. No BPF is needed.
 */
#include "retain_json.h"
#include "shell.h"

#include <stdlib.h>

#define WAITING 300

static struct child *start(struct harness *harness, const char *kind)
{
	char *path = shell(harness, 0, "tests/runtimes/go.sh %s || test $? = 77", kind);
	struct child *target;

	path[strcspn(path, "\n")] = '\0';
	if (!*path) {
		free(path);
		fprintf(stderr, "SKIPPED, nothing was tested: there is no Go %s\n", kind);
		skip();
	}
	target = start_ready(harness, path, ARGUMENTS("stories"), NULL);
	free(path);
	return target;
}

static void tell(struct harness *harness, struct child *target, const char *command)
{
	char *line;

	workload_send(target, command);
	line = child_line(harness, target, &target->out);
	assert_string_equal(line, "done");
	free(line);
}

static json_t *process_in(json_t *report)
{
	json_t *processes = json_object_get(report, "processes");

	assert_int_equal(json_array_size(processes), 1);
	return json_array_get(processes, 0);
}

static json_t *goroutines_of(json_t *report)
{
	json_t *found = json_object_get(process_in(report), "goroutines");

	assert_non_null(found);
	assert_string_equal(text_at(found, "cannot_tell"), "");
	return found;
}

/* "main.spawn stories.go:41" of the n-th frame; "" where there is none. */
static const char *frame_text(json_t *stack, size_t n, char text[256])
{
	json_t *frame = json_array_get(json_object_get(stack, "frames"), n);
	const char *file = frame ? text_at(frame, "file") : "", *base = strrchr(file, '/');

	*text = '\0';
	if (frame)
		snprintf(text, 256, "%s %s:%lld", text_at(frame, "function"),
			 base ? base + 1 : file, (long long)number_at(frame, "line"));
	return text;
}

static bool has_frame(json_t *stack, const char *wanted)
{
	char text[256];

	for (size_t i = 0; i < json_array_size(json_object_get(stack, "frames")); i++) {
		if (!strcmp(frame_text(stack, i, text), wanted))
			return true;
	}
	return false;
}

static bool is_group(json_t *group, json_t *truth)
{
	char text[256];

	return !strcmp(text_at(group, "state"), text_at(truth, "state")) &&
	       !strcmp(frame_text(json_object_get(group, "created_by"), 0, text),
		       text_at(truth, "creator")) &&
	       has_frame(json_object_get(group, "waits_at"), text_at(truth, "where"));
}

/* All but the one that tells. */
static void expect_goroutines(json_t *found, json_t *truth)
{
	json_t *expected, *group;
	size_t i, j;

	assert_int_equal(number_at(found, "count"), number_at(truth, "count"));
	assert_int_equal(number_at(found, "unread"), 0);
	json_array_foreach(json_object_get(truth, "goroutines"), i, expected)
	{
		json_int_t count = 0;

		if (!strcmp(text_at(expected, "state"), "running"))
			continue;
		json_array_foreach(json_object_get(found, "groups"), j, group) count +=
			is_group(group, expected) ? number_at(group, "count") : 0;
		if (count != number_at(expected, "count"))
			fail_msg("%lld goroutines wait in %s at %s, not %lld",
				 (long long)number_at(expected, "count"),
				 text_at(expected, "state"), text_at(expected, "where"),
				 (long long)count);
	}
}

static json_t *first_group(json_t *found)
{
	return json_array_get(json_object_get(found, "groups"), 0);
}

#define THREADS(harness, target, ...)                                                              \
	MONITOR(harness, "threads", "-p", (target)->pid_text, "--format", "json", ##__VA_ARGS__)

/* Of a program that stands still but for what the test tells it. */
static void goroutines_are_those_of(void **state, const char *kind)
{
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, kind), *monitor;
	json_t *truth, *group;

	tell(harness, target, "spawn 300");
	tell(harness, target, "gc");
	truth = workload_ask(harness, target, "truth");
	monitor = THREADS(harness, target, "3600");
	child_wait_text(harness, monitor, &monitor->err, "goroutines are read");
	expect_goroutines(goroutines_of(monitor_snapshot(harness, monitor)), truth);
	/* Four readings, with new ones each time, then one at which some end. */
	for (int i = 0; i < 3; i++) {
		tell(harness, target, "spawn 2");
		group = first_group(goroutines_of(monitor_snapshot(harness, monitor)));
	}
	assert_int_equal(number_at(group, "count"), WAITING + 6);
	assert_int_equal(number_at(group, "first_count"), WAITING);
	assert_int_equal(number_at(group, "come"), 6);
	assert_int_equal(number_at(group, "gone"), 0);
	assert_string_equal(text_at(group, "verdict"), "leaking");
	assert_true(number_at(group, "longest_wait_ms") >= number_at(group, "shortest_wait_ms"));
	tell(harness, target, "end 100");
	group = first_group(goroutines_of(monitor_stop(harness, monitor)));
	assert_int_equal(number_at(group, "count"), WAITING + 6 - 100);
	assert_int_equal(number_at(group, "gone"), 100);
	assert_string_equal(text_at(group, "verdict"), "steady");
}

static void goroutines_wait_where_the_program_says(void **state)
{
	goroutines_are_those_of(state, "1.19 plain");
}

static void a_stripped_program_is_read_as_well(void **state)
{
	goroutines_are_those_of(state, "1.19 stripped");
}

static void so_is_a_later_one_at_any_address(void **state)
{
	goroutines_are_those_of(state, "1.24 pie");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(goroutines_wait_where_the_program_says),
		e2e_test(a_stripped_program_is_read_as_well),
		e2e_test(so_is_a_later_one_at_any_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
