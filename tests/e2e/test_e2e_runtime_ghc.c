// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Closures of Haskell programs, compared with the counts of their own runtime (+RTS -hT, -hi:
 * tests/runtimes/ghc). They are compiled here by Debian 12's GHC 9.0, and in Debian 13's tree
 * (scripts/deps.sh trixie) by its GHC 9.6; without ghc the tests are skipped. No BPF is needed.
 */
#include "retain_json.h"
#include "shell.h"
#include "tree.h"

#include <unistd.h>

#define GHC "/usr/bin/ghc"
#define STRIP "/usr/bin/strip"
#define SOURCE "tests/runtimes/ghc/Census.hs"
#define SESSIONS 3000
#define ITEMS 21000
#define ADDED 30000
#define PINNED 7
#define SUMMED 100000 /* Sum.hs */
/* The bytes of a type that is not one of a few young closures: the census comes before they do, and
 * before a thunk or two are evaluated. */
#define LARGE_BAND 4096
#define YOUNG_BYTES 512
#define STOPS 3

static void compile(struct harness *harness)
{
	if (access(GHC, X_OK)) {
		fprintf(stderr, "SKIPPED, nothing was tested: there is no %s (ghc)\n", GHC);
		skip();
	}
	free(shell(harness, 0, "cp %s %s && cd %s && %s -v0 -rtsopts Census.hs -o census", SOURCE,
		   harness->directory, harness->directory, GHC));
}

static struct child *start_with(struct harness *harness, const char *mode, const char *options)
{
	char command[512];

	snprintf(command, sizeof(command), "cd %s && exec ./census %s +RTS %s", harness->directory,
		 mode, options);
	return start_ready(harness, "/bin/sh", ARGUMENTS("sh", "-c", command), NULL);
}

static struct child *start(struct harness *harness, const char *mode)
{
	return start_with(harness, mode, "-hT -i0");
}

static json_t *named(json_t *report, const char *list, const char *name)
{
	json_t *found;
	size_t i;

	json_array_foreach(json_object_get(report, list), i, found)
	{
		if (!strcmp(text_at(found, "name"), name) &&
		    !strcmp(text_at(found, "module"), "ghc"))
			return found;
	}
	return NULL;
}

static json_int_t count_of(json_t *report, const char *class)
{
	json_t *found = named(report, "classes", class);

	return found ? number_at(found, "count") : 0;
}

/* Returns the bytes of a type or constructor, whatever its function. */
static json_int_t bytes_of(json_t *report, const char *band)
{
	size_t length = strlen(band);
	json_int_t bytes = 0;
	json_t *found;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, found)
	{
		const char *name = text_at(found, "name");

		if (!strncmp(name, band, length) && (!name[length] || name[length] == ' ') &&
		    !strcmp(text_at(found, "module"), "ghc"))
			bytes += number_at(found, "bytes");
	}
	return bytes;
}

