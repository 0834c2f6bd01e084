// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects of a JavaScript program, compared with its own counts (tests/runtimes/v8_census.js), and
 * with V8's own heap snapshot, constructor by constructor. No BPF is needed.
 */
#include "retain_json.h"
#include "shell.h"
#include "tree.h"

#include <signal.h>
#include <unistd.h>

#define NODE "/usr/bin/node"

static const char *const census[] = {"node", "--expose-gc", "tests/runtimes/v8_census.js", NULL};

static struct child *start(struct harness *harness)
{
	if (access(NODE, X_OK))
		skip();
	return start_ready(harness, NODE, census, NULL);
}

#define NODE_24 3 /* index of the first such */

/* The n-th version of Node that is here or unpacked by scripts/deps.sh runtimes. */
static bool node_at(size_t n, char *path, size_t size, bool *is_there)
{
	static const char *const trees[] = {NULL,      "node-18", "node-22",
					    "node-24", "node-25", "node-26"};
	char root[256];

	if (n == sizeof(trees) / sizeof(trees[0]))
		return false;
	*is_there = !trees[n] || tree_has(trees[n], "/bin/node", root, sizeof(root));
	snprintf(path, size, trees[n] ? "%s/bin/node" : NODE, root);
	*is_there = *is_there && !access(path, X_OK);
	return true;
}

/* Calls `test` with the program of tests/runtimes/v8_census.js in each version from the n-th on,
 * and in Debian's. */
static void in_each_version(void **state, size_t from, const char *const *argv,
			    void (*test)(struct harness *harness, struct child *target))
{
	struct harness *harness = harness_any(state);
	size_t count = 0;
	char path[300];
	bool is_there;

	for (size_t i = 0; node_at(i, path, sizeof(path), &is_there); i++) {
		struct child *target;

		if (!is_there || (i && i < from))
			continue;
		count++;
		print_message("%s\n", path);
		target = start_ready(harness, path, argv, NULL);
		test(harness, target);
		child_kill(target);
	}
	if (!count)
		skip();
}

static json_int_t count_of(json_t *report, const char *name)
{
	json_int_t count = 0;
	json_t *class;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (!strcmp(text_at(class, "name"), name) &&
		    !strcmp(text_at(class, "module"), "v8"))
			count += number_at(class, "count");
	}
	return count;
}

static void expect_planted(json_t *truth, json_t *report)
{
	json_t *count;
	const char *name;

	json_object_foreach(truth, name, count)
	{
		if (count_of(report, name) != json_integer_value(count))
			fail_msg("%s: %lld objects, not %lld", name,
				 (long long)count_of(report, name),
				 (long long)json_integer_value(count));
	}
	assert_int_equal(count_of(report, "PlantedWeak"), 0);
}

/* Compares constructors with many objects in the program: the snapshot itself makes a few. */
static void expect_snapshot(json_t *snapshot, json_t *report)
{
	static const char *const names[] = {"Array", "BuiltinModule", "ArrayBuffer", "Float64Array",
					    "Uint32Array"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		json_int_t expected = number_at(snapshot, names[i]);
		json_int_t count = count_of(report, names[i]);

		if (llabs(count - expected) > 8 + expected / 20)
			fail_msg("%s: %lld objects, not %lld", names[i], (long long)count,
				 (long long)expected);
	}
}

static void expect_listeners(json_t *report)
{
	json_t *runtime = walked_runtime_of(report, "v8"), *crowd;

	assert_int_equal(number_at(runtime, "crowded_events"), 1);
	crowd = json_array_get(json_object_get(runtime, "listeners"), 0);
	assert_string_equal(text_at(crowd, "emitter"), "EventEmitter");
	assert_string_equal(text_at(crowd, "event"), "data");
	assert_int_equal(number_at(crowd, "listeners"), 60);
	assert_int_equal(number_at(crowd, "of_handler"), 60);
	assert_non_null(strstr(text_at(crowd, "handler"), "onData v8_census.js:"));
}

struct holder {
	const char *class, *root;
	struct {
		const char *label, *class;
	} steps[8];
};

