// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks that only numbers seem to point to are lost, in any program: Python with malloc's heap
 * below 4 GiB and above it, C at fixed addresses and at any.
 */
#include "retain_json.h"

#include <glob.h>
#include <unistd.h>

#define LOST 100000
#define KEPT 1000
#define PYTHON_LOST 50000

static json_t *class_of_size(json_t *report, json_int_t size)
{
	json_t *class;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (!strcmp(text_at(class, "kind"), "size") && number_at(class, "size") == size)
			return class;
	}
	fail_msg("no class of %d bytes", (int)size);
	return NULL;
}

static json_int_t blocks_at(json_t *class, const char *verdict)
{
	return number_at(json_object_get(class, verdict), "blocks");
}

/*
 * The program may have a few other blocks of that size, malloc may have given a few larger ones,
 * and uninitialised memory in C may contain the address of an early one, which leads to the older
 * ones.
 */
#define OTHERS 600

static void expect_lists(json_t *report, json_int_t lost)
{
	json_t *class = class_of_size(report, 200);

	if (blocks_at(class, "held") > OTHERS)
		fail_msg("%d of %d lost blocks are held", (int)blocks_at(class, "held"), (int)lost);
	assert_true(blocks_at(class, "unreachable") + blocks_at(class, "untracked") >=
		    lost - OTHERS);
	assert_true(total_at(report, "lost", "blocks") >= lost - OTHERS);
	class = class_of_size(report, 312);
	assert_true(blocks_at(class, "held") >= KEPT);
}

static void programs_in_c_hold_nothing_by_numbers(void **state)
{
	static const char *const programs[] = {"numbers", "numbers_fixed"};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct child *target = workload_start(harness, programs[i], ARGUMENTS(programs[i]));
		json_t *report = RETAIN(harness, target, "--top", "0");

		expect_lists(report, LOST);
		assert_int_equal(blocks_at(class_of_size(report, 200), "held"), 0);
		assert_int_equal(blocks_at(class_of_size(report, 312), "held"), KEPT);
	}
}

static void expect_python(struct harness *harness, const char *path)
{
	static const char *const argv[] = {"python3", "tests/runtimes/lost_list.py", "50000",
					   "1000", NULL};
	struct child *target = start_ready(harness, path, argv, NULL);
	json_t *report = RETAIN(harness, target, "--top", "0"), *root;
	json_int_t kept = 0;
	size_t i;

	expect_lists(report, PYTHON_LOST);
	json_array_foreach(json_object_get(report, "roots"), i, root)
	{
		if (!strcmp(text_at(root, "name"), "module __main__ → kept"))
			kept = number_at(root, "led_blocks");
	}
	assert_true(kept >= KEPT);
}

static void pythons_hold_nothing_by_bytecode_and_hashes(void **state)
{
	struct harness *harness = harness_any(state);
	const char *home = getenv("HOME");
	char pattern[512];
	glob_t found;

	if (access("/usr/bin/python3", X_OK))
		skip();
	expect_python(harness, "/usr/bin/python3");
	snprintf(pattern, sizeof(pattern), "%s/.pyenv/versions/3.*/bin/python3", home ? home : "");
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		/* 3.8 and older are not read. */
		if (!strstr(found.gl_pathv[i], "/3.6.") && !strstr(found.gl_pathv[i], "/3.7.") &&
		    !strstr(found.gl_pathv[i], "/3.8."))
			expect_python(harness, found.gl_pathv[i]);
	}
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(programs_in_c_hold_nothing_by_numbers),
		e2e_test(pythons_hold_nothing_by_bytecode_and_hashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