/* Each line of the last census: "main:Main.Item", a tab, and bytes. Returns how many are large. */
static size_t compare_bands(json_t *report, char *census)
{
	char *last = census, *next, *line, *rest;
	size_t large = 0;

	while ((next = strstr(last, "\nBEGIN_SAMPLE")) && strchr(next + 1, '\t'))
		last = next + 1;
	for (line = strtok_r(last, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *tab = strchr(line, '\t'), *colon;
		json_int_t bytes, own;

		if (!tab)
			continue;
		*tab = '\0';
		colon = strchr(line, ':');
		bytes = strtoll(tab + 1, NULL, 10);
		own = bytes_of(report, colon && colon[1] ? colon + 1 : line);
		if (bytes < LARGE_BAND || !strcmp(line, "ARR_WORDS"))
			continue;
		large++;
		if (llabs(own - bytes) > YOUNG_BYTES)
			fail_msg("%s: %lld bytes, not %lld", line, (long long)own,
				 (long long)bytes);
	}
	return large;
}

static void closures_are_counted_as_the_runtime_counts_them(void **state)
{
	struct harness *harness = harness_any(state);
	json_t *report;
	char *census;

	compile(harness);
	report = RETAIN(harness, start(harness, "leaking"), "--top", "0");
	walked_runtime_of(report, "ghc");
	assert_int_equal(count_of(report, "Main.Session"), SESSIONS);
	assert_int_equal(count_of(report, "Main.Item"), ITEMS);
	assert_int_equal(count_of(report, "Main.Pinned"), PINNED);
	assert_int_equal(
		number_at(json_object_get(json_object_get(report, "totals"), "unreachable"),
			  "bytes"),
		0);
	census = shell(harness, 0, "cat %s/census.hp", harness->directory);
	assert_int_equal(compare_bands(report, census), 6);
	free(census);
}

static void constant_expressions_and_stable_pointers_are_roots(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;
	json_t *report, *root;

	compile(harness);
	target = start(harness, "leaking");
	report = RETAIN(harness, target, "--top", "0", "--class", "Main.Item");
	root = json_object_get(json_array_get(json_object_get(report, "paths"), 0), "root");
	assert_string_equal(text_at(root, "name"), "CAF Main.sessions");
	root = named(report, "roots", "CAF Main.sessions");
	assert_non_null(root);
	assert_true(number_at(root, "retained_bytes") > 3000 * (24 + 24 + 7 * 24));
	report = RETAIN(harness, target, "--top", "0", "--class", "Main.Pinned");
	root = json_object_get(json_array_get(json_object_get(report, "paths"), 0), "root");
	assert_string_equal(text_at(root, "name"), "stable pointers");
	/* The runtime's own libraries have some, too. */
	assert_true(number_at(named(report, "roots", "stable pointers"), "words") >= PINNED);
}

/*
 * Returns the length of the chain at the end of the path to a class, with its part beyond the shown
 * block.
 */
static json_int_t chain_of(json_t *report)
{
	json_t *path = json_array_get(json_object_get(report, "paths"), 0);

	assert_true(json_is_true(json_object_get(path, "chain_exact")));
	return number_at(path, "chain");
}

/* The story of a large thunk, and its fix. */
static void a_sum_that_nobody_looks_at_is_a_chain_of_thunks(void **state)
{
	struct harness *harness = harness_any(state);
	json_t *report, *root;
	json_int_t held;

	compile(harness);
	report = RETAIN(harness, start(harness, "leaking"), "--top", "0", "--class", "THUNK_2_0");
	assert_true(bytes_of(report, "THUNK_2_0") >= ADDED * 32);
	assert_int_equal(chain_of(report), ADDED);
	root = named(report, "roots", "CAF Main.total");
	assert_non_null(root);
	held = number_at(root, "retained_bytes");
	assert_true(held >= ADDED * 32);
	report = RETAIN(harness, start(harness, "fixed"), "--top", "0");
	assert_true(bytes_of(report, "THUNK_2_0") < YOUNG_BYTES);
	root = named(report, "roots", "CAF Main.total");
	assert_true(!root || number_at(root, "retained_bytes") < YOUNG_BYTES);
}

/*
 * Dead constant expressions point to memory that has been reused, and the weak pointer to a thread
 * retains nothing that the thread does not.
 */
static void what_a_thread_holds_is_its_alone(void **state)
{
	struct harness *harness = harness_any(state);
	json_t *report, *root;

	compile(harness);
	free(shell(harness, 0, "cp tests/runtimes/ghc/Sum.hs %s && cd %s && %s -v0 Sum.hs -o sum",
		   harness->directory, harness->directory, GHC));
	report = RETAIN(harness,
			start_ready(harness, "/bin/sh",
				    ARGUMENTS("sh", "-c", "exec \"$0\"/sum", harness->directory),
				    NULL),
			"--top", "0", "--class", "THUNK_2_0");
	root = json_object_get(json_array_get(json_object_get(report, "paths"), 0), "root");
	assert_string_equal(text_at(root, "name"), "thread 1");
	assert_int_equal(chain_of(report), SUMMED);
	root = named(report, "roots", "thread 1");
	assert_true(number_at(root, "retained_bytes") >= SUMMED * (32 + 16 + 16));
	assert_null(named(report, "roots", "CAF Main.main"));
}

/* Constructors have their names in memory; constant expressions lose theirs. */
static void a_stripped_program_is_read_as_well(void **state)
{
	struct harness *harness = harness_any(state);
	json_t *report;

	compile(harness);
	if (access(STRIP, X_OK))
		skip();
	free(shell(harness, 0, "%s %s/census", STRIP, harness->directory));
	report = RETAIN(harness, start(harness, "leaking"), "--top", "0");
	walked_runtime_of(report, "ghc");
	assert_int_equal(count_of(report, "Main.Session"), SESSIONS);
	assert_int_equal(count_of(report, "Main.Item"), ITEMS);
	assert_true(bytes_of(report, "THUNK_2_0") >= ADDED * 32);
}

/*
 * Its collector moves live objects most of the time: a stop within a collection may go unnoticed.
 */
static void a_busy_program_is_read_at_most_of_its_stops(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;
	int exact = 0;

	compile(harness);
	target = start_with(harness, "busy", "");
	for (int i = 0; i < STOPS; i++) {
		json_t *report = RETAIN(harness, target, "--top", "0");

		exact += is_exact(report, "ghc") && count_of(report, "Main.Session") == SESSIONS &&
			 count_of(report, "Main.Item") == ITEMS;
	}
	assert_true(exact > 0);
}

/* Its runtime has no census with that collector: the one of the copying collector is the truth. */
static void blocks_of_the_non_moving_collector_are_counted(void **state)
{
	struct harness *harness = harness_any(state);
	char *census;
	json_t *report, *root;

	compile(harness);
	start(harness, "leaking");
	census = shell(harness, 0, "cat %s/census.hp", harness->directory);
	report = RETAIN(harness, start_with(harness, "leaking", "-xn"), "--top", "0", "--class",
			"Main.Item");
	walked_runtime_of(report, "ghc");
	assert_int_equal(count_of(report, "Main.Session"), SESSIONS);
	assert_int_equal(count_of(report, "Main.Item"), ITEMS);
	assert_int_equal(count_of(report, "Main.Pinned"), PINNED);
	assert_int_equal(compare_bands(report, census), 6);
	free(census);
	root = json_object_get(json_array_get(json_object_get(report, "paths"), 0), "root");
	assert_string_equal(text_at(root, "name"), "CAF Main.sessions");
	report = RETAIN(harness, start_with(harness, "fixed", "-xn"), "--top", "0");
	assert_true(bytes_of(report, "THUNK_2_0") < YOUNG_BYTES);
}

/* It may be marking then. */
static void while_the_non_moving_collector_works_its_closures_are_held(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;

	compile(harness);
	target = start_with(harness, "busy", "-xn");
	for (int i = 0; i < STOPS; i++) {
		json_t *report = RETAIN(harness, target, "--top", "0");

		assert_int_equal(count_of(report, "Main.Session"), SESSIONS);
		assert_int_equal(count_of(report, "Main.Item"), ITEMS);
		assert_non_null(named(report, "roots", "CAF Main.sessions"));
	}
}

/* After a collection has emptied nurseries, only objects allocated since are read. */
static void a_program_with_several_capabilities_is_read(void **state)
{
	static const char *const options[] = {"-N2", "-N2 -xn"};
	struct harness *harness = harness_any(state);
	size_t i;

	compile(harness);
	free(shell(harness, 0,
		   "cd %s && %s -v0 -rtsopts -threaded -outputdir threaded Census.hs -o census",
		   harness->directory, GHC));
	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		json_t *report =
			RETAIN(harness, start_with(harness, "leaking", options[i]), "--top", "0");

		walked_runtime_of(report, "ghc");
		assert_int_equal(count_of(report, "Main.Session"), SESSIONS);
		assert_int_equal(count_of(report, "Main.Item"), ITEMS);
		assert_int_equal(count_of(report, "THUNK_2_0 stg_ap_2_upd"), ADDED);
	}
}

