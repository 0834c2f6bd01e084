// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recordings of a real run: they equal the workload's own counts, after any end of the monitor, and
 * can be read without the target and without any privilege.
 */
#include "harness.h"

#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>

/* The workload `leak`: per `go` 10 blocks of 100 in leak_a, 5 of 1000 in leak_b, 3 of 4096. */
#define GO_BYTES (10 * 100 + 5 * 1000 + 3 * 4096)

static char *path_of(struct harness *harness, const char *name)
{
	static char path[96];

	snprintf(path, sizeof(path), "%s/%s", harness->directory, name);
	return path;
}

/* Takes a snapshot by signal, and waits until it is committed. */
static void snapshot(struct harness *harness, struct child *monitor, int number)
{
	char text[64];

	snprintf(text, sizeof(text), "snapshot %d is recorded as `asked`", number);
	child_signal(monitor, SIGUSR1);
	child_wait_text(harness, monitor, &monitor->err, text);
}

/* Two snapshots by signal, with one more `go` each; the monitor is still there. */
static struct child *record(struct harness *harness, struct child *workload, const char *path)
{
	struct child *monitor = MONITOR_ATTACHED(harness, "record", "-p", workload->pid_text, "-o",
						 path, "--older", "0", "--label", "asked", "3600");

	for (int i = 1; i <= 2; i++) {
		workload_do(harness, workload, "go");
		snapshot(harness, monitor, i);
	}
	return monitor;
}

static void drop_privileges(void)
{
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		_exit(125);
}

static json_t *report_at(struct harness *harness, const char *path, const char *at)
{
	struct child *reader = monitor_start(
		harness, ARGUMENTS("leakmon", "report", path, "--at", at, "--format", "json"),
		drop_privileges);
	json_t *report = monitor_report(harness, reader);

	assert_int_equal(child_end(harness, reader), 0);
	return report;
}

static void expect_goes(struct harness *harness, const char *path, const char *at, pid_t pid,
			int goes)
{
	json_t *report = report_at(harness, path, at), *process = process_of(report, pid);

	expect_held(process, "leak_a", 10 * goes, 1000 * goes);
	expect_held(process, "leak_b", 5 * goes, 5000 * goes);
	expect_held(process, "leak_c", 3 * goes, 12288 * goes);
	expect_balance(report);
	assert_int_equal(number_at(process, "outstanding_bytes"), GO_BYTES * goes);
}

/* Lets others read it, in a directory that is otherwise private. */
static void open_up(struct harness *harness, const char *path)
{
	assert_int_equal(chmod(harness->directory, 0755), 0);
	assert_int_equal(chmod(path, 0644), 0);
}

static void snapshots_read_as_they_were_without_target_and_privileges(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	const char *path = path_of(harness, "run.lkm");
	struct child *monitor = record(harness, workload, path);
	pid_t pid = workload->pid;

	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	child_kill(workload);
	open_up(harness, path);
	assert_int_equal(chmod(harness->directory, 0555), 0);
	expect_goes(harness, path, "1", pid, 1);
	expect_goes(harness, path, "2", pid, 2);
	expect_goes(harness, path, "asked", pid, 2); /* the latest of that name */
	expect_goes(harness, path, "last", pid, 2);
	assert_int_equal(number_at(report_at(harness, path, "last"), "sequence"), 3);
	assert_int_equal(chmod(harness->directory, 0755), 0);
}

static void be_web_1(void)
{
	if (unshare(CLONE_NEWUTS) || sethostname("web-1", 5))
		_exit(125);
}

static void be_web_2(void)
{
	if (unshare(CLONE_NEWUTS) || sethostname("web-2", 5))
		_exit(125);
}

/* Recording by one host of a workload with that many `go`s. */
static char *record_on_host(struct harness *harness, const char *name, void (*be)(void),
			    struct child *workload, int goes)
{
	char *path = strdup(path_of(harness, name));
	struct child *monitor =
		monitor_start(harness,
			      ARGUMENTS("leakmon", "record", "-p", workload->pid_text, "-o", path,
					"--older", "0", "--label", "asked", "3600"),
			      be);

	child_wait_text(harness, monitor, &monitor->err, "attached to PID");
	for (int i = 1; i <= goes; i++) {
		workload_do(harness, workload, "go");
		snapshot(harness, monitor, i);
	}
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	return path;
}

