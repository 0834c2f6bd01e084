// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * leakmon's stacks equal those of libgcc's unwinder, block by block and address by address; and
 * those of gdb. The truth comes from a preloaded library: see tests/truth/truth.h.
 */
#include "harness.h"

#include <limits.h>
#include <signal.h>

#include "../truth/compare.h"

/* A program under the preloaded library. */
struct subject {
	struct harness *harness;
	struct child *child, *monitor;
	struct truth_file *truth;
};

static void setting(const char *name, const char *value)
{
	assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static void library_path(char *path)
{
	const char *tools = getenv("LEAKMON_TRUTH_TOOLS");
	char relative[PATH_MAX];

	snprintf(relative, sizeof(relative), "%s/backtrace_preload.so",
		 tools ? tools : "build/truth");
	if (!realpath(relative, path))
		fail_msg("%s is not there: run `make`", relative);
}

static void subject_start(struct subject *subject, const char *path, const char *const *argv,
			  const char *one_in)
{
	char library[PATH_MAX], file[64], *line;

	library_path(library);
	snprintf(file, sizeof(file), "%s/truth", subject->harness->directory);
	setting("LEAKMON_TRUTH", file);
	setting("LEAKMON_TRUTH_KEEP", "1");
	setting("LEAKMON_TRUTH_ONE_IN", one_in);
	setting("LD_PRELOAD", library);
	subject->child = child_start(subject->harness, path, argv, NULL);
	setting("LD_PRELOAD", NULL);
	setting("LEAKMON_TRUTH", NULL);
	if (!strstr(path, "/deep"))
		assert_true(dprintf(subject->child->in, ".print ready\n") > 0);
	line = child_line(subject->harness, subject->child, &subject->child->out);
	assert_int_equal(strncmp(line, "ready", 5), 0);
	free(line);
	subject->truth = truth_map(file);
	if (!subject->truth)
		child_fail(subject->child, "%s is no truth file", file);
}

/* The allocator below the preloaded library. */
static void libc_path(const struct child *child, char *path)
{
	char line[PATH_MAX + 128];
	FILE *maps;

	snprintf(line, sizeof(line), "/proc/%s/maps", child->pid_text);
	maps = fopen(line, "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (strstr(line, "/libc.so.6") && sscanf(line, "%*s %*s %*s %*s %*s %s", path) == 1)
			break;
		path[0] = '\0';
	}
	fclose(maps);
	assert_true(path[0]);
}

static void record(struct subject *subject, uint32_t on)
{
	__atomic_store_n(&subject->truth->header.recording, on, __ATOMIC_RELEASE);
}

static void subject_watch(struct subject *subject, const char *stack_walk)
{
	char object[PATH_MAX + 128] = "";

	libc_path(subject->child, object);
	subject->monitor =
		MONITOR_ATTACHED(subject->harness, "-p", subject->child->pid_text, "-O", object,
				 "-a", "-T", "0", "-o", "0", "--format", "json", "--stack-walk",
				 stack_walk, "--max-sites", "65536", "3600");
}

/* Sends lines and waits for a line `done`. */
static void subject_do(struct subject *subject, const char *lines)
{
	bool done = false;

	assert_true(dprintf(subject->child->in, "%s\n", lines) > 0);
	while (!done) {
		char *line = child_line(subject->harness, subject->child, &subject->child->out);

		done = strcmp(line, "done") == 0;
		free(line);
	}
}

/* Every block that the library recorded, whole and in its place. The caller frees the result. */
static struct comparison *subject_compare(struct subject *subject, const char *name)
{
	struct comparison *comparison = calloc(1, sizeof(*comparison));
	json_t *report;

	/* First, since the program may continue to allocate: leakmon has seen all recorded
	 * blocks. */
	record(subject, 0);
	report = monitor_stop(subject->harness, subject->monitor);
	assert_non_null(comparison);
	assert_int_equal(compare(report, subject->truth, comparison), 0);
	comparison_print(stderr, name, comparison, subject->truth);
	assert_int_equal(dropped_sum(report), 0);
	assert_int_equal(comparison->lost, 0);
	assert_int_equal(comparison->missing, 0);
	assert_int_equal(comparison->equal + comparison->different + comparison->probed,
			 subject->truth->header.recorded);
	return comparison;
}

/* At least `blocks` blocks, of which 99.9% have the same stack. */
static void subject_finish(struct subject *subject, const char *name, uint64_t blocks)
{
	struct comparison *comparison = subject_compare(subject, name);

	assert_true(comparison->equal + comparison->different >= blocks);
	assert_true(comparison->different * 999 <= comparison->equal);
	free(comparison);
	truth_unmap(subject->truth);
}

static void deep_start(struct subject *subject)
{
	const char *workloads = getenv("LEAKMON_WORKLOADS");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/deep", workloads ? workloads : "build/workloads");
	subject_start(subject, path, ARGUMENTS("deep"), "1");
}

/* Exceptions, recursion, signals, realigned frames, coroutines, threads:
 * tests/workloads/deep.cc. */
static void stacks_of_optimised_cpp_are_the_unwinders(void **state)
{
	struct subject subject = {.harness = harness_bpf(state)};

	deep_start(&subject);
	subject_watch(&subject, "auto");
	record(&subject, 1);
	subject_do(&subject, "go");
	subject_finish(&subject, "deep", 25000);
}

/* Else the test above could not fail. */
static void frame_pointers_alone_give_other_stacks(void **state)
{
	struct subject subject = {.harness = harness_bpf(state)};
	struct comparison *comparison;

	deep_start(&subject);
	subject_watch(&subject, "fp");
	record(&subject, 1);
	subject_do(&subject, "go");
	comparison = subject_compare(&subject, "deep by frame pointer");
	assert_true(comparison->different > comparison->equal);
	free(comparison);
	truth_unmap(subject.truth);
}

/* The report loads new rows, so the second round must be correct in full. */
static void stacks_through_a_library_loaded_later_are_the_unwinders(void **state)
{
	struct subject subject = {.harness = harness_bpf(state)};
	struct comparison *comparison;

	deep_start(&subject);
	subject_watch(&subject, "auto");
	subject_do(&subject, "library");
	child_signal(subject.monitor, SIGUSR1);
	monitor_report(subject.harness, subject.monitor);
	record(&subject, 1);
	subject_do(&subject, "library");
	comparison = subject_compare(&subject, "a library loaded later");
	assert_true(comparison->equal >= 1000);
	assert_int_equal(comparison->different, 0);
	free(comparison);
	truth_unmap(subject.truth);
}

/* Before its rows are loaded, a stack may end early, but must not continue wrongly. */
static void stacks_through_a_new_library_end_rather_than_lie(void **state)
{
	struct subject subject = {.harness = harness_bpf(state)};
	struct comparison *comparison;

	deep_start(&subject);
	subject_watch(&subject, "auto");
	record(&subject, 1);
	subject_do(&subject, "library");
	comparison = subject_compare(&subject, "a library at first");
	for (size_t i = 0; i < comparison->kind_count; i++)
		assert_int_equal(comparison->kinds[i].how, DIFFERENCE_LEAKMON_ENDS);
	free(comparison);
	truth_unmap(subject.truth);
}

static void skip_without(const char *program)
{
	if (access(program, X_OK) == 0)
		return;
	fprintf(stderr, "SKIPPED, nothing was tested: there is no %s\n", program);
	skip();
}

static void stacks_of_sqlite3_are_the_unwinders(void **state)
{
	static const char script[] =
		"CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT); CREATE INDEX i ON t(name);\n"
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 4000)\n"
		"  INSERT INTO t SELECT i, printf('%x-%060d', i * 7919 % 4096, i) FROM n;\n"
		"SELECT substr(name, 1, 2), count(*) FROM t GROUP BY 1 ORDER BY 2 LIMIT 3;\n"
		"SELECT group_concat(upper(a.name)) != '' FROM t a JOIN t b USING (name);\n"
		".print done";
	struct subject subject = {.harness = harness_bpf(state)};

	skip_without("/usr/bin/sqlite3");
	subject_start(&subject, "/usr/bin/sqlite3", ARGUMENTS("sqlite3"), "1");
	subject_watch(&subject, "auto");
	record(&subject, 1);
	subject_do(&subject, script);
	subject_finish(&subject, "sqlite3", 10000);
}

