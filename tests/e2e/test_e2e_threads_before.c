// SPDX-License-Identifier: GPL-2.0-or-later
/* A late attach of `leakmon threads`: it finds the earlier threads. */
#include "harness.h"

#include <signal.h>
#include <sys/wait.h>

#define DEAD 100

static json_t *threads_of(json_t *report)
{
	json_t *processes = json_object_get(report, "processes");

	assert_int_equal(json_array_size(processes), 1);
	return json_object_get(json_array_get(processes, 0), "threads");
}

static json_t *report_now(struct harness *harness, struct child *monitor)
{
	child_signal(monitor, SIGUSR1);
	return threads_of(monitor_report(harness, monitor));
}

/* Dead threads that ran `function`. */
static json_int_t dead_that_ran(json_t *threads, const char *function)
{
	json_int_t sum = 0;
	json_t *group;
	size_t i;

	json_array_foreach(json_object_get(threads, "groups"), i, group)
	{
		json_t *frames = json_object_get(json_object_get(group, "start_routine"), "frames");
		json_t *name = json_object_get(json_array_get(frames, 0), "function");

		if (json_is_string(name) && !strcmp(json_string_value(name), function))
			sum += number_at(group, "count");
	}
	return sum;
}

static void expect_nothing_lost(json_t *threads)
{
	static const char *const none[] = {"reaped_unseen", "dropped", "failed", "untracked_joins",
					   "untracked_ends"};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(number_at(threads, none[i]), 0);
	assert_true(json_is_null(json_object_get(threads, "cannot_tell")));
	assert_true(json_is_null(json_object_get(threads, "cannot_tell_before_attach")));
}

/* Compares all numbers of dead threads, in total and by start routine. */
static void expect_dead(json_t *threads, json_t *truth)
{
	static const char *const routines[] = {"ends_quickly", "ends_on_given_stack", "lives_on"};

	assert_int_equal(number_at(threads, "dead"), number_at(truth, "dead"));
	for (size_t i = 0; i < sizeof(routines) / sizeof(routines[0]); i++)
		assert_int_equal(dead_that_ran(threads, routines[i]),
				 number_at(truth, routines[i]));
	expect_nothing_lost(threads);
}

static void follow(struct harness *harness, struct child *workload, const char *pid)
{
	struct child *monitor =
		MONITOR_ATTACHED(harness, "threads", "-p", pid, "--format", "json", "3600");
	json_t *threads = report_now(harness, monitor);

	assert_int_equal(number_at(threads, "dead_before_attach"), DEAD + 20);
	assert_int_equal(number_at(threads, "alive"), 9);
	expect_dead(threads, workload_ask(harness, workload, "truth"));
	workload_do(harness, workload, "release");
	expect_dead(report_now(harness, monitor), workload_ask(harness, workload, "truth"));
	workload_do(harness, workload, "join");
	threads = report_now(harness, monitor);
	assert_int_equal(number_at(threads, "joined"), 20);
	assert_int_equal(number_at(threads, "dead_before_attach"), DEAD + 5);
	expect_dead(threads, workload_ask(harness, workload, "truth"));
	workload_do(harness, workload, "crowd");
	threads = report_now(harness, monitor);
	assert_int_equal(number_at(threads, "created"), 2000);
	assert_int_equal(number_at(threads, "dead_before_attach"), DEAD + 5);
	expect_dead(threads, workload_ask(harness, workload, "truth"));
	monitor_stop(harness, monitor);
}

static void the_dead_are_found_and_the_living_are_followed(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "older", "100");

	follow(harness, workload, workload->pid_text);
}

static void so_it_is_in_a_static_program(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "older_static", "100");

	follow(harness, workload, workload->pid_text);
}

/* The child of a process, by /proc. */
static void child_of(pid_t parent, char pid[16])
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%15s", pid), 1);
	fclose(file);
}

/* Thread numbers there differ from the kernel's, which leakmon gets. */
static void so_it_is_in_another_pid_namespace(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = child_start(harness, "/usr/bin/unshare",
					     ARGUMENTS("unshare", "--pid", "--fork", "--mount-proc",
						       "build/workloads/older", "100"),
					     NULL);
	char pid[16];

	free(child_line(harness, workload, &workload->out));
	child_of(workload->pid, pid);
	follow(harness, workload, pid);
}

static void a_forked_child_has_none(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "older", "100"), *monitor;
	json_t *threads;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d",
		 (int)number_at(workload_ask(harness, workload, "fork"), "pid"));
	monitor = MONITOR_ATTACHED(harness, "threads", "-p", pid, "--format", "json", "3600");
	threads = report_now(harness, monitor);
	assert_int_equal(number_at(threads, "dead"), 0);
	expect_nothing_lost(threads);
	monitor_stop(harness, monitor);
}

