// SPDX-License-Identifier: GPL-2.0-or-later
/* Targets that change their own code: they live, and no number is called exact that is not. */
#include "harness.h"

#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>

static void expect_alive(struct harness *harness, struct child *workload)
{
	workload_do(harness, workload, "go");
	workload_do(harness, workload, "go-second");
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

/* An attach that is refused, and a target that does not notice. */
static void expect_refused(struct harness *harness, const char *command, const char *words)
{
	struct child *workload = WORKLOAD(harness, "rewriter"), *monitor;

	workload_do(harness, workload, command);
	monitor = MONITOR(harness, "-p", workload->pid_text, "--format", "json", "3600");
	monitor_expect_error(harness, monitor, 1, words);
	expect_alive(harness, workload);
}

static void a_hooked_allocator_is_left_alone(void **state)
{
	expect_refused(harness_bpf(state), "hook", "has changed code of");
}

static void moved_code_is_left_alone(void **state)
{
	struct harness *harness = harness_bpf(state);

	expect_refused(harness, "move", "has moved code of");
	expect_refused(harness, "move-part", "has moved code of");
}

/* A hooked thread library costs the threads, not the heap. */
static void a_hooked_thread_library_is_left_alone(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "rewriter");
	json_t *report, *process;

	workload_do(harness, workload, "hook-detach");
	report = WATCH(harness, workload, "go");
	process = process_of(report, workload->pid);
	expect_held(process, "leak", 100, 100000);
	assert_true(json_is_true(json_object_get(process, "exact")));
	assert_string_equal(json_string_value(json_object_get(json_object_get(process, "threads"),
							      "cannot_tell")),
			    "the process has changed its thread library in memory");
	expect_alive(harness, workload);
}

/*
 * One hooked process keeps probes on files away from its mapped files; it survives, and so do the
 * others.
 */
static void probes_for_all_spare_a_hooked_process(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *hooked = WORKLOAD(harness, "rewriter");
	struct child *other = WORKLOAD(harness, "threads"), *monitor;

	workload_do(harness, hooked, "hook-detach");
	monitor = MONITOR(harness, "threads", "--format", "json", "1", "1");
	assert_int_equal(child_end(harness, monitor), 0);
	assert_non_null(strstr(monitor->err.text, "has changed code of"));
	assert_non_null(strstr(monitor->err.text, hooked->pid_text));
	expect_alive(harness, hooked);
	workload_send(other, "quit");
	assert_int_equal(child_end(harness, other), 0);
}

static struct child *monitor_of(struct harness *harness, const struct child *workload,
				const char *method)
{
	return MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--attach", method,
				"--format", "json", "3600");
}

static json_t *report_now(struct harness *harness, struct child *monitor)
{
	child_signal(monitor, SIGUSR1);
	return monitor_report(harness, monitor);
}

static void expect_exact(json_t *process, json_int_t blocks)
{
	expect_held(process, "leak", blocks, blocks * 1000);
	assert_true(json_is_true(json_object_get(process, "exact")));
	assert_null(json_object_get(process, "inexact"));
}

/* 100 seen, 100 unseen, and from the next report on all are seen again. */
static void probes_in_dropped_memory_are_set_again(void **state)
{
	static const char *const methods[] = {"auto", "perf"};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < 2; i++) {
		struct child *workload = WORKLOAD(harness, "rewriter");
		struct child *monitor = monitor_of(harness, workload, methods[i]);
		json_t *process;

		workload_do(harness, workload, "go");
		expect_exact(process_of(report_now(harness, monitor), workload->pid), 100);
		workload_do(harness, workload, "forget");
		workload_do(harness, workload, "go");
		process = process_of(report_now(harness, monitor), workload->pid);
		expect_held(process, "leak", 100, 100000);
		expect_doubt(process, "unprobed");
		workload_do(harness, workload, "go");
		process = process_of(monitor_stop(harness, monitor), workload->pid);
		expect_held(process, "leak", 200, 200000);
		expect_doubt(process, "unprobed");
		expect_alive(harness, workload);
	}
}

/* Nothing is seen while the code is writable, and all once it no longer is. */
static void writable_code_is_probed_when_it_no_longer_is(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "rewriter"), *monitor;
	json_t *process, *causes;

	workload_do(harness, workload, "writable");
	monitor = monitor_of(harness, workload, "auto");
	workload_do(harness, workload, "go");
	process = process_of(report_now(harness, monitor), workload->pid);
	expect_held(process, "leak", 0, 0);
	expect_doubt(process, "code_writable");
	workload_do(harness, workload, "readonly");
	report_now(harness, monitor);
	workload_do(harness, workload, "go");
	process = process_of(monitor_stop(harness, monitor), workload->pid);
	expect_held(process, "leak", 100, 100000);
	causes = json_object_get(process, "inexact");
	assert_int_equal(json_array_size(causes), 2);
	assert_string_equal(json_string_value(json_array_get(causes, 0)), "code_writable");
	assert_string_equal(json_string_value(json_array_get(causes, 1)), "unprobed");
	expect_alive(harness, workload);
}

