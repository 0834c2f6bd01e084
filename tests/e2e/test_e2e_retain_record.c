// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Results of `leakmon retain` in recordings, read by: a comparison, a schema validator, flame
 * graphs' folded stacks, Go's pprof. Census only: no BPF is needed.
 */
#include "shell.h"

#include <signal.h>

#define GO_PPROF "/usr/lib/go-1.19/pkg/tool/linux_amd64/pprof"

static struct child *holder_start(struct harness *harness, const char *entries, const char *lost)
{
	struct child *target = WORKLOAD(harness, "holder", entries, lost);

	workload_do(harness, target, "go");
	return target;
}

static char *recording_of(struct harness *harness, char path[96])
{
	snprintf(path, 96, "%s/holder.lkm", harness->directory);
	return path;
}

static json_t *record_run(struct harness *harness, struct child *target, const char *label)
{
	char path[96];
	struct child *monitor =
		MONITOR(harness, "retain", "-p", target->pid_text, "--census", "-o",
			recording_of(harness, path), "--label", label, "--format", "json");

	if (child_end(harness, monitor))
		child_fail(monitor, "retain -o failed");
	return monitor_report(harness, monitor);
}

static json_t *read_back(struct harness *harness, const char *subcommand, const char *at)
{
	char path[96];
	struct child *reader = MONITOR(harness, subcommand, recording_of(harness, path), "--retain",
				       "--format", "json", at ? "--at" : NULL, at);

	if (child_end(harness, reader))
		child_fail(reader, "%s --retain failed", subcommand);
	return monitor_report(harness, reader);
}

static json_int_t at_path(json_t *object, const char *one, const char *two, const char *three)
{
	return number_at(json_object_get(json_object_get(object, one), two), three);
}

/* Recordings keep the steps of a path, but not the steps at which objects pile up. */
static json_t *without_piles(json_t *report)
{
	json_t *path;
	size_t i;

	json_array_foreach(json_object_get(report, "paths"), i, path)
	{
		json_object_del(path, "pile");
	}
	return report;
}

static void a_run_is_reported_from_its_recording_as_it_was(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = holder_start(harness, "300", "30");
	json_t *first = without_piles(record_run(harness, target, "first")), *second;

	workload_do(harness, target, "go");
	second = without_piles(record_run(harness, target, "second"));
	/* The target is gone. */
	child_signal(target, SIGKILL);
	child_end(harness, target);
	assert_true(json_equal(read_back(harness, "report", "first"), first));
	assert_true(json_equal(read_back(harness, "report", "2"), second));
	assert_true(json_equal(read_back(harness, "report", NULL), second));
}

/* The second time the cache is rebuilt, and the first one is lost. */
static void a_difference_of_two_runs_is_what_the_program_did(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = holder_start(harness, "300", "30");
	json_t *diff, *class;
	bool found = false;
	size_t i;

	record_run(harness, target, "before");
	workload_do(harness, target, "go");
	record_run(harness, target, "after");
	diff = read_back(harness, "diff", NULL);
	assert_int_equal(at_path(diff, "total", "count", "difference"), 2 + 2 * 300 + 30 + 10);
	assert_int_equal(at_path(diff, "unreachable", "count", "difference"),
			 2 + 2 * 300 + 30 + 10);
	json_array_foreach(json_object_get(diff, "classes"), i, class)
	{
		if (number_at(class, "size") != 72)
			continue;
		found = true;
		assert_string_equal(json_string_value(json_object_get(class, "state")), "grown");
		assert_int_equal(number_at(json_object_get(class, "count"), "difference"), 40);
		assert_int_equal(number_at(json_object_get(class, "bytes"), "difference"), 40 * 72);
	}
	assert_true(found);
	/* The variable alone holds as much as before. */
	assert_int_equal(json_array_size(json_object_get(diff, "roots")), 0);
}

static void it_conforms_to_the_schemas(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = holder_start(harness, "50", "30");
	char path[96];

	record_run(harness, target, "one");
	record_run(harness, target, "two");
	recording_of(harness, path);
	free(shell(harness, 0, "build/leakmon report %s --retain --format json --output %s.one",
		   path, path));
	free(shell(harness, 0, "build/leakmon diff %s --retain --format json --output %s.diff",
		   path, path));
	free(shell(harness, 0,
		   "python3 -W ignore -m jsonschema -i %s.one user/schema/retain.schema.json",
		   path));
	free(shell(harness, 0,
		   "python3 -W ignore -m jsonschema -i %s.diff user/schema/retain_diff.schema.json",
		   path));
	/* It has a reason. */
	free(shell(harness, 0,
		   "sed 's/\"totals\":/\"total\":/' %s.one > %s.bad; ! python3 -W ignore -m "
		   "jsonschema -i %s.bad user/schema/retain.schema.json 2>/dev/null",
		   path, path, path));
}