static void recordings_of_two_hosts_are_one_fleet(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *one = WORKLOAD(harness, "leak"), *two = WORKLOAD(harness, "leak"), *merge;
	char *first = record_on_host(harness, "one.lkm", be_web_1, one, 1);
	char *second = record_on_host(harness, "two.lkm", be_web_2, two, 3);
	json_t *report, *build, *site, *process;
	size_t i;

	merge = MONITOR(harness, "merge", harness->directory, "-o", path_of(harness, "fleet.lkm"));
	assert_int_equal(child_end(harness, merge), 0);
	open_up(harness, path_of(harness, "fleet.lkm"));
	report = report_at(harness, path_of(harness, "fleet.lkm"), "last");
	expect_balance(report);
	process = process_of(report, one->pid);
	expect_held(process, "leak_a", 10, 1000);
	assert_string_equal(json_string_value(json_object_get(process, "host")), "web-1");
	process = process_of(report, two->pid);
	expect_held(process, "leak_a", 30, 3000);
	assert_string_equal(json_string_value(json_object_get(process, "host")), "web-2");
	assert_int_equal(json_array_size(json_object_get(report, "hosts")), 2);
	assert_int_equal(json_array_size(json_object_get(report, "builds")), 1);
	build = json_array_get(json_object_get(report, "builds"), 0);
	assert_string_equal(json_string_value(json_object_get(build, "comm")), "leak");
	assert_int_equal(strlen(json_string_value(json_object_get(build, "build_id"))), 40);
	assert_int_equal(number_at(build, "hosts"), 2);
	assert_int_equal(number_at(build, "bytes"), 4 * GO_BYTES);
	json_array_foreach(json_object_get(build, "sites"), i, site)
	{
		assert_int_equal(number_at(site, "hosts"), 2);
	}
	assert_int_equal(i, 3);
	free(first);
	free(second);
}

static void a_killed_monitor_leaves_what_it_committed(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	const char *path = path_of(harness, "killed.lkm");
	struct child *monitor = record(harness, workload, path);
	struct child *reader;

	child_signal(monitor, SIGKILL);
	assert_int_equal(child_end(harness, monitor), 128 + SIGKILL);
	reader = MONITOR(harness, "report", path, "--format", "json", "--at", "2");
	expect_held(process_of(monitor_report(harness, reader), workload->pid), "leak_a", 20, 2000);
	assert_int_equal(child_end(harness, reader), 0);
}

static void it_can_be_read_while_it_is_recorded(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	const char *path = path_of(harness, "open.lkm");
	struct child *monitor = record(harness, workload, path), *reader;

	for (int i = 3; i <= 6; i++) {
		reader = MONITOR(harness, "report", path, "--format", "json");
		assert_int_equal(number_at(monitor_report(harness, reader), "sequence"), i - 1);
		assert_int_equal(child_end(harness, reader), 0);
		workload_do(harness, workload, "go");
		snapshot(harness, monitor, i);
	}
	child_signal(monitor, SIGTERM);
	assert_int_equal(child_end(harness, monitor), 0);
	expect_goes(harness, (open_up(harness, path), path), "last", workload->pid, 6);
}

/* The queries of user/doc/recording-format.md, with sqlite3's own shell. */
static void sqlite3_answers_the_documented_queries(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *shell;
	const char *path = path_of(harness, "query.lkm");
	struct child *monitor = record(harness, workload, path);
	char *line;

	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	shell = child_start(harness, "/usr/bin/sqlite3",
			    ARGUMENTS("sqlite3", "-readonly", path,
				      "SELECT sequence, outstanding_bytes FROM ledgers JOIN "
				      "snapshots ON sequence=snapshot WHERE process=0 "
				      "ORDER BY sequence LIMIT 2",
				      "SELECT function, max(bytes) FROM points JOIN stacks "
				      "USING(site) JOIN frames ON frames.id=frame WHERE position=0 "
				      "GROUP BY site ORDER BY 2 DESC LIMIT 1"),
			    NULL);
	line = child_line(harness, shell, &shell->out);
	assert_string_equal(line, "1|18288");
	free(line);
	line = child_line(harness, shell, &shell->out);
	assert_string_equal(line, "2|36576");
	free(line);
	line = child_line(harness, shell, &shell->out);
	assert_string_equal(line, "leak_c|24576");
	free(line);
	assert_int_equal(child_end(harness, shell), 0);
}

