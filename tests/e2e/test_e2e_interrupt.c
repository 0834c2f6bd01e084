// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that are made to be slow to read, and Ctrl-C in every phase. */
#include "harness.h"

#include <signal.h>
#include <sys/stat.h>
#include <time.h>

/* Far more than it takes, far less than it took: the machine may be busy. */
#define ENDS_WITHIN_MS 6000
#define ATTACHES_WITHIN_MS 45000

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

static void wait_ms(int64_t ms)
{
	const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

/* The signal, until the end; the exit code. */
static int interrupt(struct harness *harness, struct child *monitor, int number)
{
	int64_t start = now_ms();
	int code;

	child_signal(monitor, number);
	code = child_end(harness, monitor);
	assert_in_range(now_ms() - start, 0, ENDS_WITHIN_MS);
	return code;
}

static void hostile_files_neither_stall_the_attach_nor_hide_the_rest(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "hostile_files", harness->directory, "mixed");
	struct child *monitor;
	json_t *report, *process;
	int64_t start = now_ms();

	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format", "json",
				   "3600");
	assert_in_range(now_ms() - start, 0, ATTACHES_WITHIN_MS);
	workload_do(harness, workload, "go");
	report = monitor_stop(harness, monitor);
	process = process_of(report, workload->pid);
	expect_held(process, "held_blocks", 100, 6400);
	expect_doubt(process, "file_unread");
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

/* At any time after the start: none is before the handlers, since 100 ms is ample for those. */
static void a_signal_ends_the_attach(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	static const int64_t after_ms[] = {100, 700, 1500};
	struct harness *harness = harness_bpf(state);
	struct child *workload =
		WORKLOAD(harness, "hostile_files", harness->directory, "slots", "120");

	for (size_t i = 0; i < 3; i++) {
		struct child *monitor = MONITOR(harness, "-p", workload->pid_text, "3600");

		wait_ms(after_ms[i]);
		assert_int_equal(interrupt(harness, monitor, signals[i]), 128 + signals[i]);
		assert_null(strstr(monitor->err.text ? monitor->err.text : "", "attached to"));
	}
	workload_do(harness, workload, "go");
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

/* An interruption during the attach leaves no recording. */
static void no_recording_is_left_of_an_attach_that_was_interrupted(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload =
		WORKLOAD(harness, "hostile_files", harness->directory, "slots", "120");
	struct child *monitor;
	char path[64];

	snprintf(path, sizeof(path), "%s/recording", harness->directory);
	monitor = MONITOR(harness, "record", "-p", workload->pid_text, "-o", path, "3600");
	wait_ms(1000);
	assert_int_equal(interrupt(harness, monitor, SIGTERM), 128 + SIGTERM);
	assert_int_equal(access(path, F_OK), -1);
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

/* Interrupts as soon as the file exists. */
static void no_recording_is_left_of_its_first_moment(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	char path[64];

	snprintf(path, sizeof(path), "%s/recording", harness->directory);
	for (int i = 0; i < 3; i++) {
		struct child *monitor =
			MONITOR(harness, "record", "-p", workload->pid_text, "-o", path, "3600");

		while (access(path, F_OK))
			wait_ms(1);
		assert_int_equal(interrupt(harness, monitor, SIGTERM), 128 + SIGTERM);
		assert_int_equal(access(path, F_OK), -1);
	}
}

/* Attached, it makes its last report, and all is well. */
static void a_signal_after_the_attach_brings_the_last_report(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0",
						 "--format", "json", "3600");

	workload_do(harness, workload, "go");
	expect_truth(monitor_stop(harness, monitor), workload_ask(harness, workload, "ledger"));
}

/* In any phase, a file is complete or missing, and the process continues. */
/* The line has the sender, and a crash its phase and build; the signal acts as ever. */
static void no_signal_ends_it_without_a_line(void **state)
{
	static const struct {
		int number;
		const char *line;
	} ends[] = {
		{SIGTERM, "leakmon: ended by SIGTERM from process "},
		{SIGUSR2, "leakmon: ended by SIGUSR2 from process "},
		{SIGSEGV, "leakmon: crashed by SIGSEGV from process "},
	};
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");
	char sender[32];

	snprintf(sender, sizeof(sender), "from process %d", getpid());
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		struct child *monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o",
							 "0", "--format", "json", "3600");

		child_signal(monitor, ends[i].number);
		assert_int_equal(child_end(harness, monitor),
				 ends[i].number == SIGTERM ? 0 : 128 + ends[i].number);
		assert_non_null(strstr(monitor->err.text, ends[i].line));
		assert_non_null(strstr(monitor->err.text, sender));
	}
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

