// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages of recordings of a real run, of a program with a hostile name. page.py checks their content
 * and operation in a browser.
 */
#include "harness.h"

#include <signal.h>

#define GOES 16 /* page.py counts on it */

static const char *path_of(struct harness *harness, char path[96], const char *name)
{
	snprintf(path, 96, "%s/%s", harness->directory, name);
	return path;
}

/* Starts the workload `leak` under a name that begins an HTML element and reverses text. */
static struct child *hostile_start(struct harness *harness)
{
	const char *workloads = getenv("LEAKMON_WORKLOADS");
	char path[96], command[256], *line;
	struct child *workload;

	path_of(harness, path, "<b>x\xe2\x80\xae&\"'");
	snprintf(command, sizeof(command), "cp %s/leak \"$HOSTILE\"",
		 workloads ? workloads : "build/workloads");
	setenv("HOSTILE", path, 1);
	assert_int_equal(system(command), 0);
	workload = child_start(harness, path, ARGUMENTS(path), NULL);
	line = child_line(harness, workload, &workload->out);
	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
	return workload;
}

/* Records that many snapshots, with one `go` before each; the last snapshot is taken at the end. */
static void record(struct harness *harness, struct child *workload, const char *path)
{
	struct child *monitor = MONITOR_ATTACHED(harness, "record", "-p", workload->pid_text, "-o",
						 path, "--older", "0", "--label", "go", "3600");
	char text[64];

	for (int i = 1; i < GOES; i++) {
		workload_do(harness, workload, "go");
		snprintf(text, sizeof(text), "snapshot %d is recorded", i);
		child_signal(monitor, SIGUSR1);
		child_wait_text(harness, monitor, &monitor->err, text);
	}
	workload_do(harness, workload, "go");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
}

/* Writes a page to a file; the arguments end with it. */
static void page(struct harness *harness, const char *const *argv)
{
	assert_int_equal(child_end(harness, monitor_start(harness, argv, NULL)), 0);
}

static void pages_show_a_real_run_and_can_be_operated(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload, *reader;
	char recording[96], report[96], difference[96], retain[96], from[112], to[112];

	if (access("/usr/bin/chromedriver", X_OK)) {
		print_message("no chromedriver: no page is opened\n");
		skip();
	}
	path_of(harness, recording, "run.lkm");
	path_of(harness, report, "report.html");
	path_of(harness, difference, "difference.html");
	path_of(harness, retain, "retain.json");
	snprintf(from, sizeof(from), "%s@1", recording);
	snprintf(to, sizeof(to), "%s@4", recording);
	workload = hostile_start(harness);
	record(harness, workload, recording);
	page(harness,
	     ARGUMENTS("leakmon", "report", recording, "--format", "html", "--output", report));
	page(harness,
	     ARGUMENTS("leakmon", "diff", from, to, "--format", "html", "--output", difference));
	page(harness, ARGUMENTS("leakmon", "retain", "--census", "-p", workload->pid_text,
				"--format", "json", "--output", retain));
	reader = child_start(harness, "/usr/bin/python3",
			     ARGUMENTS("python3", "tests/e2e/page.py", report, difference, retain),
			     NULL);
	if (child_end(harness, reader))
		child_fail(reader, "what the pages show is not what happened:\n%s",
			   reader->out.text ? reader->out.text : "");
	print_message("%s", reader->out.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(pages_show_a_real_run_and_can_be_operated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
