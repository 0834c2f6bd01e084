// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Identity: a reused PID is not its former process, every child of a target is followed, and so is
 * an exec by any thread, or the report names the gap.
 */
#include "harness.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void expect_exact(json_t *process, bool exact)
{
	assert_true(json_is_boolean(json_object_get(process, "exact")));
	assert_int_equal(json_is_true(json_object_get(process, "exact")), exact);
	assert_int_equal(json_object_get(process, "inexact") == NULL, exact);
}

/* Starts a new process with the PID of an ended one, which then executes `path`. */
static pid_t start_stranger(pid_t pid, const char *path, const char *argument)
{
	pid_t set_tid[] = {pid};
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)set_tid, .set_tid_size = 1};
	pid_t made = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (!made) {
		execl(path, path, argument, NULL);
		_exit(127);
	}
	if (made < 0)
		skip(); /* the PID was reused meanwhile */
	assert_int_equal(made, pid);
	return made;
}

/* Returns its exit code; kills a stopped one. */
static int end_of_stranger(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	if (WIFSTOPPED(status)) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		fail_msg("PID %d, a stranger, was stopped by signal %d", pid, WSTOPSIG(status));
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void a_stranger_with_the_pid_of_the_launched_command_is_not_stopped(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *monitor =
		MONITOR(harness, "-f", "-o", "0", "--output", "/dev/null", "3600", "--", "sh", "-c",
			"sleep 3600 >/dev/null 2>&1 & echo $! $$; read line");
	char *line = child_line(harness, monitor, &monitor->out);
	int sleeper = 0, launched = 0;
	char words[64];

	assert_int_equal(sscanf(line, "%d %d", &sleeper, &launched), 2);
	free(line);
	monitor_wait_attached(harness, monitor, sleeper);
	workload_send(monitor, "go");
	snprintf(words, sizeof(words), "PID %d exited", launched);
	child_wait_text(harness, monitor, &monitor->err, words);
	assert_int_equal(end_of_stranger(start_stranger(launched, "/bin/true", NULL)), 0);
	child_signal(monitor, SIGINT);
	kill(sleeper, SIGKILL);
	assert_int_equal(child_end(harness, monitor), 0);
}

static void a_stranger_with_the_pid_of_a_target_is_not_counted(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *stays = WORKLOAD(harness, "leak"), *goes = WORKLOAD(harness, "leak");
	pid_t pid = goes->pid;
	const char *workloads = getenv("LEAKMON_WORKLOADS");
	char text[64], path[256];
	struct child *monitor;
	json_t *report;

	snprintf(text, sizeof(text), "%s,%s", goes->pid_text, stays->pid_text);
	monitor = MONITOR_ATTACHED(harness, "-p", text, "-o", "0", "--format", "json", "3600");
	monitor_wait_attached(harness, monitor, stays->pid);
	workload_do(harness, goes, "go");
	workload_send(goes, "quit");
	assert_int_equal(child_end(harness, goes), 0);
	snprintf(text, sizeof(text), "PID %d has ended", pid);
	child_wait_text(harness, monitor, &monitor->err, text);
	snprintf(path, sizeof(path), "%s/quick", workloads ? workloads : "build/workloads");
	assert_int_equal(end_of_stranger(start_stranger(pid, path, "30")), 0);
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	assert_int_equal(ledger_at(report, "allocations"), 25);
	assert_int_equal(json_array_size(json_object_get(report, "processes")), 2);
	expect_held(process_of(report, pid), "leak_a", 10, 1000);
}

static void children_of_a_parent_that_never_allocated_are_all_followed(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *brood = WORKLOAD(harness, "brood", "6");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", brood->pid_text, "-f", "-o", "0",
						 "--format", "json", "3600");
	json_t *report, *process;
	size_t i;

	workload_do(harness, brood, "crowd");
	report = monitor_snapshot(harness, monitor);
	assert_int_equal(json_array_size(json_object_get(report, "processes")), 1 + 6);
	json_array_foreach(json_object_get(report, "processes"), i, process)
		expect_exact(process, true);
	child_signal(monitor, SIGINT);
}

