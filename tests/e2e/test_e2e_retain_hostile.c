// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon retain` where it is not welcome; no BPF is needed. */
#include "retain_holder.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void a_traced_process_is_not_stopped_but_scanned_twice(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;
	json_t *truth, *report, *picture;

	target = holder_start(harness, "100", "30", &truth);
	assert_int_equal(ptrace(PTRACE_SEIZE, target->pid, 0, 0), 0);
	report = RETAIN(harness, target);
	picture = json_object_get(report, "picture");
	assert_false(json_is_true(json_object_get(picture, "stopped")));
	assert_non_null(strstr(text_at(picture, "why_not_stopped"), "refuses"));
	expect_holder(report, truth);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, target->pid, 0, 0), 0);
	assert_int_equal(waitpid(target->pid, NULL, __WALL), target->pid);
	assert_int_equal(ptrace(PTRACE_DETACH, target->pid, 0, 0), 0);
	workload_do(harness, target, "go");
}

static void a_corrupted_heap_is_walked_up_to_there_and_the_place_is_named(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;
	json_t *truth, *report, *heap, *corrupt;

	target = holder_start(harness, "1000", "300", &truth);
	corrupt = workload_ask(harness, target, "corrupt");
	report = RETAIN(harness, target);
	heap = json_object_get(report, "heap");
	assert_int_equal(number_at(heap, "broken"), 1);
	assert_int_equal(number_at(heap, "broken_at"), number_at(corrupt, "corrupt"));
	/* cache, table, and the earlier entries with their values, except the last one: the
	 * corrupted word says whether it is in use. Nothing seems lost. */
	assert_int_equal(number_at(heap, "blocks"), 2 + 2 * 500 - 1);
	assert_int_equal(total_at(report, "unreachable", "blocks"), 0);
}

/* The process ends at any time in the run: an error or a report, never a hang or a crash. */
static void a_process_may_end_at_any_moment(void **state)
{
	struct harness *harness = harness_any(state);

	for (int i = 0; i < 20; i++) {
		struct child *target = WORKLOAD(harness, "busy", "2", "200000"), *monitor;
		int code;

		workload_do(harness, target, "go");
		monitor = MONITOR(harness, "retain", "-p", target->pid_text, "--census", "--format",
				  "json");
		wait_ms(1 + i * 5);
		child_signal(target, SIGKILL);
		code = child_end(harness, monitor);
		if (code != 0 && code != 1)
			child_fail(monitor, "exit code %d", code);
	}
}

/* The program is replaced by another one, again and again. */
static void a_process_may_be_replaced_at_any_moment(void **state)
{
	struct harness *harness = harness_any(state);
	static const char script[] = "x=$0; n=0; while [ $n -lt 400 ]; do n=$((n + 1)); done; "
				     "exec /bin/sh -c \"$x\" \"$x\"";
	struct child *target =
		child_start(harness, "/bin/sh", ARGUMENTS("sh", "-c", script, script), NULL);

	for (int i = 0; i < 30; i++) {
		struct child *monitor = MONITOR(harness, "retain", "-p", target->pid_text,
						"--census", "--format", "json");
		int code = child_end(harness, monitor);

		if (code != 0 && code != 1)
			child_fail(monitor, "exit code %d", code);
	}
	/* It lives, and is not traced. */
	assert_int_equal(kill(target->pid, 0), 0);
	assert_int_equal(ptrace(PTRACE_SEIZE, target->pid, 0, 0), 0);
}

static void what_has_no_memory_is_refused_with_a_reason(void **state)
{
	struct harness *harness = harness_any(state);

	monitor_expect_error(harness, MONITOR(harness, "retain", "-p", "4194304", "--census"), 1,
			     "4194304");
	monitor_expect_error(harness, MONITOR(harness, "retain", "--census"), 2, "no target");
	monitor_expect_error(harness, MONITOR(harness, "retain", "-p", "1", "--format", "prom"), 2,
			     "text, json");
	monitor_expect_error(harness, MONITOR(harness, "retain", "-p", "1", "--addr", "here"), 2,
			     "--addr");
}

/* The only child of a process. */
static pid_t child_of(pid_t pid)
{
	char path[64];
	FILE *file;
	int child = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &child), 1);
	fclose(file);
	return child;
}

/* Its files differ from those at the same paths outside, and its PID is another one there. */
static void a_process_in_other_namespaces_is_named_by_its_own_files(void **state)
{
	static const char script[] = "mount -t tmpfs none \"$2\" && cp \"$1\" \"$2/program\" && "
				     "exec \"$2/program\" 1000 300";
	struct harness *harness = harness_any(state);
	const char *workloads = getenv("LEAKMON_WORKLOADS");
	char holder[128], pid[16], *ready;
	struct child *shell, *monitor;
	json_t *truth, *report;

	snprintf(holder, sizeof(holder), "%s/holder", workloads ? workloads : "build/workloads");
	shell = child_start(harness, "/usr/bin/unshare",
			    ARGUMENTS("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh",
				      "-c", script, "sh", holder, harness->directory),
			    NULL);
	ready = child_line(harness, shell, &shell->out);
	assert_string_equal(ready, "ready 1");
	free(ready);
	workload_do(harness, shell, "go");
	truth = workload_ask(harness, shell, "truth");
	snprintf(pid, sizeof(pid), "%d", child_of(shell->pid));
	monitor = MONITOR(harness, "retain", "-p", pid, "--census", "--format", "json");
	report = report_of(harness, monitor);
	expect_holder(report, truth);
	assert_string_equal(text_at(json_array_get(json_object_get(report, "roots"), 0), "module") +
				    strlen(harness->directory),
			    "/program");
}