/* In Debian 13, with a map of lines. */

#define LINE "Census.hs:49:" /* grow() */

#define LINES_DIRECTORY "/tmp/leakmon-e2e-ghc"

static void compile_with_lines(struct harness *harness, char root[256])
{
	char directory[256];

	if (!tree_has("trixie", GHC, root, 256)) {
		fprintf(stderr, "SKIPPED, nothing was tested: no Debian 13 (scripts/deps.sh "
				"trixie)\n");
		skip();
	}
	tree_directory(harness, root, "ghc", directory, sizeof(directory));
	free(shell(harness, 0,
		   "cp %s %s%s && unshare -m sh -c 'mount -t proc proc %s/proc && exec chroot %s "
		   "sh -c \"cd %s && %s -v0 -rtsopts -finfo-table-map "
		   "-fdistinct-constructor-tables Census.hs -o census && strip -o stripped "
		   "census\"'",
		   SOURCE, root, directory, root, root, directory, GHC));
}

static struct child *start_there(struct harness *harness, const char *root, const char *program,
				 const char *mode, const char *profile)
{
	char command[256];

	snprintf(command, sizeof(command), "cd %s && exec ./%s %s +RTS %s -i0", LINES_DIRECTORY,
		 program, mode, profile);
	return start_ready(harness, CHROOT, ARGUMENTS("chroot", root, "/bin/sh", "-c", command),
			   NULL);
}