/* posix_spawn: it execs before its memory is its own. */
static void a_child_that_vfork_made_is_followed_from_its_exec_on(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *brood = WORKLOAD(harness, "brood");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", brood->pid_text, "-f", "-o", "0",
						 "--format", "json", "3600");

	workload_do(harness, brood, "spawn");
	monitor_wait_attached(harness, monitor, workload_child(harness, brood));
	workload_do(harness, brood, "end");
	expect_exact(process_of(monitor_stop(harness, monitor), brood->pid), true);
}

static void children_of_lost_forks_are_found_and_the_loss_is_reported(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *brood = WORKLOAD(harness, "brood");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", brood->pid_text, "-f", "-o", "0",
						 "--format", "json", "3600");
	json_t *report, *child;

	expect_exact(process_of(monitor_snapshot(harness, monitor), brood->pid), true);
	child_signal(monitor, SIGSTOP);
	workload_do(harness, brood, "seed");
	workload_do(harness, brood, "burst");
	workload_do(harness, brood, "fork");
	child_signal(monitor, SIGCONT);
	monitor_wait_attached(harness, monitor, workload_child(harness, brood));
	child_wait_text(harness, monitor, &monitor->err, "forks or execs came faster");
	workload_ask(harness, brood, "work");
	report = monitor_snapshot(harness, monitor);
	expect_held(process_of(report, brood->pid), "leak_seed", 10, 640);
	expect_exact(process_of(report, brood->pid), false);
	assert_true(is_inexact_by(process_of(report, brood->pid), "events_lost"));
	child = process_of(report, workload_child(harness, brood));
	expect_held(child, "leak_own", 5, 160);
	assert_true(is_inexact_by(child, "events_lost"));
	workload_do(harness, brood, "end");
	monitor_stop(harness, monitor);
}

/* The numbers come from the maps: only lines are missing. */
static void lost_lines_of_a_trace_are_counted_in_it(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *blocks = WORKLOAD(harness, "blocks", "400000", "10"), *monitor;
	unsigned long long lost = 0, seen = 0, lines = 0;
	char path[64], line[512];
	FILE *trace;

	snprintf(path, sizeof(path), "%s/trace", harness->directory);
	monitor = MONITOR_ATTACHED(harness, "-p", blocks->pid_text, "-o", "0", "--trace",
				   "--output", path, "3600");
	child_signal(monitor, SIGSTOP);
	workload_do(harness, blocks, "go");
	child_signal(monitor, SIGCONT);
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	trace = fopen(path, "re");
	assert_non_null(trace);
	while (fgets(line, sizeof(line), trace)) {
		seen += strstr(line, " allocated 10 bytes") != NULL;
		lines += sscanf(line, "lost: %llu calls", &lost) == 1;
		assert_null(strstr(line, "inexact"));
	}
	fclose(trace);
	assert_int_equal(lines, 1);
	assert_int_equal(seen + lost, 400000);
}

static void expect_ready(struct harness *harness, struct child *child)
{
	char *line = child_line(harness, child, &child->out);

	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
}

static void an_exec_by_another_thread_is_probed_again_and_the_gap_is_reported(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "execer");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");
	json_t *report, *process;

	workload_do(harness, workload, "go");
	workload_send(workload, "exec_thread");
	expect_ready(harness, workload);
	child_wait_text(harness, monitor, &monitor->err, "probed it again");
	workload_do(harness, workload, "go");
	report = monitor_snapshot(harness, monitor);
	process = process_of(report, workload->pid);
	expect_held(process, "leak_second", 4, 256);
	expect_held(process, "leak_first", 0, 0);
	expect_exact(process, false);
	assert_true(is_inexact_by(process, "late_exec"));

	/* The next exec is an ordinary one: nothing of it is missed. */
	workload_send(workload, "exec");
	expect_ready(harness, workload);
	workload_do(harness, workload, "go");
	report = monitor_stop(harness, monitor);
	expect_balance(report);
	process = process_of(report, workload->pid);
	expect_held(process, "leak_second", 4, 256);
	expect_exact(process, true);
}

/* The launched program is stopped at its exec: nothing is missed. */
static void an_exec_by_another_thread_of_the_launched_program_is_exact(void **state)
{
	struct harness *harness = harness_bpf(state);
	const char *workloads = getenv("LEAKMON_WORKLOADS");
	struct child *monitor;
	json_t *process;
	char path[256];

	snprintf(path, sizeof(path), "%s/execer", workloads ? workloads : "build/workloads");
	monitor = MONITOR(harness, "-o", "0", "--format", "json", "3600", "--", path);
	expect_ready(harness, monitor);
	workload_do(harness, monitor, "go");
	workload_send(monitor, "exec_thread");
	expect_ready(harness, monitor);
	workload_do(harness, monitor, "go");
	process = json_array_get(json_object_get(monitor_stop(harness, monitor), "processes"), 0);
	expect_held(process, "leak_second", 4, 256);
	expect_exact(process, true);
}

