// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects of PHP programs, compared with their own counts (tests/runtimes/php): with Debian 12's
 * PHP 8.2, with and without its opcache, and in a tree of Debian 13 with 8.4 (scripts/deps.sh
 * trixie); without any there is nothing to test. No BPF is needed.
 */
#include "retain_json.h"
#include "shell.h"
#include "tree.h"

#include <unistd.h>

#define PHP "/usr/bin/php"
#define CENSUS "tests/runtimes/php/census.php"
#define COUNT 1000
#define IN_CYCLES 500
#define MORE 300
/* memory_get_usage() makes no value, but its caller prints one. */
#define PRINTING 4096
#define PATH_BYTES 400

struct place {
	struct harness *harness;
	char root[256];		  /* empty: this system */
	char program[PATH_BYTES]; /* the script, as seen from there */
	const char *opcache;	  /* an option */
};

static struct child *start(const struct place *place)
{
	const char *argv[] = {"php", "-d", place->opcache, place->program, NULL};
	const char *in_root[] = {"chroot",	 place->root,	 PHP, "-d",
				 place->opcache, place->program, NULL};

	return place->root[0] ? start_ready(place->harness, CHROOT, in_root, NULL)
			      : start_ready(place->harness, PHP, argv, NULL);
}

/* Runs a story with each PHP that is there; skips it when none is. */
static void on_each(void **state, void (*story)(struct place *place))
{
	static const char *const options[] = {"opcache.enable_cli=0", "opcache.enable_cli=1"};
	struct place place = {.harness = harness_any(state)};
	bool any = false;

	snprintf(place.program, sizeof(place.program), "%s", CENSUS);
	for (size_t i = 0; i < 2 && !access(PHP, X_OK); i++) {
		place.opcache = options[i];
		story(&place);
		any = true;
	}
	if (access(PHP, X_OK))
		fprintf(stderr, "SKIPPED for PHP 8.2: there is no %s (php-cli)\n", PHP);
	if (tree_has("trixie", PHP, place.root, sizeof(place.root))) {
		char directory[256];

		tree_directory(place.harness, place.root, "php", directory, sizeof(directory));
		free(shell(place.harness, 0, "cp %s %s%s", CENSUS, place.root, directory));
		snprintf(place.program, sizeof(place.program), "%s/census.php", directory);
		place.opcache = options[0];
		story(&place);
		any = true;
	} else {
		fprintf(stderr, "SKIPPED for Debian's trixie (scripts/deps.sh trixie)\n");
	}
	if (!any)
		skip();
}

/* Returns PHP's entry with this name, or NULL. */
static json_t *named(json_t *report, const char *list, const char *name)
{
	json_t *found;
	size_t i;

	json_array_foreach(json_object_get(report, list), i, found)
	{
		if (!strcmp(text_at(found, "name"), name) &&
		    !strcmp(text_at(found, "module"), "php"))
			return found;
	}
	return NULL;
}

static json_int_t count_of(json_t *report, const char *class)
{
	json_t *found = named(report, "classes", class);

	return found ? number_at(found, "count") : 0;
}

/* Each class of objects, and the root that holds all of them. */
static const struct planted {
	const char *class, *root;
} planted[] = {
	{"ByGlobal", "$cache"},
	{"ByStaticProperty", "Registry::$instances"},
	{"ByStaticVariable", "static $seen in remember()"},
	{"ByMethodVariable", "static $notes in Holder::note()"},
	{"ByUse", "$callback"},
	{"ByThis", "$watcher"},
	{"ByPrivate", "$holder"},
	{"ByDynamic", "$settings"},
	{"ByLocal", "$local in main()"},
	{"ByGenerator", "$generator"},
	{"ByFiber", "$fiber"},
	{"ByStorage", "$storage"},
	{"ByFixedArray", "$fixed"},
	{"ByWeakMap", "$weak_map"},
	{"ByConstant", "constant HELD"},
	{"ByReference", "$reference"},
	{"ByIterated", "value in main()"},
	{"Weakly", "$weak_keys"},
};

