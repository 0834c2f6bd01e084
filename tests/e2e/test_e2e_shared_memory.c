// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes on another one's heap: vfork, posix_spawn, clone(CLONE_VM). Their allocations
 * are right, or the report is marked with the cause; a mere exec makes nothing inexact.
 */
#include "harness.h"

#include <signal.h>

static struct child *attach(struct harness *harness, struct child *workload)
{
	return MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format", "json",
				"3600");
}

static void expect_exact(json_t *process)
{
	assert_true(json_is_true(json_object_get(process, "exact")));
	assert_null(json_object_get(process, "inexact"));
}

static void expect_unseen(json_t *process, json_int_t tasks)
{
	assert_true(json_is_false(json_object_get(process, "exact")));
	assert_true(is_inexact_by(process, "shared_memory"));
	assert_int_equal(number_at(json_object_get(process, "shared_memory"), "count"), tasks);
}

static void a_process_that_spawns_programs_stays_exact(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "sharer");
	struct child *monitor = attach(harness, workload);
	json_t *process;

	workload_do(harness, workload, "own");
	workload_do(harness, workload, "spawn");
	process = process_of(monitor_stop(harness, monitor), workload->pid);
	expect_held(process, "leak_own", 3333, 333300);
	expect_exact(process);
}

/* For any way of identifying the caller: right, or inexact with the cause. */
static void a_vfork_child_that_allocates_is_not_passed_over(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "sharer");
	struct child *monitor = attach(harness, workload);
	json_t *process;

	workload_do(harness, workload, "own");
	workload_do(harness, workload, "vfork");
	process = process_of(monitor_snapshot(harness, monitor), workload->pid);
	if (held_by(process, "leak_vforked").count != 4444)
		expect_unseen(process, 1);
	else
		expect_exact(process);
	workload_do(harness, workload, "swap");
	workload_do(harness, workload, "spawn");
	process = process_of(monitor_stop(harness, monitor), workload->pid);
	if (held_by(process, "leak_own").count != 2333)
		expect_unseen(process, 2);
	else
		expect_exact(process);
}

static void probes_that_ask_for_the_memory_see_a_vfork_child(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "sharer");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "--attach", "perf", "3600");
	json_t *process;

	workload_do(harness, workload, "own");
	workload_do(harness, workload, "spawn");
	workload_do(harness, workload, "vfork");
	workload_do(harness, workload, "swap");
	process = process_of(monitor_stop(harness, monitor), workload->pid);
	expect_held(process, "leak_own", 2333, 233300);
	expect_held(process, "leak_vforked", 4444, 444400);
	expect_exact(process);
}

static void a_child_that_stays_is_followed_and_counted_with_its_parent(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "sharer");
	struct child *monitor = attach(harness, workload);
	json_t *report, *process;

	workload_do(harness, workload, "own");
	workload_do(harness, workload, "clone");
	monitor_wait_attached(harness, monitor, workload_child(harness, workload));
	/* The message comes slightly before the child is known to be followed. */
	monitor_snapshot(harness, monitor);
	workload_do(harness, workload, "work");
	report = monitor_snapshot(harness, monitor);
	assert_int_equal(json_array_size(json_object_get(report, "processes")), 1);
	process = process_of(report, workload->pid);
	expect_held(process, "leak_own", 3333, 333300);
	expect_held(process, "leak_cloned", 444, 22200);
	expect_exact(process);
	workload_do(harness, workload, "end");
	process = process_of(monitor_stop(harness, monitor), workload->pid);
	expect_held(process, "leak_cloned", 444, 22200);
	expect_exact(process);
}

/* It began before it could be probed: how much is missing cannot be known. */
static void a_child_that_does_not_wait_makes_its_parent_inexact(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "sharer");
	struct child *monitor = attach(harness, workload);
	json_t *process;

	workload_do(harness, workload, "hasty");
	process = process_of(monitor_snapshot(harness, monitor), workload->pid);
	if (held_by(process, "leak_cloned").count != 444)
		expect_unseen(process, 1);
	workload_do(harness, workload, "end");
	process = process_of(monitor_stop(harness, monitor), workload->pid);
	if (held_by(process, "leak_cloned").count != 444)
		expect_unseen(process, 1);
}

/* There before the attach: a report searches for it. */
static void a_child_from_before_the_attach_is_found_once_it_allocates(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "sharer"), *monitor;
	json_t *process;

	workload_do(harness, workload, "clone");
	monitor = attach(harness, workload);
	workload_do(harness, workload, "own");
	process = process_of(monitor_snapshot(harness, monitor), workload->pid);
	expect_held(process, "leak_own", 3333, 333300);
	expect_exact(process);
	workload_do(harness, workload, "work");
	process = process_of(monitor_stop(harness, monitor), workload->pid);
	if (held_by(process, "leak_cloned").count != 444)
		expect_unseen(process, 1);
	workload_do(harness, workload, "end");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_process_that_spawns_programs_stays_exact),
		e2e_test(a_vfork_child_that_allocates_is_not_passed_over),
		e2e_test(probes_that_ask_for_the_memory_see_a_vfork_child),
		e2e_test(a_child_that_stays_is_followed_and_counted_with_its_parent),
		e2e_test(a_child_that_does_not_wait_makes_its_parent_inexact),
		e2e_test(a_child_from_before_the_attach_is_found_once_it_allocates),
	};

	return cmocka_run_group_tests_name("e2e_shared_memory", tests, NULL, NULL);
}