static void a_missing_capability_is_named(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target, *monitor;
	json_t *truth;

	target = holder_start(harness, "10", "3", &truth);
	monitor = child_start(
		harness, "/usr/bin/setpriv",
		ARGUMENTS("setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set=-all",
			  "--",
			  getenv("LEAKMON_PROGRAM") ? getenv("LEAKMON_PROGRAM") : "build/leakmon",
			  "retain", "-p", target->pid_text, "--census"),
		NULL);
	monitor_expect_error(harness, monitor, 1, "CAP_SYS_PTRACE");
	workload_do(harness, target, "go");
}

static const char *limited_group(struct harness *harness)
{
	static const char *const parents[] = {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"};
	static const char *const files[] = {"memory.limit_in_bytes", "memory.max"};
	static char group[64];

	for (size_t i = 0; i < 2; i++) {
		char path[128];
		FILE *file;

		snprintf(group, sizeof(group), "%s/leakmon-test-%d", parents[i], getpid());
		if (mkdir(group, 0755))
			continue;
		snprintf(path, sizeof(path), "%s/%s", group, files[i]);
		file = fopen(path, "w");
		if (file && fprintf(file, "48M\n") > 0 && !fclose(file))
			return group;
		rmdir(group);
	}
	(void)harness;
	return NULL;
}

/* The kernel does not kill leakmon while it stops the process: it reports lack of memory. */
static void a_limit_of_our_own_memory_ends_the_run_with_a_reason(void **state)
{
	static const char script[] = "echo $$ > $0/cgroup.procs && exec \"$@\"";
	struct harness *harness = harness_any(state);
	const char *group = limited_group(harness);
	struct child *target, *monitor;
	json_int_t served;

	if (!group) {
		fprintf(stderr, "SKIPPED, nothing was tested: no memory control group\n");
		skip();
	}
	target = WORKLOAD(harness, "busy", "2", "1000000");
	workload_do(harness, target, "go");
	monitor = child_start(
		harness, "/bin/sh",
		ARGUMENTS("sh", "-c", script, group,
			  getenv("LEAKMON_PROGRAM") ? getenv("LEAKMON_PROGRAM") : "build/leakmon",
			  "retain", "-p", target->pid_text, "--census"),
		NULL);
	monitor_expect_error(harness, monitor, 1, "the limit of leakmon's control group");
	rmdir(group);
	served = number_at(workload_ask(harness, target, "check"), "served");
	wait_ms(20);
	assert_true(number_at(workload_ask(harness, target, "check"), "served") > served);
	assert_int_equal(number_at(workload_ask(harness, target, "check"), "wrong"), 0);
}

/* Too little time: the process is resumed, and two scans agree. */
static void a_pause_that_is_too_short_is_given_up_and_costs_the_process_nothing(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "busy", "16", "400000");
	json_t *report, *picture;
	json_int_t served;

	workload_do(harness, target, "go");
	report = RETAIN(harness, target, "--max-pause", "1");
	picture = json_object_get(report, "picture");
	assert_false(json_is_true(json_object_get(picture, "stopped")));
	assert_non_null(strstr(text_at(picture, "why_not_stopped"), "--max-pause"));
	assert_true(json_is_true(json_object_get(report, "settled")));
	assert_int_equal(total_at(report, "unreachable", "blocks"), 0);
	served = number_at(workload_ask(harness, target, "check"), "served");
	wait_ms(20);
	assert_true(number_at(workload_ask(harness, target, "check"), "served") > served);
	assert_int_equal(number_at(workload_ask(harness, target, "check"), "wrong"), 0);
	assert_int_equal(ptrace(PTRACE_SEIZE, target->pid, 0, 0), 0);
}

/* The maximum number that the kernel allows a process. */
static void tens_of_thousands_of_mappings_are_no_trouble(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "manymaps", "60000");
	json_t *report;

	workload_do(harness, target, "go");
	report = RETAIN(harness, target);
	assert_true(json_is_true(json_object_get(report, "settled")));
	/* One block in each 100th, and the holder of all. */
	assert_true(number_at(json_object_get(report, "heap"), "blocks") >= 600);
	assert_int_equal(total_at(report, "unreachable", "blocks"), 0);
	/* All blocks through the table, except one or two that a stack still holds, too. */
	assert_int_equal(total_at(report, "through", "blocks"),
			 total_at(report, "untracked", "blocks"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_traced_process_is_not_stopped_but_scanned_twice),
		e2e_test(a_corrupted_heap_is_walked_up_to_there_and_the_place_is_named),
		e2e_test(a_process_may_end_at_any_moment),
		e2e_test(a_process_may_be_replaced_at_any_moment),
		e2e_test(what_has_no_memory_is_refused_with_a_reason),
		e2e_test(a_process_in_other_namespaces_is_named_by_its_own_files),
		e2e_test(a_missing_capability_is_named),
		e2e_test(a_limit_of_our_own_memory_ends_the_run_with_a_reason),
		e2e_test(a_pause_that_is_too_short_is_given_up_and_costs_the_process_nothing),
		e2e_test(tens_of_thousands_of_mappings_are_no_trouble),
	};

	return cmocka_run_group_tests_name("e2e_retain_hostile", tests, NULL, NULL);
}
