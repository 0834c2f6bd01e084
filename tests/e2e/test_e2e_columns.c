// SPDX-License-Identifier: GPL-2.0-or-later
/* The default output of every command fits a terminal of 100 columns, whatever the names. */
#include "shell.h"

#include <signal.h>

/* Characters, with tabs as a terminal shows them. */
#define TOO_WIDE                                                                                   \
	"python3 -c 'import sys\nfor line in open(sys.argv[1], encoding=\"utf-8\"):\n"             \
	" if len(line.rstrip(\"\\n\").expandtabs(8)) > 100: print(line)'"

static void expect_narrow(struct harness *harness, const char *command, const char *word)
{
	char *wide, *text;

	text = shell(harness, 0, "${LEAKMON_PROGRAM:-build/leakmon} %s %s > %s/out; cat %s/out",
		     command, word, harness->directory, harness->directory);
	assert_true(strlen(text) > 0);
	free(text);
	wide = shell(harness, 0, TOO_WIDE " %s/out", harness->directory);
	if (*wide)
		fail_msg("leakmon %s ...: more than 100 columns:\n%s", command, wide);
	free(wide);
}

/* A program with long names: containers of containers. */
static void the_default_output_of_every_command_fits_100_columns(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "templates");
	const char *pid = workload->pid_text;
	struct child *monitor;
	char file[64];

	snprintf(file, sizeof(file), "%s/run.lkm", harness->directory);
	monitor = MONITOR_ATTACHED(harness, "record", "-p", pid, "-o", file, "3600");
	workload_do(harness, workload, "go");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	expect_narrow(harness, "report", file);
	expect_narrow(harness, "diff", file);
	expect_narrow(harness, "-o 0 0.2 1 -p", pid);
	expect_narrow(harness, "profile 0.5 1 -p", pid);
	expect_narrow(harness, "memory -p", pid);
	expect_narrow(harness, "retain -p", pid);
	expect_narrow(harness, "threads 0.2 1 -p", pid);
	expect_narrow(harness, "doctor -p", pid);
	expect_narrow(harness, "triage --no-stacks 0.5", "1");
	expect_narrow(harness, "memory", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(the_default_output_of_every_command_fits_100_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
