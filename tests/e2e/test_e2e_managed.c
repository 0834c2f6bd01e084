// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Garbage-collected heaps in real runtimes, against the runtimes' own figures: sizes are equal to
 * the byte where they map by fixed steps (HotSpot's G1, Go), and growth is separate from native
 * memory. A missing runtime skips its test.
 */
#include "retain_json.h"
#include "shell.h"

#include <signal.h>
#include <unistd.h>

#define MIB (1024 * 1024)
#define GROWN (64 * MIB)
#define STEP (96 * MIB) /* bytes of long-lived objects for each "grow" */
#define SOURCES "tests/workloads/managed/"

struct managed_case {
	const char *runtime, *tool;
	const char *program;
	const char *argv[8];
};

static struct child *start(struct harness *harness, const struct managed_case *one)
{
	struct child *child;
	char *line;

	if (access(one->program, X_OK))
		skip();
	child = child_start(harness, one->program, one->argv, NULL);
	line = child_line(harness, child, &child->out);
	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
	return child;
}

static json_t *memory_of(struct harness *harness, const struct child *target)
{
	return json_array_get(
		json_object_get(report_of(harness, MONITOR(harness, "memory", "-p",
							   target->pid_text, "--format", "json")),
				"processes"),
		0);
}

static json_int_t part_of(json_t *process, const char *part, const char *figure)
{
	return number_at(json_object_get(json_object_get(process, "parts"), part), figure);
}

/* All parts, and nothing left over. A runtime's own threads work when they like, also between two
 * readings of one report: it is asked again. */
static json_t *memory_that_adds_up(struct harness *harness, const struct child *target)
{
	json_t *process = NULL;

	for (int tries = 0; tries < 20; tries++) {
		process = memory_of(harness, target);
		if (!number_at(process, "difference_bytes"))
			return process;
	}
	fail_msg("the parts are %lld bytes away from its resident size",
		 (long long)number_at(process, "difference_bytes"));
	return NULL;
}

static void expect_named(const struct managed_case *one, json_t *process)
{
	json_t *managed = json_object_get(process, "managed");

	assert_string_equal(text_at(managed, "runtime"), one->runtime);
	assert_non_null(strstr(text_at(managed, "next"), one->tool));
}

/* A collector runs at any time: both figures must hold before and after. */
static json_t *agreed_truth(struct harness *harness, struct child *target, json_t **process)
{
	for (int tries = 0; tries < 50; tries++) {
		json_t *before = workload_ask(harness, target, "truth"), *after;

		*process = memory_of(harness, target);
		after = workload_ask(harness, target, "truth");
		if (number_at(before, "mapped") == number_at(after, "mapped"))
			return after;
	}
	fail_msg("its heap is never at rest");
	return NULL;
}

/* Pages that its start touched take objects before the heap grows: enough to exceed them. */
static void grow_beyond(struct harness *harness, struct child *target, json_int_t resident)
{
	for (json_int_t bytes = 0; bytes < resident + GROWN; bytes += STEP)
		workload_do(harness, target, "grow");
}

/* Sizes before and after a growth by objects: in that heap, and nowhere else. */
static json_t *grow(struct harness *harness, const struct managed_case *one, struct child *target)
{
	json_t *before = memory_that_adds_up(harness, target), *after;
	json_int_t resident = part_of(before, "managed_heap", "resident_bytes"), grown, others;

	expect_named(one, before);
	grow_beyond(harness, target, resident);
	after = memory_that_adds_up(harness, target);
	grown = part_of(after, "managed_heap", "resident_bytes") - resident;
	others = number_at(after, "rss_bytes") - number_at(before, "rss_bytes") - grown;
	assert_true(grown >= GROWN);
	assert_true(others < grown / 2); /* code that is made, records of the collector */
	return after;
}

static void the_heap_of_a_jvm_is_its_own_figure_to_the_byte(void **state)
{
	static const struct managed_case jvm = {
		"hotspot",
		"leakmon retain --census",
		"/usr/bin/java",
		{"java", "-Xshare:off", "-XX:+UseG1GC", "-Xms64m", "-Xmx1g", SOURCES "Grow.java"}};
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, &jvm);
	json_t *after = grow(harness, &jvm, target);
	json_t *truth = agreed_truth(harness, target, &after);

	assert_int_equal(part_of(after, "managed_heap", "size_bytes"), number_at(truth, "mapped"));
	assert_true(part_of(after, "managed_heap", "resident_bytes") <= number_at(truth, "mapped"));
}

/* A mapping adjacent to the reservation cannot be told apart from it. */
static void without_compressed_pointers_it_is_found_as_well(void **state)
{
	static const struct managed_case jvm = {"hotspot",
						"leakmon retain --census",
						"/usr/bin/java",
						{"java", "-Xshare:off", "-XX:+UseG1GC",
						 "-XX:-UseCompressedOops", "-Xms64m", "-Xmx1g",
						 SOURCES "Grow.java"}};
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, &jvm);
	json_t *after = grow(harness, &jvm, target);
	json_t *truth = agreed_truth(harness, target, &after);
	json_int_t size;

	size = part_of(after, "managed_heap", "size_bytes");
	assert_true(size >= number_at(truth, "mapped"));
}

