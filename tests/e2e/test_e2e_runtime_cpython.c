// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects of Python programs, compared with figures of their own interpreter
 * (tests/runtimes/cpython_census.py). Every installed CPython is tested: Debian's, those of pyenv,
 * and those in trees of other releases (`scripts/deps.sh pythons`).
 */
#include "retain_json.h"
#include "shell.h"
#include "tree.h"

#include <glob.h>
#include <unistd.h>

#define CENSUS "tests/runtimes/cpython_census.py"
#define TREE_CENSUS "/tmp/leakmon-e2e-cpython_census.py"
#define DEBIAN "/usr/bin/python3"
#define GCORE "/usr/bin/gcore"
#define PYTHONS_MAX 32

struct python {
	char root[256]; /* root of its tree; "": this system */
	char path[512];
};

struct pythons {
	struct python list[PYTHONS_MAX];
	size_t count;
};

static void add_python(struct pythons *pythons, const char *root, const char *path)
{
	struct python *python = &pythons->list[pythons->count];

	if (pythons->count == PYTHONS_MAX || (!*root && access(path, X_OK)))
		return;
	snprintf(python->root, sizeof(python->root), "%s", root);
	snprintf(python->path, sizeof(python->path), "%s", path);
	pythons->count++;
}

static void add_trees(struct pythons *pythons)
{
	static const char *const trees[][2] = {{"trixie", "/usr/bin/python3.13"},
					       {"forky", "/usr/bin/python3.14"},
					       {"sid", "/usr/bin/python3.13"},
					       {"sid", "/usr/bin/python3.14"},
					       {"sid", "/usr/bin/python3.15"}};

	for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++) {
		char root[256];

		if (tree_has(trees[i][0], trees[i][1], root, sizeof(root)))
			add_python(pythons, root, trees[i][1]);
	}
}

/* Adds the matching versions of pyenv. */
static void add_pyenv(struct pythons *pythons, const char *versions)
{
	const char *root = getenv("PYENV_ROOT"), *home = getenv("HOME");
	char pattern[512];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s%s/versions/%s/bin/python3",
		 root	? root
		 : home ? home
			: "",
		 root ? "" : "/.pyenv", versions);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		add_python(pythons, "", found.gl_pathv[i]);
	globfree(&found);
}

static void add_all(struct pythons *pythons)
{
	add_python(pythons, "", DEBIAN);
	add_pyenv(pythons, "3.9.*");
	add_pyenv(pythons, "3.1[0-5].*");
	add_trees(pythons);
}

static struct child *started(struct harness *harness, struct child *child)
{
	char *line = child_line(harness, child, &child->out);

	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
	return child;
}

static struct child *start_option(struct harness *harness, const char *option)
{
	return started(harness, child_start(harness, DEBIAN,
					    option ? ARGUMENTS("python3", "-X", option, CENSUS)
						   : ARGUMENTS("python3", CENSUS),
					    NULL));
}

static struct child *start(struct harness *harness, const struct python *python)
{
	if (!*python->root)
		return started(harness, child_start(harness, python->path,
						    ARGUMENTS("python3", CENSUS), NULL));
	free(shell(harness, 0, "cp %s %s%s", CENSUS, python->root, TREE_CENSUS));
	return started(harness,
		       child_start(harness, CHROOT,
				   ARGUMENTS("chroot", python->root, python->path, TREE_CENSUS),
				   NULL));
}

static json_t *class_named(json_t *report, const char *name)
{
	json_t *class;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (!strcmp(text_at(class, "name"), name) &&
		    !strcmp(text_at(class, "kind"), "managed class"))
			return class;
	}
	return NULL;
}

/*
 * sys.getsizeof() returns other sizes for these: separate values of attributes, a dictionary's
 * pointer in an int, letters of a str. From 3.14 on, other subclasses of built-in types have such
 * values, too.
 */
static bool is_larger(const char *name, const char *version)
{
	static const char *const names[] = {"Session", "Item",	"Square",   "Sparse", "Local",
					    "Money",   "Label", "Registry", "Queue"};
	size_t count = sizeof(names) / sizeof(names[0]) - (atoi(version + 2) < 14 ? 2 : 0);

	for (size_t i = 0; i < count; i++) {
		if (!strcmp(strrchr(name, '.') + 1, names[i]))
			return true;
	}
	return false;
}

