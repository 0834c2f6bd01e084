// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads of C++ programs, with exceptions and cancellation: counted, and otherwise unchanged. */
#include "harness.h"

#include <signal.h>
#include <sys/wait.h>

static json_t *threads_now(struct harness *harness, struct child *monitor)
{
	child_signal(monitor, SIGUSR1);
	return json_object_get(
		json_array_get(json_object_get(monitor_report(harness, monitor), "processes"), 0),
		"threads");
}

/* 1,000 rounds; the program ends itself at the first that is not as it should be. */
static void a_thousand_rounds_go_on_unchanged_and_are_counted(void **state)
{
	static const char *const same[] = {"created", "joined", "dead"};
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "unwinding");
	struct child *monitor = MONITOR_ATTACHED(harness, "threads", "-p", workload->pid_text,
						 "--format", "json", "3600");
	json_t *threads, *truth;

	for (unsigned i = 0; i < 10; i++) {
		workload_do(harness, workload, "some");
		truth = workload_ask(harness, workload, "truth");
		threads = threads_now(harness, monitor);
		for (size_t j = 0; j < sizeof(same) / sizeof(same[0]); j++)
			assert_int_equal(number_at(threads, same[j]), number_at(truth, same[j]));
		assert_int_equal(number_at(threads, "reaped_unseen"), 0);
		assert_int_equal(number_at(threads, "untracked_joins"), 0);
	}
	assert_int_equal(number_at(truth, "rounds"), 1000);
	assert_true(dprintf(workload->in, "quit\n") > 0);
	assert_int_equal(child_end(harness, workload), 0);
	assert_int_equal(child_end(harness, monitor), 0);
}

/* Probes come and go while they run. */
static void fifty_starts_end_as_they_do_alone(void **state)
{
	enum { STARTS = 50, AT_ONCE = 10 };
	struct harness *harness = harness_bpf(state);
	struct child *anchor = WORKLOAD(harness, "unwinding");
	struct child *monitor =
		MONITOR_ATTACHED(harness, "threads", "-n", "unwinding", "--format", "json", "3600");

	for (unsigned i = 0; i < STARTS / AT_ONCE; i++) {
		struct child *started[AT_ONCE];

		for (unsigned j = 0; j < AT_ONCE; j++)
			started[j] = child_start(harness, "build/workloads/unwinding",
						 ARGUMENTS("unwinding", "30"), NULL);
		for (unsigned j = 0; j < AT_ONCE; j++)
			assert_int_equal(child_end(harness, started[j]), 42);
	}
	workload_do(harness, anchor, "some");
	monitor_stop(harness, monitor);
	workload_do(harness, anchor, "some");
}

/* Followed from its first instruction. */
static void so_does_a_command(void **state)
{
	struct harness *harness = harness_bpf(state);

	for (unsigned i = 0; i < 5; i++) {
		struct child *monitor =
			MONITOR(harness, "threads", "--format", "json", "3600", "--", "sh", "-c",
				"build/workloads/unwinding 30; test $? = 42 && echo unchanged >&2");

		child_wait_text(harness, monitor, &monitor->err, "unchanged");
		assert_int_equal(child_end(harness, monitor), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_thousand_rounds_go_on_unchanged_and_are_counted),
		e2e_test(fifty_starts_end_as_they_do_alone),
		e2e_test(so_does_a_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