/* Label "": any, or none. */
static void expect_holder(struct harness *harness, struct child *target, const struct holder *held)
{
	json_t *report = RETAIN(harness, target, "--class", held->class), *step;
	json_t *path = json_array_get(json_object_get(report, "paths"), 0);
	size_t i;

	assert_string_equal(text_at(json_object_get(path, "root"), "name"), held->root);
	json_array_foreach(json_object_get(path, "steps"), i, step)
	{
		if (i == sizeof(held->steps) / sizeof(held->steps[0]) || !held->steps[i].class)
			break;
		assert_string_equal(text_at(json_object_get(step, "class"), "name"),
				    held->steps[i].class);
		if (held->steps[i].label[0])
			assert_string_equal(text_at(step, "label"), held->steps[i].label);
	}
	assert_true(i > 0);
}

static void expect_census(struct harness *harness, struct child *target)
{
	static const struct holder held[] = {
		{"PlantedSession",
		 "global appGlobal",
		 {{"", "Object"}, {".cache", "Map"}, {"", "Array"}, {"[0]", "PlantedSession"}}},
		{"PlantedSpecial", "global appGlobal", {{"", "Object"}, {".special", "Set"}}},
		{"PlantedCaptured", "global appGlobal", {{"", "Object"}, {".closures", "Array"}}},
		{"PlantedBySymbol", "global appGlobal", {{"", "Object"}, {"[kPlanted]", "Array"}}},
		{"PlantedInModule", "module v8_census.js inModule", {{"", "Array"}}},
		{"onData",
		 "module v8_census.js emitter",
		 {{"", "EventEmitter"},
		  {"._events", "Object"},
		  {".<listeners on 'data'>", "Array"}}},
		{"PlantedExported", "module v8_exported.mjs exported", {{"", "Array"}}},
		{"PlantedRequired",
		 "require.cache",
		 {{"", "Object"}, {".<module v8_required.js>", "Module"}, {".exports", "Object"}}},
		{"PlantedOfWide",
		 "global appGlobal",
		 {{"", "Object"},
		  {".wide", "Array"},
		  {"", "PlantedWide"},
		  {".last", "PlantedOfWide"}}},
	};
	json_t *snapshot = workload_ask(harness, target, "snapshot");
	json_t *truth = workload_ask(harness, target, "truth");
	json_t *report = RETAIN(harness, target, "--top", "0");

	expect_listeners(report);
	assert_null(json_object_get(runtime_of(report, "v8"), "version_untested"));
	/* V8 itself has native blocks that only the headers of its chunks lead to; OpenSSL 3.5 in
	 * Node 24 loses one (ossl_load_builtin_compressions). */
	assert_in_range(total_at(report, "lost", "blocks"), 0, 1);
	expect_planted(truth, report);
	expect_snapshot(snapshot, report);
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		expect_holder(harness, target, &held[i]);
}

static void the_objects_of_a_program_are_counted_and_their_holders_have_names(void **state)
{
	in_each_version(state, NODE_24, census, expect_census);
}

static json_int_t bytes_of(json_t *report, const char *name)
{
	json_int_t bytes = 0;
	json_t *class;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (!strcmp(text_at(class, "name"), name))
			bytes += number_at(class, "bytes");
	}
	return bytes;
}

static void expect_external(struct harness *harness, struct child *target)
{
	static const struct holder holder = {
		"ArrayBuffer",
		"global appGlobal",
		{{"", "Object"}, {".buffers", "Array"}, {"", "Buffer"}, {"", "ArrayBuffer"}}};
	json_t *truth = workload_ask(harness, target, "external");
	json_t *memory = report_of(
		harness, MONITOR(harness, "memory", "-p", target->pid_text, "--format", "json"));
	json_t *report = RETAIN(harness, target, "--top", "0"), *part;

	memory = json_object_get(json_array_get(json_object_get(memory, "processes"), 0), "v8");
	assert_int_equal(number_at(memory, "heaps"), 1);
	assert_int_equal(number_at(memory, "external_bytes"), number_at(truth, "external"));
	assert_int_equal(number_at(memory, "array_buffer_bytes"), number_at(truth, "arrayBuffers"));
	part = json_array_get(json_object_get(walked_runtime_of(report, "v8"), "parts"), 0);
	/* Not all buffers come from the allocator that node counts, nor are all of them in use. */
	assert_true(llabs(number_at(part, "bytes") - number_at(truth, "arrayBuffers")) < 256 << 10);
	assert_true(bytes_of(report, "ArrayBuffer") > 5 << 20);
	expect_holder(harness, target, &holder);
}