static void expect_class(const char *version, const char *name, json_t *truth, json_t *class)
{
	json_int_t count = number_at(truth, "count"), bytes = number_at(truth, "bytes");

	if (!count) {
		assert_null(class);
		return;
	}
	if (!class)
		fail_msg("%s: %s is missing", version, name);
	if (number_at(class, "count") != count)
		fail_msg("%s: %s: %lld objects, not %lld", version, name,
			 (long long)number_at(class, "count"), (long long)count);
	if (is_larger(name, version) ? number_at(class, "bytes") < bytes
				     : number_at(class, "bytes") != bytes)
		fail_msg("%s: %s: %lld bytes, not %lld", version, name,
			 (long long)number_at(class, "bytes"), (long long)bytes);
	assert_string_equal(text_at(class, "module"), "cpython");
	assert_int_equal(number_at(json_object_get(class, "unreachable"), "blocks"), 0);
}

static void expect_classes(json_t *truth, json_t *report)
{
	const char *version = text_at(truth, "version"), *name;
	json_t *class, *runtime = runtime_of(report, "cpython");

	assert_string_equal(text_at(runtime, "why_not_walked"), "");
	assert_int_equal(number_at(runtime, "nonsense"), 0);
	assert_int_equal(
		strncmp(version, text_at(runtime, "version"), strlen(text_at(runtime, "version"))),
		0);
	json_object_foreach(json_object_get(truth, "classes"), name, class)
		expect_class(version, name, class, class_named(report, name));
}

/* All 300 blocks, by the name of the program's variable. */
static void expect_path(json_t *report)
{
	json_t *path = json_array_get(json_object_get(report, "paths"), 0);
	json_t *root = json_object_get(path, "root");

	assert_int_equal(number_at(path, "sharing"), 300);
	assert_string_equal(text_at(root, "kind"), "managed");
	assert_string_equal(text_at(root, "name"), "module __main__ → sessions");
	assert_int_equal(json_array_size(json_object_get(path, "steps")), 2);
}

/* A variable of a function holds a generator, and one of that the object. */
static void expect_variables(struct harness *harness, struct child *target, bool qualified)
{
	json_t *report = RETAIN(harness, target, "--top", "0", "--class", "__main__.Paused");
	json_t *path = json_array_get(json_object_get(report, "paths"), 0);
	json_t *steps = json_object_get(path, "steps"),
	       *last = json_array_get(steps, json_array_size(steps) - 1);

	assert_string_equal(text_at(json_object_get(path, "root"), "name"),
			    qualified ? "frame Keeper.park.<locals>.wait_here() → resting"
				      : "frame wait_here() → resting");
	assert_string_equal(text_at(last, "label"), ".item");
}

static bool are_frames(json_t *group, json_t *truth)
{
	json_t *frames = json_object_get(group, "frames");
	json_t *expected = json_object_get(truth, "frames");
	bool same = json_array_size(frames) == json_array_size(expected);

	for (size_t i = 0; same && i < json_array_size(frames); i++) {
		json_t *frame = json_array_get(frames, i), *wanted = json_array_get(expected, i);

		same = !strcmp(text_at(frame, "function"),
			       json_string_value(json_array_get(wanted, 0))) &&
		       number_at(frame, "line") == json_integer_value(json_array_get(wanted, 1));
	}
	return same;
}

static void expect_frames(json_t *process, json_t *truth)
{
	json_t *python = json_object_get(process, "python"), *group;
	size_t i, found = 0;

	assert_true(json_is_null(json_object_get(python, "cannot_tell")));
	assert_int_equal(number_at(python, "threads"), 2);
	json_array_foreach(json_object_get(python, "groups"), i, group) found +=
		are_frames(group, truth);
	if (found != 1)
		fail_msg("%s: %s, not %s", text_at(python, "version"),
			 json_dumps(json_object_get(python, "groups"), JSON_COMPACT),
			 json_dumps(truth, JSON_COMPACT));
}

/* One program of each version, for one attach; "": missing. */
struct together {
	struct pythons pythons;
	struct child *targets[PYTHONS_MAX];
	size_t count;
	char pids[PYTHONS_MAX * 12];
};

static void start_all(struct harness *harness, struct together *together)
{
	struct pythons *pythons = &together->pythons;

	add_all(pythons);
	for (size_t i = 0; i < pythons->count; i++) {
		struct child *target = start(harness, &pythons->list[i]);
		size_t used = strlen(together->pids);

		together->targets[together->count++] = target;
		snprintf(together->pids + used, sizeof(together->pids) - used, "%s%s", i ? "," : "",
			 target->pid_text);
	}
}