/* Every Python object is a separate block. Native frames only, as in the unwinder. */
static void stacks_of_python3_are_the_unwinders(void **state)
{
	static const char script[] =
		"import decimal, json, re, sqlite3, sys\n"
		"sys.stdin.readline()\n"
		"print('ready', flush=True)\n"
		"sys.stdin.readline()\n"
		"text = json.dumps([{'n': i, 's': str(i) * 9} for i in range(500)])\n"
		"assert len(json.loads(text)) == 500\n"
		"assert len(re.findall(r'(\\d+)(?=\"|,)', text)) > 500\n"
		"sum(decimal.Decimal(i) / 7 for i in range(300))\n"
		"base = sqlite3.connect(':memory:')\n"
		"base.execute('create table t(a, b)')\n"
		"base.executemany('insert into t values(?, ?)', enumerate(text[:300]))\n"
		"base.execute('select a from t order by b').fetchall()\n"
		"exec('def f(n): return n and f(n - 1)')\n"
		"f(60)\n"
		"print('\\ndone', flush=True)\n"
		"sys.stdin.readline()\n";
	struct subject subject = {.harness = harness_bpf(state)};

	skip_without("/usr/bin/python3");
	setting("PYTHONMALLOC", "malloc");
	subject_start(&subject, "/usr/bin/python3", ARGUMENTS("/usr/bin/python3", "-c", script),
		      "1");
	setting("PYTHONMALLOC", NULL);
	subject_watch(&subject, "cfi");
	record(&subject, 1);
	subject_do(&subject, "go");
	subject_finish(&subject, "python3", 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(stacks_of_optimised_cpp_are_the_unwinders),
		e2e_test(frame_pointers_alone_give_other_stacks),
		e2e_test(stacks_through_a_library_loaded_later_are_the_unwinders),
		e2e_test(stacks_through_a_new_library_end_rather_than_lie),
		e2e_test(stacks_of_sqlite3_are_the_unwinders),
		e2e_test(stacks_of_python3_are_the_unwinders),
	};

	return cmocka_run_group_tests_name("e2e_stacks", tests, NULL, NULL);
}
