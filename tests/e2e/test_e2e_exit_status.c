// SPDX-License-Identifier: GPL-2.0-or-later
/* A wrapped command's exit status is leakmon's: a test that fails does so under leakmon, too. */
#include <limits.h>
#include <signal.h>

#include "harness.h"

/* Allocates nothing that this does not allow. */
#define ENOUGH "100M"
#define OPTIONS_MAX 6

static const struct {
	const char *script;
	int code; /* where nothing is over the limit */
} commands[] = {
	{"exit 0", 0},
	{"exit 1", 1},
	{"exit 3", 3},
	{"exit 7", 7},
	{"exit 255", 255},
	{"kill -KILL $$", 128 + SIGKILL},
	{"kill -SEGV $$", 128 + SIGSEGV},
	/* ld.so ends before any code of a program runs; a 32-bit one may be unable to run. */
	{"exec \"$(ls /lib64/ld-*.so.* /lib/ld-linux-aarch64.so.* | head -n 1)\" /nonexistent",
	 127},
};

static struct child *run(struct harness *harness, const char *const *options, const char *script)
{
	const char *argv[OPTIONS_MAX + 6] = {"leakmon"};
	size_t count = 1;

	while (*options)
		argv[count++] = *options++;
	argv[count++] = "--";
	argv[count++] = "/bin/sh";
	argv[count++] = "-c";
	argv[count++] = script;
	return monitor_start(harness, argv, NULL);
}

static void a_command_s_exit_status_is_returned_in_every_mode(void **state)
{
	struct harness *harness = harness_bpf(state);
	char junit[128], recording[128];
	const char *const modes[][OPTIONS_MAX] = {
		{NULL},
		{"--fail-over", ENOUGH},
		{"--fail-over", ENOUGH, "3600"},
		{"--junit", junit},
		{"record", "-o", recording},
		{"threads"},
	};

	snprintf(junit, sizeof(junit), "%s/leaks.xml", harness->directory);
	snprintf(recording, sizeof(recording), "%s/run.lkm", harness->directory);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		for (size_t j = 0; j < sizeof(commands) / sizeof(commands[0]); j++) {
			int code = child_end(harness, run(harness, modes[i], commands[j].script));

			print_message("  leakmon %s … -- %s: %d\n", modes[i][0] ? modes[i][0] : "",
				      commands[j].script, code);
			assert_int_equal(code, commands[j].code);
			unlink(recording);
		}
	}
}

/* 3 means that a command that succeeded has leaked; a command that failed keeps its own code. */
static void a_leak_shows_only_where_the_command_succeeded(void **state)
{
	struct harness *harness = harness_bpf(state);
	static const char *const nothing[] = {"--fail-over", "0", NULL};
	struct child *leaks = run(harness, nothing, "exit 0");
	struct child *fails = run(harness, nothing, "exit 7");

	assert_int_equal(child_end(harness, leaks), 3);
	assert_non_null(strstr(leaks->err.text, "more than --fail-over allows"));
	assert_int_equal(child_end(harness, fails), 7);
	assert_non_null(strstr(fails->err.text, "more than --fail-over allows"));
}

static void an_error_of_leakmon_s_own_is_1(void **state)
{
	struct harness *harness = harness_bpf(state);
	static const char *const full[] = {"--output", "/dev/full", NULL};

	assert_int_equal(child_end(harness, run(harness, full, "exit 7")), 1);
	assert_int_equal(child_end(harness, MONITOR(harness, "--", "/nonexistent/test")), 1);
}

