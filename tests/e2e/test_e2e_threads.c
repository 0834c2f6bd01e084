// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon threads` compared with a program that knows the fate of each of its threads. */
#include "shell.h"

#include <signal.h>

static json_t *threads_of(json_t *report)
{
	json_t *processes = json_object_get(report, "processes");

	assert_int_equal(json_array_size(processes), 1);
	return json_object_get(json_array_get(processes, 0), "threads");
}

static const char *function_at(json_t *frames, size_t i)
{
	const char *name =
		json_string_value(json_object_get(json_array_get(frames, i), "function"));

	return name ? name : "";
}

/* Returns the number of dead threads that `function` created; create() is in all stacks. */
static json_int_t dead_created_by(json_t *threads, const char *function)
{
	json_int_t sum = 0;
	json_t *group;
	size_t i;

	json_array_foreach(json_object_get(threads, "groups"), i, group)
	{
		json_t *frames = json_object_get(group, "frames");
		const char *name = function_at(frames, 0);

		if (!strcmp(name, "create"))
			name = function_at(frames, 1);
		if (!strcmp(name, function))
			sum += number_at(group, "count");
	}
	return sum;
}

static json_t *report_now(struct harness *harness, struct child *monitor)
{
	child_signal(monitor, SIGUSR1);
	return monitor_report(harness, monitor);
}

static void expect_threads(json_t *threads, json_t *truth)
{
	static const char *const same[] = {"created", "joined", "detached", "dead"};
	static const char *const none[] = {"reaped_unseen", "dropped", "failed", "untracked_joins",
					   "untracked_ends"};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_int_equal(number_at(threads, same[i]), number_at(truth, same[i]));
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(number_at(threads, none[i]), 0);
	assert_int_equal(number_at(threads, "alive"), 1);
	assert_int_equal(dead_created_by(threads, "forget_one"), number_at(truth, "forget_one"));
	assert_int_equal(dead_created_by(threads, "forget_other"),
			 number_at(truth, "forget_other"));
	assert_int_equal(dead_created_by(threads, "keep"), number_at(truth, "kept"));
}

/* 20,000 threads: joined in every way, detached, cancelled and forgotten, from four threads. */
static void rounds_agree(void **state, const char *method)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "threads", "7");
	struct child *monitor = MONITOR_ATTACHED(harness, "threads", "-p", workload->pid_text,
						 "--attach", method, "--format", "json", "3600");

	for (unsigned round = 0; round < 12; round++) {
		workload_do(harness, workload, "some");
		expect_threads(threads_of(report_now(harness, monitor)),
			       workload_ask(harness, workload, "truth"));
	}
	monitor_stop(harness, monitor);
}

static void every_dead_thread_is_counted_and_none_else(void **state)
{
	rounds_agree(state, "auto");
}

static void so_it_is_without_session_probes(void **state)
{
	rounds_agree(state, "perf");
}

static void show_threads_lists_each(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "threads", "3");
	struct child *monitor = MONITOR_ATTACHED(harness, "threads", "-p", workload->pid_text,
						 "--show-threads", "--format", "json", "3600");
	json_int_t listed = 0;
	json_t *threads, *group;
	size_t i;

	workload_do(harness, workload, "some");
	threads = threads_of(report_now(harness, monitor));
	json_array_foreach(json_object_get(threads, "groups"), i, group) listed +=
		json_array_size(json_object_get(group, "threads"));
	assert_int_equal(listed, number_at(threads, "dead"));
	/* Default stacks: 8 MiB each, without the guard page. */
	assert_int_equal(number_at(threads, "dead_stack_bytes"), listed * (8 << 20));
	monitor_stop(harness, monitor);
}

/* The program's own record of the pthread_ts of each of its functions. */
static const struct {
	const char *function, *verdict, *kind, *name;
	size_t steps;
	json_int_t first, last; /* offsets of the pthread_ts in their root or block */
} places[] = {
	{"keep_in_array()", "held", "global", "handles", 0, 3 * 8, (3 + 40 - 1) * 8},
	{"keep_in_list()", "held", "global", "list_head", 2, 32, 32},
	{"keep_in_vector()", "held", "global", "pool", 2, 0, 19 * 8},
	{"keep_on_stack()", "held", "stack", "keep_on_stack()", 0, -1, -1},
	{"keep_in_lost_list()", "unreachable", NULL, NULL, 0, -1, -1},
	{"lose()", "unreachable", NULL, NULL, 0, -1, -1},
};