static void threads_stand_where_the_interpreter_has_them(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct together together = {0};
	json_t *report;

	start_all(harness, &together);
	if (!together.count)
		skip();
	report = report_of(harness, MONITOR(harness, "threads", "-p", together.pids, "--format",
					    "json", "1", "1"));
	for (size_t i = 0; i < together.count; i++)
		expect_frames(process_of(report, together.targets[i]->pid),
			      workload_ask(harness, together.targets[i], "frames"));
}

/* The site's frames of Python alone. */
static bool has_frames(json_t *site, json_t *truth)
{
	json_t *frame, *own = json_array(), *stack = json_pack("{s:o}", "frames", own);
	size_t i;
	bool same;

	json_array_foreach(json_object_get(site, "frames"), i, frame)
	{
		if (!json_is_null(json_object_get(frame, "module")) &&
		    !strcmp(text_at(frame, "module"), "python"))
			json_array_append(own, frame);
	}
	same = are_frames(stack, truth);
	json_decref(stack);
	return same;
}

/*
 * sorted(), a native function, is between its callee and its caller. Whether it has a name depends
 * on the build of the interpreter.
 */
static bool is_mixed(json_t *site)
{
	size_t i, python = 0, border = 0;
	json_t *frame;

	json_array_foreach(json_object_get(site, "frames"), i, frame)
	{
		const char *module = json_string_value(json_object_get(frame, "module"));
		const char *function = json_string_value(json_object_get(frame, "function"));

		if (function && !strcmp(function, "by"))
			python = i;
		else if (python && module && strcmp(module, "python") != 0)
			border = i;
		else if (border && function && strstr(function, "grow"))
			return true;
	}
	return false;
}

static void expect_site(json_t *process, json_t *truth)
{
	json_t *site;
	size_t i;

	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		if (number_at(site, "bytes") < 500000)
			continue;
		if (has_frames(site, truth) && is_mixed(site))
			return;
		fail_msg("%s, not %s", json_dumps(site, JSON_COMPACT),
			 json_dumps(truth, JSON_COMPACT));
	}
	fail_msg("no site");
}

static void stacks_of_allocations_have_the_functions_that_called_the_interpreter(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct together together = {0};
	json_t *truths[PYTHONS_MAX], *report;
	struct child *monitor;

	start_all(harness, &together);
	if (!together.count)
		skip();
	monitor = MONITOR(harness, "-p", together.pids, "-o", "0", "--format", "json", "3600");
	for (size_t i = 0; i < together.count; i++)
		monitor_wait_attached(harness, monitor, together.targets[i]->pid);
	for (size_t i = 0; i < together.count; i++)
		truths[i] = workload_ask(harness, together.targets[i], "churn");
	report = monitor_stop(harness, monitor);
	for (size_t i = 0; i < together.count; i++)
		expect_site(process_of(report, together.targets[i]->pid), truths[i]);
}

/* Calls `check` with a program of each Python found here; skips the test without any. */
static void with_each(struct harness *harness,
		      void (*check)(struct harness *harness, struct child *target,
				    const char *path))
{
	struct pythons pythons = {0};

	add_all(&pythons);
	if (!pythons.count)
		skip();
	for (size_t i = 0; i < pythons.count; i++)
		check(harness, start(harness, &pythons.list[i]), pythons.list[i].path);
}

static void expect_objects(struct harness *harness, struct child *target, const char *path)
{
	json_t *truth = workload_ask(harness, target, "truth");
	json_t *report = RETAIN(harness, target, "--top", "0", "--class", "__main__.Session");

	(void)path;
	expect_classes(truth, report);
	expect_path(report);
	expect_variables(harness, target,
			 strncmp(text_at(truth, "version"), "3.9.", 4) != 0 &&
				 strncmp(text_at(truth, "version"), "3.10.", 5) != 0);
}

static void the_objects_of_every_version_are_counted_as_it_counts_them(void **state)
{
	with_each(harness_any(state), expect_objects);
}

/* Its allocations for the answer are in its own count, and may be alone in an arena. */
#define ANSWER_BYTES (64 << 10)