/* Returns whether the last census has a band with that many bytes. */
static bool has_band(const char *census, json_int_t bytes)
{
	const char *last = census, *next;
	char band[40];

	while ((next = strstr(last, "\nBEGIN_SAMPLE")) && strchr(next + 1, '\t'))
		last = next + 1;
	snprintf(band, sizeof(band), "\t%lld\n", (long long)bytes);
	return strstr(last, band) != NULL;
}

static void record(struct harness *harness, const struct child *target, const char *path)
{
	struct child *monitor =
		MONITOR(harness, "retain", "-p", target->pid_text, "--census", "-o", path);

	if (child_end(harness, monitor))
		child_fail(monitor, "retain -o failed");
}

static json_t *ask(struct harness *harness, const char *command, const char *paths)
{
	char *text =
		shell(harness, 0, "build/leakmon %s %s --retain --format json", command, paths);
	json_t *report = json_loads(text, 0, NULL);

	free(text);
	assert_non_null(report);
	json_array_append_new(harness->documents, report);
	return report;
}

static json_int_t change_of(json_t *comparison, const char *class)
{
	json_t *row = named(comparison, "classes", class);

	if (!row)
		fail_msg("%s has not changed", class);
	return number_at(json_object_get(row, "count"), "difference");
}

/*
 * The story of a large thunk: over time, its line comes first, except for the thunks themselves and
 * the runtime's own log; the fixed build has none of it.
 */
static void expect_story(struct harness *harness, const char *root)
{
	static const char function[] = "FUN_2_0 " LINE "49-53 in Main.grow :: Int -> Int";
	static const char thunk[] = "THUNK " LINE "50 in Main.grow :: Int -> Int -> Int";
	struct child *target = start_there(harness, root, "census", "leaking", "-hT");
	char leaking[64], both[160];
	json_t *report, *class;
	size_t i, place = 0;

	snprintf(leaking, sizeof(leaking), "%s/leaking.lkm", harness->directory);
	snprintf(both, sizeof(both), "%s %s/fixed.lkm", leaking, harness->directory);
	record(harness, target, leaking);
	workload_do(harness, target, "more");
	record(harness, target, leaking);
	report = ask(harness, "report --sort integral", leaking);
	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (strcmp(text_at(class, "module"), "ghc") ||
		    !strstr(text_at(class, "name"), ".hs:"))
			continue;
		if (!place++)
			assert_string_equal(text_at(class, "name"), function);
	}
	assert_true(place > 2);
	assert_int_equal(count_of(report, function), 2 * ADDED);
	assert_int_equal(
		json_array_size(json_object_get(named(report, "classes", function), "evolution")),
		2);
	target = start_there(harness, root, "stripped", "fixed", "-hT");
	record(harness, target, both + strlen(leaking) + 1);
	report = ask(harness, "diff", both);
	assert_true(change_of(report, function) <= 1 - 2 * ADDED);
	assert_true(change_of(report, thunk) <= 1 - 2 * ADDED);
	assert_true(change_of(report, "THUNK_2_0 in Data.IORef.modifyIORef1") <= 1 - 2 * ADDED);
}