static void memory_outside_the_heap_is_counted_and_its_holder_has_a_name(void **state)
{
	in_each_version(state, NODE_24, census, expect_external);
}

static json_t *heap_of(struct harness *harness, struct child *target)
{
	json_t *report = report_of(
		harness, MONITOR(harness, "memory", "-p", target->pid_text, "--format", "json"));

	return json_object_get(json_array_get(json_object_get(report, "processes"), 0), "v8");
}

static void expect_collections(struct harness *harness, struct child *target)
{
	json_t *before, *after;
	json_int_t bytes;

	workload_ask(harness, target, "collected");
	before = heap_of(harness, target);
	bytes = number_at(workload_ask(harness, target, "collected"), "bytes");
	after = heap_of(harness, target);
	assert_int_equal(number_at(after, "full_collections"),
			 number_at(before, "full_collections") + 1);
	assert_true(number_at(after, "collections") > number_at(before, "collections"));
	assert_in_range(number_at(after, "kept_bytes"), bytes - bytes / 20, bytes + bytes / 20);
	assert_true(number_at(after, "committed_bytes") > bytes);
}

/* An idle V8 would collect by itself. */
static void collections_of_the_whole_heap_are_counted_with_what_they_leave(void **state)
{
	static const char *const argv[] = {"node", "--expose-gc", "--no-memory-reducer",
					   "tests/runtimes/v8_census.js", NULL};

	in_each_version(state, 0, argv, expect_collections);
}

/* Stacks are read word by word, and may have a few. */
static void a_weak_handle_holds_nothing(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = start(harness);
	json_int_t count = 0, held = 0;
	json_t *report, *class;
	size_t i;

	workload_ask(harness, target, "truth");
	assert_int_equal(number_at(workload_ask(harness, target, "wrapped"), "Hash"), 200);
	report = RETAIN(harness, target, "--top", "0");
	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (strcmp(text_at(class, "name"), "Hash") != 0)
			continue;
		count += number_at(class, "count");
		held += number_at(json_object_get(class, "held"), "blocks");
	}
	assert_true(count >= 200);
	assert_in_range(held, 0, 20);
}

/* Another program in their place: they are known by their names. */
static void other_programs_with_v8_are_refused_by_name(void **state)
{
	static const struct {
		const char *program, *why;
	} cases[] = {{"deno", "Deno's V8"}, {"electron", "Electron's V8"}};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const argv[] = {cases[i].program, NULL};
		char path[256];
		struct child *target;
		json_t *report, *memory;

		snprintf(path, sizeof(path), "%s/%s", harness->directory, cases[i].program);
		free(shell(harness, 0, "cp ${LEAKMON_WORKLOADS:-build/workloads}/holder %s", path));
		target = child_start(harness, path, argv, NULL);
		free(child_line(harness, target, &target->out));
		report = RETAIN(harness, target);
		assert_non_null(
			strstr(text_at(runtime_of(report, "v8"), "why_not_walked"), cases[i].why));
		memory = report_of(harness, MONITOR(harness, "memory", "-p", target->pid_text,
						    "--format", "json"));
		memory = json_array_get(json_object_get(memory, "processes"), 0);
		assert_non_null(strstr(text_at(json_object_get(memory, "v8"), "cannot_tell"),
				       cases[i].why));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(the_objects_of_a_program_are_counted_and_their_holders_have_names),
		e2e_test(memory_outside_the_heap_is_counted_and_its_holder_has_a_name),
		e2e_test(collections_of_the_whole_heap_are_counted_with_what_they_leave),
		e2e_test(a_weak_handle_holds_nothing),
		e2e_test(other_programs_with_v8_are_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
