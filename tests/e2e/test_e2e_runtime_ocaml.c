// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks of OCaml programs, compared with figures of their own runtime (Gc.stat,
 * Obj.reachable_words: tests/runtimes/ocaml). They are compiled here by Debian 12's OCaml 4.13, and
 * in trees of Debian 13 and 11 (scripts/deps.sh trixie bullseye) by their 5.3 and 4.11; without any
 * the tests are skipped. No BPF is needed.
 */
#include "retain_json.h"
#include "shell.h"
#include "tree.h"

#include <unistd.h>

#define OCAMLOPT "/usr/bin/ocamlopt"
#define STRIP "/usr/bin/strip"
#define SOURCES "tests/runtimes/ocaml"
#define CENSUS "feeds.ml census.ml"
#define WORD 8
#define LEAKED 1001
/* A minor heap that was just emptied contains the objects of the question itself. */
#define YOUNG_MAX 200
/* Waiting tasks, blocks left by an ended domain, and blocks held by others: fibres.ml. */
#define TASKS 40
#define LEFT 5000
#define IDLE 200
/* 5.3 loses this table of a domain that ends, indeed: caml_alloc_stack_cache(). */
#define STACK_CACHE 40

/* Where a program was compiled and runs; `root` is empty for this system. */
struct place {
	struct harness *harness;
	char root[256];
	char directory[256]; /* as seen by its programs */
	const char *compiler;
	bool fibres; /* its OCaml has them */
};

static void compile(struct place *place, const char *modules, const char *program)
{
	char within[600] = "";

	if (place->root[0])
		snprintf(within, sizeof(within), "chroot %s ", place->root);
	free(shell(place->harness, 0, "cp %s/*.ml %s%s && %ssh -c 'cd %s && %s -g %s -o %s'",
		   SOURCES, place->root, place->directory, within, place->directory,
		   place->compiler, modules, program));
}

/* Makes a copy named "stripped". */
static void strip(const struct place *place, const char *program)
{
	free(shell(place->harness, 0, "%s -o %s%s/stripped %s%s/%s", STRIP, place->root,
		   place->directory, place->root, place->directory, program));
}

static struct child *start(const struct place *place, const char *program, const char *mode)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", place->directory, program);
	if (!place->root[0])
		return start_ready(place->harness, path, ARGUMENTS(program, mode), NULL);
	return start_ready(place->harness, CHROOT, ARGUMENTS("chroot", place->root, path, mode),
			   NULL);
}

/* Finds the compiler of this system, or another one. */
static bool find_compiler(struct place *place)
{
	const char *chosen = getenv("OCAMLOPT");
	char *version;

	place->compiler = chosen ? chosen : OCAMLOPT;
	if (access(place->compiler, X_OK))
		return false;
	version = shell(place->harness, 0, "%s -version", place->compiler);
	place->fibres = version[0] >= '5';
	free(version);
	return true;
}

/* Runs a story for each version that is there; skips it when none is. OCAMLOPT: instead of this
 * system's compiler. */
static void on_each(void **state, void (*story)(struct place *place))
{
	static const char *const releases[] = {"trixie", "bullseye"};
	struct place place = {.harness = harness_any(state)};
	bool any = false;

	if (find_compiler(&place)) {
		snprintf(place.directory, sizeof(place.directory), "%s", place.harness->directory);
		story(&place);
		any = true;
	} else {
		fprintf(stderr, "SKIPPED for OCaml 4: there is no %s (ocaml-nox)\n",
			place.compiler);
	}
	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
		if (!tree_has(releases[i], OCAMLOPT, place.root, sizeof(place.root))) {
			fprintf(stderr, "SKIPPED for Debian's %s (scripts/deps.sh %s)\n",
				releases[i], releases[i]);
			continue;
		}
		place.compiler = OCAMLOPT;
		place.fibres = i == 0;
		tree_directory(place.harness, place.root, "ocaml", place.directory,
			       sizeof(place.directory));
		story(&place);
		any = true;
	}
	if (!any)
		skip();
}