static json_t *group_created_by(json_t *threads, const char *function)
{
	json_t *group, *frame;
	size_t i, j;

	json_array_foreach(json_object_get(threads, "groups"), i, group)
	{
		json_array_foreach(json_object_get(group, "frames"), j, frame)
		{
			if (!strcmp(function_at(json_object_get(group, "frames"), j), function))
				return group;
		}
	}
	fail_msg("no dead thread was created by %s", function);
	return NULL;
}

static void expect_place(json_t *threads, json_t *truth, size_t i)
{
	json_t *group = group_created_by(threads, places[i].function);
	json_t *holders = json_object_get(group, "holders"), *holder = json_array_get(holders, 0);
	json_t *root = json_object_get(holder, "root");
	char key[32];

	snprintf(key, sizeof(key), "%.*s", (int)strcspn(places[i].function, "("),
		 places[i].function);
	assert_int_equal(number_at(group, "count"), number_at(truth, key));
	assert_int_equal(number_at(group, "holders_unknown"), 0);
	/* All threads are held in one place. */
	if (json_array_size(holders) != 1)
		fail_msg("%s: %s", key, json_dumps(holders, JSON_COMPACT));
	assert_int_equal(number_at(holder, "count"), number_at(truth, key));
	assert_string_equal(json_string_value(json_object_get(holder, "verdict")),
			    places[i].verdict);
	if (!places[i].name) {
		assert_null(root);
		return;
	}
	assert_string_equal(json_string_value(json_object_get(root, "kind")), places[i].kind);
	assert_string_equal(json_string_value(json_object_get(root, "name")), places[i].name);
	assert_int_equal(json_array_size(json_object_get(holder, "steps")), places[i].steps);
	if (places[i].first < 0)
		return;
	assert_int_equal(number_at(holder, "first_offset"), places[i].first);
	assert_int_equal(number_at(holder, "last_offset"), places[i].last);
}

static void holders_of_a_pthread_t_are_named(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "handles");
	struct child *monitor =
		MONITOR_ATTACHED(harness, "threads", "-p", workload->pid_text, "--holders",
				 "--show-threads", "--format", "json", "3600");
	json_t *report, *threads, *truth;

	workload_do(harness, workload, "go");
	report = report_now(harness, monitor);
	expect_schema(harness, report, "threads");
	threads = threads_of(report);
	truth = workload_ask(harness, workload, "truth");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		expect_place(threads, truth, i);
	monitor_stop(harness, monitor);
}

/* The living ones of that start routine; NULL: none yet. */
static json_t *live_that_run(json_t *threads, const char *function, bool before_attach)
{
	json_t *group;
	size_t i;

	json_array_foreach(json_object_get(threads, "live"), i, group)
	{
		json_t *start = json_object_get(json_object_get(group, "start_routine"), "frames");

		if (!strcmp(function_at(start, 0), function) &&
		    json_is_true(json_object_get(group, "before_attach")) == before_attach)
			return group;
	}
	return NULL;
}

static bool has_function(json_t *frames, const char *function)
{
	for (size_t i = 0; i < json_array_size(frames); i++) {
		if (!strcmp(function_at(frames, i), function))
			return true;
	}
	return false;
}

/* 40 threads a second, which all wait for ever: by creator, with where they wait, and growth. */
static void live_threads_are_grouped_by_their_creators(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "grower", "threads", "40");
	struct child *monitor = MONITOR_ATTACHED(harness, "threads", "-p", workload->pid_text,
						 "--format", "json", "3600");
	json_t *group, *waits, *threads;

	do {
		threads = threads_of(report_now(harness, monitor));
		group = live_that_run(threads, "sleep_for_ever", false);
	} while (!group || json_is_null(json_object_get(group, "first_count")) ||
		 number_at(group, "count") < number_at(group, "first_count") + 5);
	assert_string_equal(function_at(json_object_get(group, "frames"), 0), "one_thread");
	waits = json_object_get(group, "waits");
	assert_true(has_function(json_object_get(json_array_get(waits, 0), "frames"),
				 "sleep_for_ever"));
	/* The largest growth comes first. */
	assert_ptr_equal(json_array_get(json_object_get(threads, "live"), 0), group);
	monitor_stop(harness, monitor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(every_dead_thread_is_counted_and_none_else),
		e2e_test(so_it_is_without_session_probes),
		e2e_test(show_threads_lists_each),
		e2e_test(live_threads_are_grouped_by_their_creators),
		e2e_test(holders_of_a_pthread_t_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