static void an_interrupted_census_leaves_the_process_running_and_no_half_file(void **state)
{
	static const int64_t after_ms[] = {20, 100, 250, 500};
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "manymaps", "20000");
	char path[64];

	workload_do(harness, workload, "go");
	snprintf(path, sizeof(path), "%s/census.json", harness->directory);
	for (size_t i = 0; i < 4; i++) {
		struct child *monitor =
			MONITOR(harness, "retain", "--census", "-p", workload->pid_text, "--format",
				"json", "--output", path);
		json_t *whole;
		int code;

		wait_ms(after_ms[i]);
		code = interrupt(harness, monitor, SIGINT);
		whole = json_load_file(path, 0, NULL);
		assert_true(code == 0 ? whole != NULL : code == 128 + SIGINT);
		if (code)
			assert_int_equal(access(path, F_OK), -1);
		json_decref(whole);
		unlink(path);
		workload_ask(harness, workload, "ledger");
	}
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

/* Wherever it is then: loading, stopping a process, reading, naming, writing. */
static void a_signal_ends_every_command_soon(void **state)
{
	static const int64_t after_ms[] = {20, 150, 600};
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;
	char path[64], page[64];

	workload_do(harness, workload, "go");
	snprintf(path, sizeof(path), "%s/run.lkm", harness->directory);
	snprintf(page, sizeof(page), "%s/page.html", harness->directory);
	monitor = MONITOR(harness, "record", "-o", path, "-p", workload->pid_text, "1", "2");
	assert_int_equal(child_end(harness, monitor), 0);
	const char *const commands[][9] = {
		{"leakmon", "retain", "-p", workload->pid_text},
		{"leakmon", "threads", "--holders", "-p", workload->pid_text, "3600"},
		{"leakmon", "doctor", "-p", workload->pid_text},
		{"leakmon", "triage", "3600"},
		{"leakmon", "kernel", "3600"},
		{"leakmon", "report", path},
		{"leakmon", "report", path, "--format", "html", "--output", page},
		{"leakmon", "diff", path, path},
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		for (size_t j = 0; j < sizeof(after_ms) / sizeof(after_ms[0]); j++) {
			int code;

			monitor = monitor_start(harness, commands[i], NULL);
			wait_ms(after_ms[j]);
			code = interrupt(harness, monitor, SIGINT);
			assert_true(code == 0 || code == 128 + SIGINT);
		}
	}
	workload_do(harness, workload, "go");
	workload_send(workload, "quit");
	assert_int_equal(child_end(harness, workload), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(hostile_files_neither_stall_the_attach_nor_hide_the_rest),
		e2e_test(a_signal_ends_the_attach),
		e2e_test(no_recording_is_left_of_an_attach_that_was_interrupted),
		e2e_test(no_recording_is_left_of_its_first_moment),
		e2e_test(an_interrupted_census_leaves_the_process_running_and_no_half_file),
		e2e_test(a_signal_after_the_attach_brings_the_last_report),
		e2e_test(a_signal_ends_every_command_soon),
		e2e_test(no_signal_ends_it_without_a_line),
	};

	return cmocka_run_group_tests_name("e2e_interrupt", tests, NULL, NULL);
}
