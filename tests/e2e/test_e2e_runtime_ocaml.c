// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks of OCaml programs, against what the programs' own runtime says of them (Gc.stat,
 * Obj.reachable_words: tests/runtimes/ocaml). They are compiled here; without ocamlopt there is
 * nothing to test. No BPF is needed.
 */
#include "retain_json.h"
#include "shell.h"

#include <unistd.h>

#define OCAMLOPT "/usr/bin/ocamlopt"
#define STRIP "/usr/bin/strip"
#define SOURCES "tests/runtimes/ocaml"
#define WORD 8
#define LEAKED 501
/* A minor heap that was just emptied has what asked for the truth. */
#define YOUNG_MAX 200

static void compile(struct harness *harness)
{
	if (access(OCAMLOPT, X_OK)) {
		fprintf(stderr, "SKIPPED, nothing was tested: there is no %s (ocaml-nox)\n",
			OCAMLOPT);
		skip();
	}
	free(shell(harness, 0, "cp %s/*.ml %s && cd %s && %s -g feeds.ml census.ml -o census",
		   SOURCES, harness->directory, harness->directory, OCAMLOPT));
}

static struct child *start(struct harness *harness, const char *mode)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/census", harness->directory);
	return start_ready(harness, path, ARGUMENTS("census", mode), NULL);
}

/* The one with a name that begins so, and of this runtime; NULL: there is none. */
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

static void the_blocks_of_a_program_are_counted_as_it_counts_them(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;
	json_t *truth, *report, *runtime;
	json_int_t blocks;

	compile(harness);
	target = start(harness, "leaking");
	truth = workload_ask(harness, target, "truth");
	report = RETAIN(harness, target, "--top", "0");
	runtime = walked_runtime_of(report, "ocaml");
	blocks = number_at(truth, "live_blocks");
	if (number_at(runtime, "objects") < blocks ||
	    number_at(runtime, "objects") > blocks + YOUNG_MAX)
		fail_msg("%lld blocks, not %lld", (long long)number_at(runtime, "objects"),
			 (long long)blocks);
	assert_int_equal(
		number_at(json_object_get(json_object_get(report, "totals"), "unreachable"),
			  "bytes"),
		0);
	assert_int_equal(count_of(report, "closure Feeds.fun_"), LEAKED);
	assert_int_equal(count_of(report, "partial application of Feeds.fun_"), 77);
	assert_int_equal(count_of(report, "exception Feeds.Broken"), 21);
	assert_int_equal(count_of(report, "custom _j"), 123);
	assert_int_equal(count_of(report, "float array"), LEAKED + 30 + 1);
}

/* What nothing else holds, to the word. */
static void fields_of_modules_retain_what_the_program_reaches_by_them(void **state)
{
	static const char *const fields[][2] = {
		{"Feeds[0]", "Feeds[1]"}, {"Feeds[2]", "Feeds[3]"}, {"Feeds[3]", "Feeds[4]"}};
	struct harness *harness = harness_any(state);
	struct child *target;
	json_t *truth, *report, *root;

	compile(harness);
	target = start(harness, "leaking");
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
static void finalisers_that_hold_their_own_values_are_named(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;
	json_t *truth, *report, *root;
	json_int_t feeds;

	compile(harness);
	target = start(harness, "leaking");
	truth = workload_ask(harness, target, "truth");
	assert_int_equal(number_at(truth, "open_feeds"), LEAKED);
	report = RETAIN(harness, target, "--top", "0", "--class", "float array");
	root = named(report, "roots", "finaliser Feeds.fun_");
	assert_non_null(root);
	assert_non_null(strstr(text_at(root, "name"), " × 501"));
	feeds = LEAKED * number_at(truth, "feed_words") * WORD;
	assert_true(number_at(root, "retained_bytes") >= feeds);
	assert_true(number_at(root, "retained_bytes") * 100 >=
		    number_at(walked_runtime_of(report, "ocaml"), "bytes") * 92);
	root = json_object_get(json_array_get(json_object_get(report, "paths"), 0), "root");
	assert_int_equal(strncmp(text_at(root, "name"), "finaliser Feeds.fun_", 20), 0);
}

static void with_the_fix_finalisers_hold_nothing(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;
	json_t *truth, *report;

	compile(harness);
	target = start(harness, "fixed");
	truth = workload_ask(harness, target, "truth");
	assert_int_equal(number_at(truth, "open_feeds"), 0);
	report = RETAIN(harness, target, "--top", "0");
	assert_null(named(report, "roots", "finaliser Feeds"));
	assert_null(named(report, "roots", "value that awaits finaliser Feeds"));
	assert_int_equal(count_of(report, "float array"), 30 + 1);
}

/* The linker leaves the names of OCaml's own in .dynsym: only finalisers have none then. */
static void a_stripped_program_is_read_as_well(void **state)
{
	struct harness *harness = harness_any(state);
	json_t *report;

	compile(harness);
	if (access(STRIP, X_OK))
		skip();
	free(shell(harness, 0, "%s %s/census", STRIP, harness->directory));
	report = RETAIN(harness, start(harness, "leaking"), "--top", "0");
	walked_runtime_of(report, "ocaml");
	assert_int_equal(count_of(report, "closure Feeds.fun_"), LEAKED);
	assert_non_null(named(report, "roots", "Feeds[1]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(the_blocks_of_a_program_are_counted_as_it_counts_them),
		e2e_test(fields_of_modules_retain_what_the_program_reaches_by_them),
		e2e_test(finalisers_that_hold_their_own_values_are_named),
		e2e_test(with_the_fix_finalisers_hold_nothing),
		e2e_test(a_stripped_program_is_read_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