/* Also with two C libraries of the same file, the other of which is unchanged. */
static void code_that_moves_later_is_no_secret(void **state)
{
	static const char *const commands[] = {"move", "move-part"};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < 2; i++) {
		struct child *workload = WORKLOAD(harness, "rewriter");
		struct child *monitor = monitor_of(harness, workload, "auto");
		json_t *process;

		workload_do(harness, workload, commands[i]);
		workload_do(harness, workload, "go-second");
		process = process_of(report_now(harness, monitor), workload->pid);
		expect_held(process, "leak_second", 50, 25000);
		expect_doubt(process, "code_moved");
		monitor_stop(harness, monitor);
		expect_alive(harness, workload);
	}
}

/* A hook that is set later takes the breakpoint away: nothing is set over it. */
static void a_hook_that_comes_later_is_left_alone(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "rewriter");
	struct child *monitor = monitor_of(harness, workload, "auto");

	workload_do(harness, workload, "hook");
	for (int i = 0; i < 2; i++)
		expect_doubt(process_of(report_now(harness, monitor), workload->pid),
			     "code_changed");
	workload_do(harness, workload, "go");
	monitor_stop(harness, monitor);
	expect_alive(harness, workload);
}

/* Two libraries of one file, one present before the attach, one loaded later. */
static void two_c_libraries_are_both_seen(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "rewriter");
	struct child *monitor = monitor_of(harness, workload, "auto");
	json_t *report;

	workload_do(harness, workload, "go");
	workload_do(harness, workload, "go-second");
	report = report_now(harness, monitor);
	expect_truth(report, workload_ask(harness, workload, "ledger"));
	workload_do(harness, workload, "second");
	workload_do(harness, workload, "go-second");
	report = monitor_stop(harness, monitor);
	expect_held(process_of(report, workload->pid), "leak_second", 100, 50000);
	assert_true(json_is_true(json_object_get(process_of(report, workload->pid), "exact")));
	expect_alive(harness, workload);
}

/* Its callees may throw, and the places of its results are unknown. */
static void a_function_that_no_probe_can_follow_is_no_secret(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload =
		WORKLOAD(harness, "hostile_files", harness->directory, "thrower", "1", "100");
	struct child *monitor = monitor_of(harness, workload, "auto");
	json_t *process;

	workload_do(harness, workload, "go");
	process = process_of(monitor_stop(harness, monitor), workload->pid);
	expect_held(process, "held_blocks", 100, 6400);
	expect_doubt(process, "function_unprobed");
	assert_non_null(strstr(monitor->err.text, "is not probed: it may throw"));
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

#define ALLOCATOR "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0"

static void copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "re"), *out = fopen(to, "we");
	off_t at = 0;

	assert_true(in && out);
	while (sendfile(fileno(out), fileno(in), &at, 1 << 20) > 0)
		;
	assert_true(at > 0);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

/* Deleted files can be opened through /proc/PID/map_files only, which needs one of these. */
static void leave_deleted_files_alone(void)
{
	if (prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) ||
	    prctl(PR_CAPBSET_DROP, CAP_CHECKPOINT_RESTORE, 0, 0, 0))
		_exit(126);
}

/* The same process, once as root and once without permission. */
static void a_file_that_cannot_be_opened_is_no_secret(void **state)
{
	static const before_exec rights[] = {NULL, leave_deleted_files_alone};
	struct harness *harness = harness_bpf(state);
	struct child *workload, *monitor;
	json_t *process;
	char path[64];

	snprintf(path, sizeof(path), "%s/allocator.so", harness->directory);
	copy_file(ALLOCATOR, path);
	workload = WORKLOAD(harness, "late", path);
	workload_do(harness, workload, "load");
	assert_int_equal(unlink(path), 0);
	for (size_t i = 0; i < 2; i++) {
		monitor = monitor_attached(
			harness,
			monitor_start(harness,
				      ARGUMENTS("leakmon", "-p", workload->pid_text, "-o", "0",
						"--attach=multi", "--format", "json", "3600"),
				      rights[i]));
		workload_do(harness, workload, "go");
		process = process_of(monitor_stop(harness, monitor), workload->pid);
		expect_held(process, "late_blocks", i == 0 ? 50 : 0, i == 0 ? 2550 : 0);
		if (i == 0) {
			assert_true(json_is_true(json_object_get(process, "exact")));
			continue;
		}
		expect_doubt(process, "file_unread");
		assert_non_null(strstr(monitor->err.text, "allocator.so is not probed"));
		assert_non_null(strstr(monitor->err.text, "CAP_CHECKPOINT_RESTORE"));
	}
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_hooked_allocator_is_left_alone),
		e2e_test(moved_code_is_left_alone),
		e2e_test(a_hooked_thread_library_is_left_alone),
		e2e_test(probes_for_all_spare_a_hooked_process),
		e2e_test(probes_in_dropped_memory_are_set_again),
		e2e_test(writable_code_is_probed_when_it_no_longer_is),
		e2e_test(code_that_moves_later_is_no_secret),
		e2e_test(a_hook_that_comes_later_is_left_alone),
		e2e_test(two_c_libraries_are_both_seen),
		e2e_test(a_function_that_no_probe_can_follow_is_no_secret),
		e2e_test(a_file_that_cannot_be_opened_is_no_secret),
	};

	return cmocka_run_group_tests_name("e2e_code", tests, NULL, NULL);
}