/* Threads that start, end and die during the scan are counted once. */
static void an_attach_amid_the_coming_and_going_is_exact(void **state)
{
	static const char *const seeds[] = {"1", "2", "3"};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		struct child *workload = WORKLOAD(harness, "threads", seeds[i]), *monitor;
		json_t *threads;
		char *done;

		workload_do(harness, workload, "some");
		workload_send(workload, "endless");
		monitor = MONITOR_ATTACHED(harness, "threads", "-p", workload->pid_text, "--format",
					   "json", "3600");
		child_signal(workload, SIGUSR1);
		done = child_line(harness, workload, &workload->out);
		assert_string_equal(done, "done");
		free(done);
		threads = report_now(harness, monitor);
		assert_int_equal(number_at(threads, "dead"),
				 number_at(workload_ask(harness, workload, "truth"), "dead"));
		expect_nothing_lost(threads);
		monitor_stop(harness, monitor);
		child_kill(workload);
	}
}

static void a_broken_list_is_no_reason_to_guess(void **state)
{
	static const char *const damages[][2] = {
		{"run_in_a_circle", "the links of a list of threads contradict each other"},
		{"lead_nowhere", "a list of threads leads to memory that is not there"},
		{"lead_to_what_is_no_thread", "a list of threads leads to what is no thread"},
	};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct child *workload = WORKLOAD(harness, "older", "100"), *monitor;
		json_t *threads;

		workload_do(harness, workload, damages[i][0]);
		monitor = MONITOR_ATTACHED(harness, "threads", "-p", workload->pid_text, "--format",
					   "json", "3600");
		threads = report_now(harness, monitor);
		assert_int_equal(number_at(threads, "dead"), 0);
		assert_string_equal(
			json_string_value(json_object_get(threads, "cannot_tell_before_attach")),
			damages[i][1]);
		/* New threads are followed as ever; here their list may be walked no more. */
		monitor_stop(harness, monitor);
		assert_int_equal(kill(workload->pid, 0), 0);
		child_kill(workload);
	}
}

static void musl_keeps_no_list_of_the_dead(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "older_musl", "100"), *monitor;
	json_t *threads;

	monitor = MONITOR_ATTACHED(harness, "threads", "-p", workload->pid_text, "--format", "json",
				   "3600");
	threads = report_now(harness, monitor);
	assert_int_equal(number_at(threads, "dead"), 0);
	assert_string_equal(
		json_string_value(json_object_get(threads, "cannot_tell_before_attach")),
		"its C library keeps no list of them");
	workload_do(harness, workload, "crowd");
	threads = report_now(harness, monitor);
	assert_int_equal(number_at(threads, "created"), 2000);
	assert_int_equal(dead_that_ran(threads, "ends_quickly"), 2000);
	workload_do(harness, workload, "release");
	assert_int_equal(number_at(report_now(harness, monitor), "untracked_ends"), 8);
	monitor_stop(harness, monitor);
}

/* Its lists are long enough that it ends while they are read, at one time or another. */
static void a_target_may_end_at_any_time(void **state)
{
	struct harness *harness = harness_bpf(state);

	for (unsigned i = 0; i < 3; i++) {
		struct child *workload = WORKLOAD(harness, "older", "5000", "small");
		struct child *monitor = MONITOR(harness, "threads", "-p", workload->pid_text,
						"--format", "json", "3600");
		int code;

		usleep(100000 + i * 200000);
		child_signal(workload, SIGKILL);
		child_end(harness, workload);
		code = child_end(harness, monitor);
		assert_true(code == 0 || code == 1);
	}
}

static void a_hundred_thousand_are_found(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "older", "100000", "small");
	struct child *monitor = MONITOR_ATTACHED(harness, "threads", "-p", workload->pid_text,
						 "--format", "json", "3600");

	expect_dead(report_now(harness, monitor), workload_ask(harness, workload, "truth"));
	monitor_stop(harness, monitor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(the_dead_are_found_and_the_living_are_followed),
		e2e_test(so_it_is_in_a_static_program),
		e2e_test(so_it_is_in_another_pid_namespace),
		e2e_test(a_forked_child_has_none),
		e2e_test(an_attach_amid_the_coming_and_going_is_exact),
		e2e_test(a_broken_list_is_no_reason_to_guess),
		e2e_test(musl_keeps_no_list_of_the_dead),
		e2e_test(a_target_may_end_at_any_time),
		e2e_test(a_hundred_thousand_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