static void expect_arenas(const char *path, json_t *python, json_t *truth)
{
	json_t *pin = json_array_get(json_object_get(python, "pins"), 0);
	json_int_t arenas = number_at(truth, "arenas");
	json_int_t off = number_at(python, "used_bytes") - number_at(truth, "used");

	assert_true(json_is_null(json_object_get(python, "cannot_tell")));
	if (llabs(number_at(python, "arenas") - arenas) > 1 || off > ANSWER_BYTES ||
	    off < -ANSWER_BYTES)
		fail_msg("%s: %s, not %s", path, json_dumps(python, JSON_COMPACT),
			 json_dumps(truth, JSON_COMPACT));
	assert_true(number_at(python, "used_bytes") + number_at(python, "pool_free_bytes") +
			    number_at(python, "free_bytes") <=
		    number_at(python, "arena_bytes"));
	if (number_at(python, "sparse_arenas") * 2 < arenas)
		fail_msg("%s: %s of %lld", path, json_dumps(python, JSON_COMPACT),
			 (long long)arenas);
	assert_string_equal(text_at(pin, "class"), "__main__.Pin");
	assert_true(number_at(pin, "arenas") * 2 >= arenas);
}

static void expect_pins(struct harness *harness, struct child *target, const char *path)
{
	json_t *truth = workload_ask(harness, target, "spread");
	json_t *report = report_of(
		harness, MONITOR(harness, "memory", "-p", target->pid_text, "--format", "json"));

	expect_arenas(path, json_object_get(process_of(report, target->pid), "python"), truth);
}

static void arenas_that_are_not_given_back_have_the_class_that_keeps_them(void **state)
{
	with_each(harness_any(state), expect_pins);
}

/* Retained by the variable alone: 300 sessions with ten items each, keys and lists. */
static void a_variable_retains_what_only_it_leads_to(void **state)
{
	struct harness *harness = harness_any(state);
	json_t *report, *root;
	size_t i, found = 0;

	if (access(DEBIAN, X_OK))
		skip();
	report = RETAIN(harness, start_option(harness, NULL), "--top", "0");
	json_array_foreach(json_object_get(report, "roots"), i, root)
	{
		if (strcmp(text_at(root, "name"), "module __main__ → sessions") != 0)
			continue;
		found++;
		assert_true(number_at(root, "retained_blocks") >= 300 + 3000);
		assert_true(number_at(root, "led_bytes") >= number_at(root, "retained_bytes"));
	}
	assert_int_equal(found, 1);
}

static json_t *python_of(json_t *report)
{
	return json_array_get(json_object_get(report, "runtimes"), 0);
}

static json_int_t unreached(json_t *report)
{
	return number_at(python_of(report), "unreached_objects");
}

/*
 * Compares with the collector's own result afterwards; dead words on the stack may still hold some.
 */
static void expect_garbage(struct harness *harness, struct child *target, const char *path)
{
	json_int_t found, collected;

	assert_true(json_is_true(json_object_get(workload_ask(harness, target, "rings"), "off")));
	found = unreached(RETAIN(harness, target));
	collected = number_at(workload_ask(harness, target, "collect"), "collected");
	if (found > collected + collected / 100 || found < collected - collected / 20)
		child_fail(target, "%s: %lld are garbage, the collector found %lld", path,
			   (long long)found, (long long)collected);
	assert_true(unreached(RETAIN(harness, target)) < 50);
}

static void what_only_the_collector_can_free_is_counted_as_it_counts_it(void **state)
{
	with_each(harness_any(state), expect_garbage);
}

static void expect_frozen(struct harness *harness, struct child *target, const char *path,
			  const char *command)
{
	json_int_t frozen = number_at(workload_ask(harness, target, command), "frozen");
	json_t *found = json_object_get(python_of(RETAIN(harness, target)), "frozen_objects");

	if (json_integer_value(found) != frozen)
		child_fail(target, "%s: %lld are frozen, it says %lld", path,
			   (long long)json_integer_value(found), (long long)frozen);
}

/* 1,000 more objects have a __del__(). */
static void expect_collector(struct harness *harness, struct child *target, const char *path)
{
	json_t *python = python_of(RETAIN(harness, target));
	json_int_t others = json_integer_value(json_object_get(python, "finalizable_objects"));

	assert_null(json_object_get(python, "collector_off"));
	expect_frozen(harness, target, path, "frozen");
	workload_ask(harness, target, "rings");
	python = python_of(RETAIN(harness, target));
	assert_true(json_is_true(json_object_get(python, "collector_off")));
	assert_int_equal(number_at(python, "finalizable_objects"), others + 1000);
	expect_frozen(harness, target, path, "freeze");
}