/* The story of a large thunk by line, as -hi counts it. */
static void closures_have_the_lines_of_the_program(void **state)
{
	static const struct {
		const char *class;
		json_int_t count;
	} planted[] = {
		{"FUN_2_0 " LINE "49-53 in Main.grow :: Int -> Int", ADDED},
		{"THUNK " LINE "50 in Main.grow :: Int -> Int -> Int", ADDED},
	};
	struct harness *harness = harness_any(state);
	char root[256], *census;
	json_t *report, *class;
	size_t i, large = 0;

	compile_with_lines(harness, root);
	report = RETAIN(harness, start_there(harness, root, "census", "leaking", "-hi"), "--top",
			"0");
	walked_runtime_of(report, "ghc");
	for (i = 0; i < sizeof(planted) / sizeof(planted[0]); i++)
		assert_int_equal(count_of(report, planted[i].class), planted[i].count);
	assert_int_equal(bytes_of(report, "Main.Item"), ITEMS * 24);
	census = shell(harness, 0, "cat %s%s/census.hp", root, LINES_DIRECTORY);
	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (!strstr(text_at(class, "name"), " Census.hs:") ||
		    number_at(class, "bytes") < LARGE_BAND)
			continue;
		if (!has_band(census, number_at(class, "bytes")))
			fail_msg("%s: no band of %lld bytes", text_at(class, "name"),
				 (long long)number_at(class, "bytes"));
		large++;
	}
	free(census);
	assert_int_equal(large, 6);
	report = RETAIN(harness, start_there(harness, root, "stripped", "fixed", "-hT"), "--top",
			"0");
	walked_runtime_of(report, "ghc");
	for (i = 0; i < sizeof(planted) / sizeof(planted[0]); i++)
		assert_true(count_of(report, planted[i].class) <= 1);
	assert_non_null(named(report, "roots",
			      "CAF Census.hs:26:1-40 in Main.sessions :: IORef [Session]"));
	census = shell(harness, 0, "cat %s%s/stripped.hp", root, LINES_DIRECTORY);
	assert_int_equal(compare_bands(report, census), 4);
	free(census);
	expect_story(harness, root);
}

/* A program without symbols. */
static void the_non_moving_collector_of_debian_13_is_read(void **state)
{
	struct harness *harness = harness_any(state);
	char root[256], *census;
	json_t *report;

	compile_with_lines(harness, root);
	start_there(harness, root, "stripped", "leaking", "-hT");
	census = shell(harness, 0, "cat %s%s/stripped.hp", root, LINES_DIRECTORY);
	report = RETAIN(harness, start_there(harness, root, "stripped", "leaking", "-xn"), "--top",
			"0");
	walked_runtime_of(report, "ghc");
	assert_int_equal(compare_bands(report, census), 7);
	free(census);
	assert_int_equal(bytes_of(report, "Main.Item"), ITEMS * 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(closures_are_counted_as_the_runtime_counts_them),
		e2e_test(constant_expressions_and_stable_pointers_are_roots),
		e2e_test(a_sum_that_nobody_looks_at_is_a_chain_of_thunks),
		e2e_test(what_a_thread_holds_is_its_alone),
		e2e_test(a_stripped_program_is_read_as_well),
		e2e_test(a_busy_program_is_read_at_most_of_its_stops),
		e2e_test(blocks_of_the_non_moving_collector_are_counted),
		e2e_test(while_the_non_moving_collector_works_its_closures_are_held),
		e2e_test(a_program_with_several_capabilities_is_read),
		e2e_test(closures_have_the_lines_of_the_program),
		e2e_test(the_non_moving_collector_of_debian_13_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
