// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects of .NET programs, against what they count themselves (tests/runtimes/dotnet_stories.cs).
 * The runtimes are those that `scripts/deps.sh dotnet` fetches. No BPF is needed.
 */
#include "retain_json.h"
#include "shell.h"

#include <unistd.h>

static const char *const versions[] = {"9"};

#define VERSIONS (sizeof(versions) / sizeof(versions[0]))

/* The path of the program for that version; NULL: it is not there. */
static char *find_program(const char *version)
{
	char command[64], path[512] = "";
	FILE *script;

	snprintf(command, sizeof(command), "tests/runtimes/dotnet.sh %s", version);
	script = popen(command, "r");
	if (!script)
		return NULL;
	if (!fgets(path, sizeof(path), script))
		path[0] = '\0';
	pclose(script);
	path[strcspn(path, "\n")] = '\0';
	return path[0] ? strdup(path) : NULL;
}

static void choose_culture(void)
{
	setenv("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1", 1);
}

/* NULL: that runtime is not there. */
static struct child *start(struct harness *harness, const char *version, const char *story,
			   const char *count)
{
	char *path = find_program(version), *line;
	struct child *child;

	if (!path) {
		fprintf(stderr,
			"SKIPPED, nothing was tested: there is no .NET %s (scripts/deps.sh "
			"dotnet)\n",
			version);
		return NULL;
	}
	child = child_start(harness, path, ARGUMENTS("azmcp", story, count), choose_culture);
	free(path);
	line = child_line(harness, child, &child->out);
	assert_string_equal(line, "ready");
	free(line);
	return child;
}

static struct child *start_or_skip(struct harness *harness, const char *story, const char *count)
{
	struct child *child = start(harness, "9", story, count);

	if (!child)
		skip();
	return child;
}

static json_t *runtime_of(json_t *report)
{
	json_t *runtimes = json_object_get(report, "runtimes");

	assert_int_equal(json_array_size(runtimes), 1);
	assert_string_equal(text_at(json_array_get(runtimes, 0), "runtime"), "dotnet");
	return json_array_get(runtimes, 0);
}

/* Classes of one name may be of several types: of the same name in several assemblies. */
static json_int_t count_of(json_t *report, const char *name)
{
	json_int_t count = 0;
	json_t *class;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (!strcmp(text_at(class, "name"), name) &&
		    !strcmp(text_at(class, "module"), "dotnet"))
			count += number_at(class, "count");
	}
	return count;
}

static void expect_classes(const char *version, json_t *truth, json_t *report)
{
	json_t *runtime = runtime_of(report), *count;
	const char *name;

	assert_string_equal(text_at(runtime, "why_not_walked"), "");
	assert_string_equal(text_at(runtime, "version"), version);
	assert_int_equal(number_at(runtime, "nonsense"), 0);
	json_object_foreach(json_object_get(truth, "classes"), name, count)
	{
		if (count_of(report, name) != json_integer_value(count))
			fail_msg(".NET %s: %s: %lld objects, not %lld", version, name,
				 (long long)count_of(report, name),
				 (long long)json_integer_value(count));
	}
}

/* The path to the class that the report was asked for: its root, its steps as "label class". */
static json_t *path_of(json_t *report)
{
	return json_array_get(json_object_get(report, "paths"), 0);
}

static void expect_root(json_t *report, const char *kind, const char *name)
{
	json_t *root = json_object_get(path_of(report), "root");

	assert_string_equal(text_at(root, "name"), name);
	assert_string_equal(text_at(root, "kind"), kind);
}

static void the_objects_of_every_version_are_counted_as_it_counts_them(void **state)
{
	struct harness *harness = harness_any(state);
	size_t found = 0;

	for (size_t i = 0; i < VERSIONS; i++) {
		struct child *target = start(harness, versions[i], "census", "300");
		json_t *truth, *report;

		if (!target)
			continue;
		found++;
		truth = workload_ask(harness, target, "truth");
		report = RETAIN(harness, target, "--top", "0", "--class", "Planted.Subscriber");
		expect_classes(versions[i], truth, report);
		assert_int_equal(number_at(path_of(report), "sharing"), 300);
		expect_root(report, "managed", "static Planted.Publisher.Changed");
	}
	if (!found)
		skip();
}

static void what_holds_an_object_has_a_name(void **state)
{
	static const struct {
		const char *class, *root;
	} held[] = {
		{"Planted.Left", "static Planted.Census.holder"},
		{"Planted.OfStrongHandle", "strong handle"},
		{"Planted.OfPinnedHandle", "pinned handle"},
		{"Planted.Finalised", "static Planted.Census.finalised"},
	};
	struct harness *harness = harness_any(state);
	struct child *target = start_or_skip(harness, "census", "300");

	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		expect_root(RETAIN(harness, target, "--class", held[i].class), "managed",
			    held[i].root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(the_objects_of_every_version_are_counted_as_it_counts_them),
		e2e_test(what_holds_an_object_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