/* Every byte is in one line, below the root that holds it. */
static void folded_stacks_begin_with_the_root_and_sum_up(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = holder_start(harness, "300", "30");
	json_t *report = record_run(harness, target, "one");
	char path[96], line[512];
	json_int_t held = 0, lost = 0;
	FILE *folded;

	recording_of(harness, path);
	free(shell(harness, 0,
		   "build/leakmon report %s --retain --format folded --output %s.folded", path,
		   path));
	strcat(path, ".folded");
	folded = fopen(path, "r");
	assert_non_null(folded);
	while (fgets(line, sizeof(line), folded)) {
		json_int_t bytes = strtoll(strrchr(line, ' '), NULL, 10);

		if (!strncmp(line, "[unreachable];", 14))
			lost += bytes;
		else if (!strncmp(line, "global cache [holder];", 22))
			held += bytes;
		else
			fail_msg("%s", line);
	}
	fclose(folded);
	assert_int_equal(held, at_path(report, "totals", "held", "bytes"));
	assert_int_equal(lost, at_path(report, "totals", "unreachable", "bytes"));
}

static void pprof_shows_bytes_by_root(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = holder_start(harness, "300", "30");
	json_t *report = record_run(harness, target, "one");
	char path[96], expected[64], *text;

	if (access(GO_PPROF, X_OK)) {
		fprintf(stderr, "SKIPPED, nothing was tested: %s is not there (golang-1.19-go)\n",
			GO_PPROF);
		skip();
	}
	recording_of(harness, path);
	free(shell(harness, 0, "build/leakmon report %s --retain --format pprof --output %s.pb.gz",
		   path, path));
	text = shell(harness, 0, GO_PPROF " -tags -unit B %s.pb.gz 2>&1", path);
	snprintf(expected, sizeof(expected), "%lld", at_path(report, "totals", "held", "bytes"));
	if (!strstr(text, "root_kind:") || !strstr(text, "global cache [holder]") ||
	    !strstr(text, expected))
		fail_msg("%s is not in:\n%s", expected, text);
	free(text);
	text = shell(harness, 0, GO_PPROF " -top -tagroot root -unit B %s.pb.gz 2>&1", path);
	if (!strstr(text, "global cache [holder]") || !strstr(text, "[unreachable]"))
		fail_msg("%s", text);
	free(text);
}

static void the_page_shows_its_holders(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *target = WORKLOAD(harness, "holder", "300", "30"), *monitor;
	char path[96];

	recording_of(harness, path);
	monitor = MONITOR_ATTACHED(harness, "record", "-p", target->pid_text, "-o", path, "3600");
	workload_do(harness, target, "go");
	record_run(harness, target, "one");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	free(shell(harness, 0, "build/leakmon report %s --format html --output %s.html", path,
		   path));
	free(shell(harness, 0, "grep -q '\"retention\":\\[{\"schema\":1' %s.html", path));
}

static void errors_name_their_remedy(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = holder_start(harness, "50", "30");
	char path[96], text[96];

	monitor_expect_error(harness,
			     MONITOR(harness, "retain", "-p", target->pid_text, "--census", "-o",
				     "/nowhere/x.lkm"),
			     1, "a directory that you may write to");
	snprintf(text, sizeof(text), "%s/text", harness->directory);
	free(shell(harness, 0, "echo a text of mine, longer than a header > %s", text));
	monitor_expect_error(
		harness, MONITOR(harness, "retain", "-p", target->pid_text, "--census", "-o", text),
		1, "is not a recording");
	record_run(harness, target, "one");
	recording_of(harness, path);
	monitor_expect_error(harness, MONITOR(harness, "report", path, "--retain", "--at", "7"), 1,
			     "has no retain run 7");
	monitor_expect_error(harness,
			     MONITOR(harness, "report", path, "--retain", "--format", "prom"), 2,
			     "text, json, folded, pprof or html");
	monitor_expect_error(harness,
			     MONITOR(harness, "diff", path, "--retain", "--format", "folded"), 2,
			     "text or json");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_run_is_reported_from_its_recording_as_it_was),
		e2e_test(a_difference_of_two_runs_is_what_the_program_did),
		e2e_test(it_conforms_to_the_schemas),
		e2e_test(folded_stacks_begin_with_the_root_and_sum_up),
		e2e_test(pprof_shows_bytes_by_root),
		e2e_test(the_page_shows_its_holders),
		e2e_test(errors_name_their_remedy),
	};

	return cmocka_run_group_tests_name("e2e_retain_record", tests, NULL, NULL);
}