static void what_keeps_the_collector_from_objects_is_reported(void **state)
{
	with_each(harness_any(state), expect_collector);
}

static void attributes_are_called_by_their_names(void **state)
{
	struct harness *harness = harness_any(state);
	json_t *report, *steps;

	if (access(DEBIAN, X_OK))
		skip();
	report = RETAIN(harness, start_option(harness, NULL), "--class", "__main__.Square");
	steps = json_object_get(json_array_get(json_object_get(report, "paths"), 0), "steps");
	assert_string_equal(text_at(json_array_get(steps, 0), "label"), "");
	report = RETAIN(harness, start_option(harness, NULL), "--class", "__main__.Item");
	steps = json_object_get(json_array_get(json_object_get(report, "paths"), 0), "steps");
	assert_true(json_array_size(steps) >= 2);
}

static void expect_why(struct harness *harness, struct child *target, const char *words)
{
	json_t *report = RETAIN(harness, target, "--top", "0");
	json_t *runtime = runtime_of(report, "cpython");

	if (!strstr(text_at(runtime, "why_not_walked"), words))
		fail_msg("%s", text_at(runtime, "why_not_walked"));
	assert_null(class_named(report, "__main__.Session"));
}

static void hooks_of_a_debugger_are_named(void **state)
{
	struct harness *harness = harness_any(state);

	if (access(DEBIAN, X_OK))
		skip();
	expect_why(harness, start_option(harness, "dev"), "PYTHONMALLOC=debug");
}

static void use_malloc(void)
{
	setenv("PYTHONMALLOC", "malloc", true);
}

static void objects_in_blocks_of_malloc_are_counted_alike(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;
	json_t *truth;

	if (access(DEBIAN, X_OK))
		skip();
	target = child_start(harness, DEBIAN, ARGUMENTS("python3", CENSUS), use_malloc);
	free(child_line(harness, target, &target->out));
	truth = workload_ask(harness, target, "truth");
	expect_classes(truth, RETAIN(harness, target, "--top", "0"));
}

static void a_version_that_is_not_known_is_not_guessed_at(void **state)
{
	struct harness *harness = harness_any(state);
	struct pythons pythons = {0};

	add_pyenv(&pythons, "3.[78].*");
	if (!pythons.count)
		skip();
	for (size_t i = 0; i < pythons.count; i++) {
		struct child *target = child_start(
			harness, pythons.list[i].path,
			ARGUMENTS("python3", "-c", "print('ready', flush=True); input()"), NULL);

		free(child_line(harness, target, &target->out));
		expect_why(harness, target, "version");
	}
}

static void a_core_file_has_the_same_objects(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;
	char path[256];
	json_t *truth;

	if (access(DEBIAN, X_OK) || access(GCORE, X_OK))
		skip();
	target = start_option(harness, NULL);
	truth = workload_ask(harness, target, "truth");
	free(shell(harness, 0, "%s -o %s/core %s >/dev/null 2>&1", GCORE, harness->directory,
		   target->pid_text));
	snprintf(path, sizeof(path), "%s/core.%s", harness->directory, target->pid_text);
	expect_classes(truth, report_of(harness, MONITOR(harness, "retain", "--core", path, "--top",
							 "0", "--format", "json")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(the_objects_of_every_version_are_counted_as_it_counts_them),
		e2e_test(threads_stand_where_the_interpreter_has_them),
		e2e_test(stacks_of_allocations_have_the_functions_that_called_the_interpreter),
		e2e_test(arenas_that_are_not_given_back_have_the_class_that_keeps_them),
		e2e_test(a_variable_retains_what_only_it_leads_to),
		e2e_test(what_only_the_collector_can_free_is_counted_as_it_counts_it),
		e2e_test(what_keeps_the_collector_from_objects_is_reported),
		e2e_test(attributes_are_called_by_their_names),
		e2e_test(hooks_of_a_debugger_are_named),
		e2e_test(objects_in_blocks_of_malloc_are_counted_alike),
		e2e_test(a_version_that_is_not_known_is_not_guessed_at),
		e2e_test(a_core_file_has_the_same_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