/* Returns the element of this runtime whose name begins with `start`, or NULL. */
static json_t *named(json_t *report, const char *list, const char *start)
{
	json_t *found;
	size_t i;

	json_array_foreach(json_object_get(report, list), i, found)
	{
		if (!strncmp(text_at(found, "name"), start, strlen(start)) &&
		    !strcmp(text_at(found, "module"), "ocaml"))
			return found;
	}
	return NULL;
}

static json_int_t count_of(json_t *report, const char *class)
{
	json_t *found = named(report, "classes", class);

	return found ? number_at(found, "count") : 0;
}

static void the_blocks_of_a_program_are_counted_as_it_counts_them(struct place *place)
{
	struct harness *harness = place->harness;
	struct child *target;
	json_t *truth, *report, *runtime;
	json_int_t blocks;

	compile(place, CENSUS, "census");
	target = start(place, "census", "leaking");
	truth = workload_ask(harness, target, "truth");
	report = RETAIN(harness, target, "--top", "0");
	runtime = walked_runtime_of(report, "ocaml");
	blocks = number_at(truth, "live_blocks");
	if (number_at(runtime, "objects") < blocks ||
	    number_at(runtime, "objects") > blocks + YOUNG_MAX)
		fail_msg("%lld blocks, not %lld", (long long)number_at(runtime, "objects"),
			 (long long)blocks);
	assert_int_equal(total_at(report, "unreachable", "bytes"), 0);
	assert_int_equal(count_of(report, "closure Feeds.fun_"), LEAKED);
	assert_int_equal(count_of(report, "partial application of Feeds.fun_"), 77);
	assert_int_equal(count_of(report, "exception Feeds.Broken"), 21);
	assert_int_equal(count_of(report, "custom _j"), 123);
	assert_int_equal(count_of(report, "float array"), LEAKED + 30 + 1);
}

/* Retained by nothing else, exact to the word. */
static void fields_of_modules_retain_what_the_program_reaches_by_them(struct place *place)
{
	static const char *const fields[][2] = {{"Feeds[0]", "Feeds[1]"},
						{"Feeds[1]", "Feeds[2]"},
						{"Feeds[2]", "Feeds[3]"},
						{"Feeds[3]", "Feeds[4]"}};
	struct harness *harness = place->harness;
	struct child *target;
	json_t *truth, *report, *root;

	compile(place, CENSUS, "census");
	target = start(place, "census", "leaking");
	truth = workload_ask(harness, target, "truth");
	report = RETAIN(harness, target, "--top", "0");
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		json_int_t words = number_at(json_object_get(truth, "reachable"), fields[i][0]);

		root = named(report, "roots", fields[i][1]);
		assert_non_null(root);
		assert_string_equal(text_at(root, "kind"), "managed");
		assert_int_equal(number_at(root, "retained_bytes"), words * WORD);
	}
}

/* The story: most of a server's heap is held by the functions of its finalisers. */
static void finalisers_that_hold_their_own_values_are_named(struct place *place)
{
	struct harness *harness = place->harness;
	struct child *target;
	json_t *truth, *report, *root;
	json_int_t feeds;

	compile(place, CENSUS, "census");
	target = start(place, "census", "leaking");
	truth = workload_ask(harness, target, "truth");
	assert_int_equal(number_at(truth, "open_feeds"), LEAKED);
	report = RETAIN(harness, target, "--top", "0", "--class", "float array");
	root = named(report, "roots", "finaliser Feeds.fun_");
	assert_non_null(root);
	assert_non_null(strstr(text_at(root, "name"), " × 1001"));
	feeds = LEAKED * number_at(truth, "feed_words") * WORD;
	assert_true(number_at(root, "retained_bytes") >= feeds);
	assert_true(number_at(root, "retained_bytes") * 100 >=
		    number_at(walked_runtime_of(report, "ocaml"), "bytes") * 92);
	root = json_object_get(json_array_get(json_object_get(report, "paths"), 0), "root");
	assert_int_equal(strncmp(text_at(root, "name"), "finaliser Feeds.fun_", 20), 0);
}