/* A setuid-root copy of `leak`, under a unique name. */
static void copy_setuid(struct harness *harness, char *path, size_t size)
{
	const char *directory = getenv("LEAKMON_WORKLOADS");
	char command[512];

	snprintf(path, size, "%s/suid-%d", harness->directory, getpid());
	snprintf(command, sizeof(command), "cp %s/leak %s && chmod 4755 %s && chmod 755 %s",
		 directory ? directory : "build/workloads", path, path, harness->directory);
	assert_int_equal(system(command), 0);
}

/* It has become root: watching it took nothing from it. */
static void expect_setuid(pid_t pid)
{
	char path[64], line[256] = "";
	unsigned real = 0, effective = 1;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	assert_non_null(status);
	while (fgets(line, sizeof(line), status) &&
	       sscanf(line, "Uid: %u %u", &real, &effective) != 2)
		;
	fclose(status);
	assert_int_equal(real, 65534);
	assert_int_equal(effective, 0);
}

static void expect_leaks(json_t *process)
{
	expect_held(process, "leak_a", 10, 1000);
	expect_held(process, "leak_b", 5, 5000);
	expect_held(process, "leak_c", 3, 12288);
	expect_exact(process, true);
}

/* Its standard input and output are leakmon's. */
static void a_setuid_program_that_a_child_becomes_is_followed(void **state)
{
	struct harness *harness = harness_bpf(state);
	char path[64], command[256], *line;
	struct child *monitor;
	int pid = 0;

	copy_setuid(harness, path, sizeof(path));
	snprintf(command, sizeof(command), "setpriv --reuid 65534 --clear-groups %s; exit $?",
		 path);
	monitor = MONITOR(harness, "-f", "-o", "0", "--format", "json", "3600", "--", "sh", "-c",
			  command);
	line = child_line(harness, monitor, &monitor->out);
	assert_int_equal(sscanf(line, "ready %d", &pid), 1);
	free(line);
	expect_setuid(pid);
	monitor_wait_attached(harness, monitor, pid);
	workload_do(harness, monitor, "go");
	expect_leaks(process_of(monitor_snapshot(harness, monitor), pid));
	workload_send(monitor, "quit");
	assert_int_equal(child_end(harness, monitor), 0);
}

static void a_setuid_program_is_found_by_its_name(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload, *monitor;
	char path[64], *line;

	copy_setuid(harness, path, sizeof(path));
	workload =
		child_start(harness, "/usr/bin/setpriv",
			    ARGUMENTS("setpriv", "--reuid", "65534", "--clear-groups", path), NULL);
	line = child_line(harness, workload, &workload->out);
	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
	expect_setuid(workload->pid);
	monitor = MONITOR_ATTACHED(harness, "-n", strrchr(path, '/') + 1, "-o", "0", "--format",
				   "json", "3600");
	workload_do(harness, workload, "go");
	expect_leaks(process_of(monitor_stop(harness, monitor), workload->pid));
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_stranger_with_the_pid_of_the_launched_command_is_not_stopped),
		e2e_test(a_stranger_with_the_pid_of_a_target_is_not_counted),
		e2e_test(children_of_a_parent_that_never_allocated_are_all_followed),
		e2e_test(a_child_that_vfork_made_is_followed_from_its_exec_on),
		e2e_test(children_of_lost_forks_are_found_and_the_loss_is_reported),
		e2e_test(lost_lines_of_a_trace_are_counted_in_it),
		e2e_test(an_exec_by_another_thread_is_probed_again_and_the_gap_is_reported),
		e2e_test(an_exec_by_another_thread_of_the_launched_program_is_exact),
		e2e_test(a_setuid_program_that_a_child_becomes_is_followed),
		e2e_test(a_setuid_program_is_found_by_its_name),
	};

	return cmocka_run_group_tests_name("e2e_follow", tests, NULL, NULL);
}