static void what_cannot_be_read_or_made_is_reported(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	const char *path = path_of(harness, "there.lkm");
	FILE *file = fopen(path, "w");

	fputs("precious\n", file);
	fclose(file);
	monitor_expect_error(harness,
			     MONITOR(harness, "record", "-p", workload->pid_text, "-o", path), 1,
			     "File exists; name another file, or remove this one");
	monitor_expect_error(harness, MONITOR(harness, "report", path), 1,
			     "is not a recording of leakmon");
	monitor_expect_error(harness, MONITOR(harness, "report", "/nowhere/x.lkm"), 1,
			     "No such file or directory");
	monitor_expect_error(
		harness,
		MONITOR(harness, "record", "-p", "4194304", "-o", path_of(harness, "none.lkm")), 1,
		"4194304");
	/* A run that never began leaves no file. */
	assert_int_not_equal(access(path_of(harness, "none.lkm"), F_OK), 0);
	monitor_expect_error(harness, MONITOR(harness, "record", "-p", workload->pid_text), 2,
			     "no file to record to");
}

#define HALF_A_DAY_MS (12 * 3600 * 1000)

/* For leakmon, the wall clock jumps by a day between any two readings. */
static void let_the_clock_jump(void)
{
	const char *directory = getenv("LEAKMON_WORKLOADS");
	char path[512];

	snprintf(path, sizeof(path), "%s/jumpy.so", directory ? directory : "build/workloads");
	setenv("LD_PRELOAD", realpath(path, NULL), 1);
}

static void expect_young(json_t *report, pid_t pid)
{
	json_t *sites = json_object_get(process_of(report, pid), "sites"), *site;
	size_t i;

	json_array_foreach(sites, i, site)
		assert_in_range(number_at(site, "oldest_ms"), 0, HALF_A_DAY_MS);
	assert_int_equal(i, 3);
}

/* Times follow the clock; numbers, ages and durations come from another clock. */
static void a_clock_that_jumps_changes_no_number(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor, *reader;
	const char *path = path_of(harness, "run.lkm"), *metric;
	char from[128];
	double seconds = 0;

	monitor = monitor_attached(
		harness,
		monitor_start(harness,
			      ARGUMENTS("leakmon", "record", "-p", workload->pid_text, "-o", path,
					"--older", "0", "--label", "asked", "--keep", "1h", "3600"),
			      let_the_clock_jump));
	for (int i = 1; i <= 4; i++) {
		workload_do(harness, workload, "go");
		snapshot(harness, monitor, i);
	}
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	/* None was too old to be kept. */
	for (int i = 1; i <= 5; i++) {
		char at[8];
		json_t *report;

		snprintf(at, sizeof(at), "%d", i);
		reader = monitor_start(
			harness,
			ARGUMENTS("leakmon", "report", path, "--at", at, "--format", "json"),
			let_the_clock_jump);
		report = monitor_report(harness, reader);
		assert_int_equal(child_end(harness, reader), 0);
		expect_balance(report);
		assert_int_equal(ledger_at(report, "outstanding_bytes"),
				 (i < 5 ? i : 4) * GO_BYTES);
		expect_young(report, workload->pid);
	}
	snprintf(from, sizeof(from), "%s@1", path);
	reader = monitor_start(harness, ARGUMENTS("leakmon", "diff", "--bytes", from, path),
			       let_the_clock_jump);
	assert_int_equal(child_end(harness, reader), 0);
	assert_non_null(strstr(reader->out.text, "+54864 bytes"));
	metric = strstr(reader->out.text, " blocks) in ");
	assert_non_null(metric);
	assert_int_equal(sscanf(metric, " blocks) in %lf s", &seconds), 1);
	assert_true(seconds > 0 && seconds * 1000 < HALF_A_DAY_MS);
	reader = monitor_start(harness, ARGUMENTS("leakmon", "report", path, "--format", "prom"),
			       let_the_clock_jump);
	assert_int_equal(child_end(harness, reader), 0);
	assert_non_null(
		strstr(reader->out.text, "leakmon_outstanding_bytes{comm=\"leak\"} 73152\n"));
	monitor = monitor_attached(harness,
				   monitor_start(harness,
						 ARGUMENTS("leakmon", "-p", workload->pid_text,
							   "-o", "0", "--format", "json", "3600"),
						 let_the_clock_jump));
	workload_do(harness, workload, "go");
	expect_young(monitor_stop(harness, monitor), workload->pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(snapshots_read_as_they_were_without_target_and_privileges),
		e2e_test(recordings_of_two_hosts_are_one_fleet),
		e2e_test(a_killed_monitor_leaves_what_it_committed),
		e2e_test(it_can_be_read_while_it_is_recorded),
		e2e_test(sqlite3_answers_the_documented_queries),
		e2e_test(what_cannot_be_read_or_made_is_reported),
		e2e_test(a_clock_that_jumps_changes_no_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