static void with_the_fix_finalisers_hold_nothing(struct place *place)
{
	struct harness *harness = place->harness;
	struct child *target;
	json_t *truth, *report;

	compile(place, CENSUS, "census");
	target = start(place, "census", "fixed");
	truth = workload_ask(harness, target, "truth");
	assert_int_equal(number_at(truth, "open_feeds"), 0);
	report = RETAIN(harness, target, "--top", "0");
	assert_null(named(report, "roots", "finaliser Feeds"));
	assert_null(named(report, "roots", "value that awaits finaliser Feeds"));
	assert_int_equal(count_of(report, "float array"), 30 + 1);
}

/* The linker leaves the names of OCaml's own in .dynsym; lists of finalisers are known by shape. */
static void a_stripped_program_is_read_as_well(struct place *place)
{
	struct harness *harness = place->harness;
	json_t *report;

	compile(place, CENSUS, "census");
	strip(place, "census");
	report = RETAIN(harness, start(place, "stripped", "leaking"), "--top", "0");
	walked_runtime_of(report, "ocaml");
	assert_int_equal(count_of(report, "closure Feeds.fun_"), LEAKED);
	assert_non_null(named(report, "roots", "Feeds[1]"));
	assert_non_null(named(report, "roots", "finaliser Feeds.fun_"));
}

/*
 * Continuations hold stacks, and those hold the blocks of their functions; pools of an ended domain
 * have no owner.
 */
static void suspended_tasks_and_domains_hold_their_blocks(struct place *place)
{
	struct harness *harness = place->harness;
	json_t *report, *path;

	if (!place->fibres)
		return;
	compile(place, "fibres.ml", "fibres");
	for (int stripped = 0; stripped < 2; stripped++) {
		struct child *target;

		if (stripped)
			strip(place, "fibres");
		target = start(place, stripped ? "stripped" : "fibres", "idle");
		report = RETAIN(harness, target, "--top", "0", "--class", "float array");
		walked_runtime_of(report, "ocaml");
		assert_int_equal(count_of(report, "float array"), TASKS);
		assert_int_equal(count_of(report, "continuation"), TASKS);
		assert_int_equal(count_of(report, "custom _j"), LEFT);
		assert_int_equal(count_of(report, "custom _i"), IDLE);
		assert_true(total_at(report, "unreachable", "bytes") <= STACK_CACHE);
		path = json_array_get(json_object_get(report, "paths"), 0);
		assert_string_equal(text_at(json_object_get(path, "root"), "name"), "Fibres[2]");
		assert_non_null(named(report, "roots", "stack of domain 1"));
	}
}

#define STORY(name)                                                                                \
	static void on_each_##name(void **state)                                                   \
	{                                                                                          \
		on_each(state, name);                                                              \
	}
STORY(the_blocks_of_a_program_are_counted_as_it_counts_them)
STORY(fields_of_modules_retain_what_the_program_reaches_by_them)
STORY(finalisers_that_hold_their_own_values_are_named)
STORY(with_the_fix_finalisers_hold_nothing)
STORY(a_stripped_program_is_read_as_well)
STORY(suspended_tasks_and_domains_hold_their_blocks)

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(on_each_the_blocks_of_a_program_are_counted_as_it_counts_them),
		e2e_test(on_each_fields_of_modules_retain_what_the_program_reaches_by_them),
		e2e_test(on_each_finalisers_that_hold_their_own_values_are_named),
		e2e_test(on_each_with_the_fix_finalisers_hold_nothing),
		e2e_test(on_each_a_stripped_program_is_read_as_well),
		e2e_test(on_each_suspended_tasks_and_domains_hold_their_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