static void all_objects_are_counted_by_class_and_holder(struct place *place)
{
	struct harness *harness = place->harness;
	struct child *target = start(place);
	json_t *truth = workload_ask(harness, target, "truth");
	json_t *report = RETAIN(harness, target, "--top", "0");
	json_t *runtime = walked_runtime_of(report, "php");
	json_int_t used = number_at(runtime, "heap_bytes") - number_at(runtime, "free_bytes");
	json_int_t usage = number_at(truth, "usage");

	assert_string_equal(text_at(runtime, "version"), text_at(truth, "version"));
	assert_null(json_object_get(runtime, "version_untested"));
	assert_int_equal(number_at(runtime, "heap_bytes"), number_at(truth, "real_usage"));
	if (used < usage - PRINTING || used > usage + PRINTING)
		fail_msg("%lld bytes in use, not %lld", (long long)used, (long long)usage);
	for (size_t i = 0; i < sizeof(planted) / sizeof(planted[0]); i++) {
		json_t *root = named(report, "roots", planted[i].root);

		if (count_of(report, planted[i].class) != COUNT)
			fail_msg("%s: %lld", planted[i].class,
				 (long long)count_of(report, planted[i].class));
		if (!root || number_at(root, "retained_blocks") < COUNT)
			fail_msg("%s: by %s: %lld", planted[i].class, planted[i].root,
				 root ? (long long)number_at(root, "retained_blocks") : -1);
	}
	assert_int_equal(count_of(report, "WeakReference"), COUNT);
	assert_int_equal(count_of(report, "Suit"), 2);
	assert_non_null(named(report, "roots", "Suit::Hearts"));
	assert_int_equal(total_at(report, "unreachable", "bytes"), 0);
}

/* gc_disable(), and then they are collected after all. */
static void cycles_that_nothing_holds_are_garbage(struct place *place)
{
	struct harness *harness = place->harness;
	struct child *target = start(place);
	json_t *report = RETAIN(harness, target, "--top", "0"), *runtime;

	runtime = walked_runtime_of(report, "php");
	assert_int_equal(count_of(report, "InCycle"), IN_CYCLES);
	assert_int_equal(number_at(runtime, "unreached_objects"), IN_CYCLES);
	assert_true(json_is_true(json_object_get(runtime, "collector_off")));
	workload_do(harness, target, "collect");
	report = RETAIN(harness, target, "--top", "0");
	assert_int_equal(count_of(report, "InCycle"), 0);
	assert_int_equal(number_at(walked_runtime_of(report, "php"), "unreached_objects"), 0);
}

static void expect_path(json_t *report, const char *root, const char *label)
{
	json_t *path = json_array_get(json_object_get(report, "paths"), 0), *step;
	bool found = !label;
	size_t i;

	assert_string_equal(text_at(json_object_get(path, "root"), "name"), root);
	json_array_foreach(json_object_get(path, "steps"), i, step)
	{
		found |= label && !strcmp(text_at(step, "label"), label);
	}
	assert_true(found);
}

/* Names of variables and properties; keys of arrays are contents. */
static void paths_name_variables_and_no_contents(struct place *place)
{
	struct harness *harness = place->harness;
	struct child *target = start(place);
	char *text;

	expect_path(RETAIN(harness, target, "--class", "ByUse"), "$callback", ".$held");
	expect_path(RETAIN(harness, target, "--class", "ByThis"), "$watcher", ".$this");
	expect_path(RETAIN(harness, target, "--class", "ByPrivate"), "$holder", ".items");
	expect_path(RETAIN(harness, target, "--class", "ByFiber"), "$fiber", ".$kept");
	expect_path(RETAIN(harness, target, "--class", "ByGenerator"), "$generator", ".$mine");
	text = json_dumps(RETAIN(harness, target, "--top", "0", "--class", "ByDynamic"), 0);
	assert_non_null(text);
	assert_null(strstr(text, "option 7"));
	assert_null(strstr(text, "address 7"));
	free(text);
}

static json_int_t grown(json_t *diff, const char *list, const char *name)
{
	json_t *row = named(diff, list, name);

	return row ? number_at(json_object_get(row, "count"), "difference") : 0;
}

static void two_looks_show_what_has_grown(struct place *place)
{
	struct harness *harness = place->harness;
	struct child *target = start(place);
	char path[96], *text;
	json_t *diff;

	snprintf(path, sizeof(path), "%s/php.lkm", harness->directory);
	unlink(path);
	RETAIN(harness, target, "-o", path);
	workload_do(harness, target, "more");
	RETAIN(harness, target, "-o", path);
	text = shell(harness, 0, "build/leakmon diff %s --retain --format json", path);
	diff = json_loads(text, 0, NULL);
	free(text);
	assert_non_null(diff);
	assert_int_equal(grown(diff, "classes", "ByStaticProperty"), MORE);
	assert_int_equal(grown(diff, "classes", "ByGlobal"), 0);
	assert_int_equal(grown(diff, "roots", "Registry::$instances"), MORE);
	json_decref(diff);
}

#define STORY(name)                                                                                \
	static void on_each_##name(void **state)                                                   \
	{                                                                                          \
		on_each(state, name);                                                              \
	}
STORY(all_objects_are_counted_by_class_and_holder)
STORY(cycles_that_nothing_holds_are_garbage)
STORY(paths_name_variables_and_no_contents)
STORY(two_looks_show_what_has_grown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(on_each_all_objects_are_counted_by_class_and_holder),
		e2e_test(on_each_cycles_that_nothing_holds_are_garbage),
		e2e_test(on_each_paths_name_variables_and_no_contents),
		e2e_test(on_each_two_looks_show_what_has_grown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
