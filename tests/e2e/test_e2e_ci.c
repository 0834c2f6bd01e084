// SPDX-License-Identifier: GPL-2.0-or-later
/* Continuous integration: known leaks are accepted, the rest are failed tests. */
#include "harness.h"

#include <limits.h>

/* leak.c: leak_a 10 × 100 bytes, leak_b 5 × 1000, leak_c 3 × 4096. */
#define LEFT 18288
#define LEFT_BY_B 5000

struct job {
	struct harness *harness;
	char rules[128], junit[128], workload[PATH_MAX];
};

static struct job job_in(struct harness *harness, const char *rules)
{
	const char *workloads = getenv("LEAKMON_WORKLOADS");
	struct job job = {.harness = harness};
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/leak", workloads ? workloads : "build/workloads");
	assert_non_null(realpath(path, job.workload));
	snprintf(job.rules, sizeof(job.rules), "%s/known.txt", harness->directory);
	snprintf(job.junit, sizeof(job.junit), "%s/leaks.xml", harness->directory);
	file = fopen(job.rules, "we");
	assert_non_null(file);
	fputs(rules, file);
	assert_int_equal(fclose(file), 0);
	return job;
}

/* The workload leaks once and ends; a shell hands it its words. */
static struct child *run(struct job *job, const char *limit)
{
	char script[PATH_MAX + 512];

	snprintf(script, sizeof(script),
		 "printf 'go\\nquit\\n' > '%s/words'; exec '%s' < '%s/words'",
		 job->harness->directory, job->workload, job->harness->directory);
	return MONITOR(job->harness, "--fail-over", limit, "--suppress", job->rules, "--junit",
		       job->junit, "3600", "--", "/bin/sh", "-c", script);
}

/*
 * Reads the file with an independent parser: "tests failures skipped", and the names of failures.
 */
static void expect_junit(struct job *job, const char *expected)
{
	static const char script[] =
		"import sys, xml.etree.ElementTree as tree\n"
		"suites = [s for s in tree.parse(sys.argv[1]).getroot() if 'leak ' in "
		"s.get('name')]\n"
		"for s in suites:\n"
		"    print(s.get('tests'), s.get('failures'), s.get('skipped'))\n"
		"    for c in s:\n"
		"        if c.find('failure') is not None:\n"
		"            print(c.get('name').split(' ')[0], "
		"c.find('failure').get('message'))\n";
	struct child *reader = child_start(job->harness, "/usr/bin/python3",
					   ARGUMENTS("python3", "-c", script, job->junit), NULL);

	assert_int_equal(child_end(job->harness, reader), 0);
	assert_string_equal(reader->out.text, expected);
}

static void what_is_known_is_accepted_and_the_rest_fails(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct job job = job_in(harness, "# known\nleak:^leak_b$\nleak:long_gone\n");
	struct child *monitor = run(&job, "0");

	monitor_expect_error(harness, monitor, 3, "13288 bytes are outstanding");
	assert_non_null(strstr(monitor->err.text, "known.txt:3: leak:long_gone accepted nothing"));
	assert_null(strstr(monitor->err.text, "leak:^leak_b$ accepted"));
	assert_non_null(
		strstr(monitor->out.text, "suppressed: 4.88 KiB in 5 allocations from 1 stacks"));
	expect_junit(&job, "3 2 1\n"
			   "leak_c 12288 bytes in 3 allocations outstanding\n"
			   "leak_a 1000 bytes in 10 allocations outstanding\n");
}

static void what_is_accepted_does_not_count(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct job job = job_in(harness, "leak:leak_b\n");
	char limit[32];

	snprintf(limit, sizeof(limit), "%d", LEFT - LEFT_BY_B);
	assert_int_equal(child_end(harness, run(&job, limit)), 0);
	expect_junit(&job, "3 0 1\n");
}

static void a_rule_that_is_none_is_refused_before_anything_runs(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct job job = job_in(harness, "leak:leak_b\nrace:leak_c\n");

	monitor_expect_error(harness, run(&job, "0"), 1, "known.txt:2: expected leak:PATTERN");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(what_is_known_is_accepted_and_the_rest_fails),
		e2e_test(what_is_accepted_does_not_count),
		e2e_test(a_rule_that_is_none_is_refused_before_anything_runs),
	};

	return cmocka_run_group_tests_name("e2e_ci", tests, NULL, NULL);
}