/* The kernel joins malloc's mapping beside the heap with that of the heap. */
static void a_block_beside_the_heap_leaves_the_rest_to_it(void **state)
{
	struct harness *harness = harness_any(state);
	char library[96];
	struct managed_case joined = {"hotspot",
				      "leakmon retain --census",
				      "build/workloads/joined",
				      {"joined", library}};
	struct child *target;
	json_t *process, *truth;

	snprintf(library, sizeof(library), "%s/libjvm.so", harness->directory);
	free(shell(harness, 0, "echo library >%s", library));
	target = start(harness, &joined);
	truth = workload_ask(harness, target, "truth");
	process = memory_that_adds_up(harness, target);
	expect_named(&joined, process);
	/* The program's thread-locals may follow the block. */
	assert_in_range(part_of(process, "managed_heap", "resident_bytes"),
			number_at(truth, "touched"), number_at(truth, "touched") + MIB / 16);
	assert_int_equal(part_of(process, "mapped_blocks", "resident_bytes"),
			 number_at(truth, "block"));
}

/* A chunk more or less is mapped but not counted: its own records, and a heap that is read-only. */
static void the_heap_of_node_is_v8s_own_figure(void **state)
{
	static const struct managed_case node = {
		"v8", "heapsnapshot", "/usr/bin/node", {"node", SOURCES "grow.js"}};
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, &node);
	json_t *after = grow(harness, &node, target);
	json_t *truth = agreed_truth(harness, target, &after);
	json_int_t size = part_of(after, "managed_heap", "size_bytes");

	assert_true(size > number_at(truth, "held"));
	assert_true(llabs(size - number_at(truth, "mapped")) <= 2 * MIB);
}

static struct child *start_go(struct harness *harness)
{
	static const char go[] = "/usr/lib/go-1.19/bin/go";
	static struct managed_case api = {"go", "pprof", NULL, {"grow"}};
	char program[96];

	if (access(go, X_OK))
		skip();
	snprintf(program, sizeof(program), "%s/grow", harness->directory);
	free(shell(harness, 0,
		   "HOME=%s GOCACHE=%s/go GOFLAGS=-mod=mod %s build -o %s " SOURCES "grow.go",
		   harness->directory, harness->directory, go, program));
	api.program = program;
	return start(harness, &api);
}

static void the_heap_of_go_is_its_own_figure_to_the_arena(void **state)
{
	static const struct managed_case api = {"go", "pprof", NULL, {"grow"}};
	struct harness *harness = harness_any(state);
	struct child *target = start_go(harness);
	json_t *after = grow(harness, &api, target);
	json_t *truth = agreed_truth(harness, target, &after);

	assert_int_equal(part_of(after, "managed_heap", "size_bytes"), number_at(truth, "mapped"));
}

/* Neither an error that asks for options, nor a result that seems to cover all memory. */
static void a_program_without_malloc_is_handed_over(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *target = start_go(harness);
	json_t *managed;

	workload_do(harness, target, "grow");
	monitor_expect_error(
		harness, MONITOR(harness, "-p", target->pid_text, "1"), 1,
		"heap of its Go runtime, and malloc is not in use; `leakmon retain -p ");
	managed = json_object_get(report_of(harness, MONITOR(harness, "retain", "-p",
							     target->pid_text, "--format", "json")),
				  "managed");
	assert_string_equal(text_at(managed, "runtime"), "go");
	assert_true(number_at(managed, "heap_bytes") >= GROWN);
	assert_true(number_at(managed, "anonymous_bytes") >= number_at(managed, "heap_bytes"));
}

/* With an interval: the location of the growth, and the tool for it. */
static void growth_is_reported_as_the_collectors(void **state)
{
	static const struct managed_case jvm = {
		"hotspot",
		"leakmon retain --census",
		"/usr/bin/java",
		{"java", "-XX:+UseG1GC", "-Xms256m", "-Xmx1g", SOURCES "Grow.java"}};
	struct harness *harness = harness_any(state);
	struct child *target = start(harness, &jvm), *monitor;
	json_t *conclusion = NULL;
	int reports = 0;

	monitor = MONITOR(harness, "memory", "-p", target->pid_text, "--format", "json", "0.5");
	child_wait_text(harness, monitor, &monitor->err, "read 1 process");
	workload_do(harness, target, "grow");
	do {
		assert_true(reports++ < 100);
		conclusion = json_object_get(
			json_array_get(
				json_object_get(monitor_report(harness, monitor), "processes"), 0),
			"conclusion");
	} while (number_at(json_object_get(conclusion, "growth"), "managed") < GROWN);
	assert_string_equal(text_at(conclusion, "verdict"), "managed");
	assert_non_null(strstr(text_at(conclusion, "text"), "garbage-collected heap of the JVM"));
	assert_non_null(strstr(text_at(conclusion, "text"), "leakmon retain --census"));
	child_signal(monitor, SIGINT);
	child_end(harness, monitor);
}

static void a_watch_reports_that_it_shows_native_memory_only(void **state)
{
	static const struct managed_case node = {
		"v8", "heapsnapshot", "/usr/bin/node", {"node", SOURCES "grow.js"}};
	struct harness *harness = harness_bpf(state);
	struct child *target = start(harness, &node);
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", target->pid_text, "3600");

	child_wait_text(harness, monitor, &monitor->err, "only native memory is tracked");
	child_signal(monitor, SIGINT);
	child_wait_text(harness, monitor, &monitor->out, "native memory only; ");
	assert_int_equal(child_end(harness, monitor), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(the_heap_of_a_jvm_is_its_own_figure_to_the_byte),
		e2e_test(without_compressed_pointers_it_is_found_as_well),
		e2e_test(a_block_beside_the_heap_leaves_the_rest_to_it),
		e2e_test(the_heap_of_node_is_v8s_own_figure),
		e2e_test(the_heap_of_go_is_its_own_figure_to_the_arena),
		e2e_test(a_program_without_malloc_is_handed_over),
		e2e_test(growth_is_reported_as_the_collectors),
		e2e_test(a_watch_reports_that_it_shows_native_memory_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