/* As timeout(1) and test runners end slow tests. */
static void a_check_that_was_ended_early_does_not_pass(void **state)
{
	struct harness *harness = harness_bpf(state);
	static const char *const check[] = {"--fail-over", ENOUGH, NULL};
	static const struct {
		int signal, code;
	} cases[] = {{SIGTERM, 128 + SIGTERM}, {SIGHUP, 128 + SIGHUP}, {SIGINT, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct child *monitor = run(harness, check, "echo runs; exec sleep 600");

		child_wait_text(harness, monitor, &monitor->out, "runs");
		child_wait_text(harness, monitor, &monitor->err, "attached to PID");
		child_signal(monitor, cases[i].signal);
		assert_int_equal(child_end(harness, monitor), cases[i].code);
		assert_non_null(strstr(monitor->err.text, "its exit status is not known"));
	}
}

static size_t reports_of(const struct child *monitor)
{
	size_t count = 0;

	for (const char *at = monitor->out.text; (at = strstr(at, "\nledger: ")); at++)
		count++;
	return count;
}

static void a_check_reports_once_at_the_end_unless_an_interval_is_given(void **state)
{
	struct harness *harness = harness_bpf(state);
	static const char *const once[] = {"--fail-over", ENOUGH, NULL};
	static const char *const often[] = {"--fail-over", ENOUGH, "1", NULL};
	struct child *silent = run(harness, once, "sleep 7"),
		     *asked = run(harness, often, "sleep 7");

	assert_int_equal(child_end(harness, silent), 0);
	assert_int_equal(reports_of(silent), 1);
	assert_int_equal(child_end(harness, asked), 0);
	assert_true(reports_of(asked) > 2);
}

static void write_file(struct harness *harness, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", harness->directory, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* Runs `script` in the test's directory, with leakmon's path as $LEAKMON. Returns its exit code. */
static int run_script(struct harness *harness, const char *script, char **output)
{
	const char *given = getenv("LEAKMON_PROGRAM");
	char path[PATH_MAX], command[PATH_MAX + 1024];
	struct child *shell;
	int code;

	assert_non_null(realpath(given ? given : "build/leakmon", path));
	snprintf(command, sizeof(command),
		 "cd '%s' && LEAKMON='%s' && export LEAKMON && { %s; } 2>&1", harness->directory,
		 path, script);
	shell = child_start(harness, "/bin/sh", ARGUMENTS("sh", "-c", command), NULL);
	code = child_end(harness, shell);
	print_message("  %s: exit code %d\n", script, code);
	*output = shell->out.text;
	return code;
}

static void a_shell_script_with_set_e_ends_at_the_failing_test(void **state)
{
	struct harness *harness = harness_bpf(state);
	char *output;

	assert_int_equal(run_script(harness,
				    "set -e; $LEAKMON --fail-over " ENOUGH
				    " -- sh -c 'exit 0'; echo first; $LEAKMON --fail-over " ENOUGH
				    " -- sh -c 'exit 7'; echo second",
				    &output),
			 7);
	assert_non_null(strstr(output, "first"));
	assert_null(strstr(output, "second"));
}

static void skip_without(const char *program)
{
	if (!access(program, X_OK))
		return;
	print_message("%s is missing: skipped\n", program);
	skip();
}

static void meson_test_with_a_wrapper_fails_where_a_test_fails(void **state)
{
	struct harness *harness = harness_bpf(state);
	char *output;

	skip_without("/usr/bin/meson");
	write_file(harness, "meson.build",
		   "project('p')\n"
		   "test('passes', find_program('sh'), args: ['-c', 'exit 0'])\n"
		   "test('fails', find_program('sh'), args: ['-c', 'exit 7'])\n");
	assert_int_equal(run_script(harness, "meson setup b", &output), 0);
	assert_int_equal(run_script(harness,
				    "meson test -C b --wrapper \"$LEAKMON --fail-over " ENOUGH
				    " --\"",
				    &output),
			 1);
	assert_non_null(strstr(output, "exit status 7"));
	assert_int_equal(run_script(harness,
				    "meson test -C b --wrapper \"$LEAKMON --fail-over " ENOUGH
				    " --\" passes",
				    &output),
			 0);
}

static void ctest_fails_where_a_wrapped_test_fails(void **state)
{
	struct harness *harness = harness_bpf(state);
	char *output;

	skip_without("/usr/bin/ctest");
	write_file(harness, "CMakeLists.txt",
		   "cmake_minimum_required(VERSION 3.13)\nproject(p NONE)\nenable_testing()\n"
		   "add_test(NAME passes COMMAND $ENV{LEAKMON} --fail-over " ENOUGH
		   " -- sh -c \"exit 0\")\n"
		   "add_test(NAME fails COMMAND $ENV{LEAKMON} --fail-over " ENOUGH
		   " -- sh -c \"exit 7\")\n");
	assert_int_equal(run_script(harness, "cmake -S . -B b", &output), 0);
	assert_int_equal(run_script(harness, "ctest --test-dir b", &output), 8);
	assert_non_null(strstr(output, "50% tests passed, 1 tests failed out of 2"));
}

static void pytest_that_stops_at_the_first_failure_fails(void **state)
{
	struct harness *harness = harness_bpf(state);
	char *output;

	skip_without("/usr/bin/pytest-3");
	write_file(
		harness, "test_one.py",
		"def test_passes(): pass\ndef test_fails(): assert False\ndef test_more(): pass\n");
	assert_int_equal(run_script(harness,
				    "$LEAKMON --fail-over " ENOUGH
				    " -- /usr/bin/pytest-3 -x -p no:cacheprovider test_one.py",
				    &output),
			 1);
	assert_non_null(strstr(output, "1 failed, 1 passed"));
	assert_int_equal(run_script(harness,
				    "$LEAKMON --fail-over " ENOUGH
				    " -- /usr/bin/pytest-3 -x -p no:cacheprovider -k passes "
				    "test_one.py",
				    &output),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_command_s_exit_status_is_returned_in_every_mode),
		e2e_test(a_leak_shows_only_where_the_command_succeeded),
		e2e_test(an_error_of_leakmon_s_own_is_1),
		e2e_test(a_check_that_was_ended_early_does_not_pass),
		e2e_test(a_check_reports_once_at_the_end_unless_an_interval_is_given),
		e2e_test(a_shell_script_with_set_e_ends_at_the_failing_test),
		e2e_test(meson_test_with_a_wrapper_fails_where_a_test_fails),
		e2e_test(ctest_fails_where_a_wrapped_test_fails),
		e2e_test(pytest_that_stops_at_the_first_failure_fails),
	};

	return cmocka_run_group_tests_name("e2e_exit_status", tests, NULL, NULL);
}
