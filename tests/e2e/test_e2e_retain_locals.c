// SPDX-License-Identifier: GPL-2.0-or-later
/* Thread-locals that hold blocks are roots by name, in whichever way their module came. */
#include "retain_json.h"

static const char *directory(void)
{
	const char *workloads = getenv("LEAKMON_WORKLOADS");

	return workloads ? workloads : "build/workloads";
}

static bool ends_with(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, name);
}

/* The thread-local of that name and module; there must not be two. */
static json_t *find_local(json_t *report, json_t *local)
{
	json_t *root, *found = NULL;
	size_t i;

	json_array_foreach(json_object_get(report, "roots"), i, root)
	{
		if (strcmp(text_at(root, "kind"), "thread-local") != 0 ||
		    strcmp(text_at(root, "name"), text_at(local, "name")) != 0 ||
		    !ends_with(text_at(root, "module"), text_at(local, "module")))
			continue;
		if (found)
			fail_msg("%s is there twice", text_at(local, "name"));
		found = root;
	}
	return found;
}

static void expect_local(json_t *report, json_t *local)
{
	json_int_t blocks = number_at(local, "blocks");
	json_t *root = find_local(report, local);

	if (!root)
		fail_msg("no root %s of %s", text_at(local, "name"), text_at(local, "module"));
	print_message("  %-28s %-26s %lld threads %lld blocks\n", text_at(local, "name"),
		      text_at(local, "module"), number_at(root, "threads"),
		      number_at(root, "led_blocks"));
	assert_int_equal(number_at(root, "threads"), number_at(local, "threads"));
	assert_int_equal(number_at(root, "led_blocks"), blocks);
	assert_int_equal(number_at(root, "led_bytes"), blocks * number_at(local, "size"));
	assert_int_equal(number_at(root, "retained_bytes"), blocks * number_at(local, "size"));
}

static void expect_locals(struct harness *harness, struct child *target, size_t count)
{
	json_t *report, *local;
	size_t i;

	workload_do(harness, target, "go");
	report = RETAIN(harness, target);
	assert_int_equal(total_at(report, "unreachable", "blocks"), 0);
	json_array_foreach(json_object_get(workload_ask(harness, target, "truth"), "locals"), i,
			   local) expect_local(report, local);
	assert_int_equal(i, count);
}

static void a_thread_local_is_one_root_by_name_over_all_threads(void **state)
{
	struct harness *harness = harness_any(state);

	expect_locals(harness, WORKLOAD(harness, "locals", directory()), 14);
}

/* No C library's descriptors, yet the place of the block is known. */
static void a_static_program_s_thread_locals_have_names_too(void **state)
{
	struct harness *harness = harness_any(state);

	expect_locals(harness, WORKLOAD(harness, "alone_static"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_thread_local_is_one_root_by_name_over_all_threads),
		e2e_test(a_static_program_s_thread_locals_have_names_too),
	};

	return cmocka_run_group_tests_name("e2e_retain_locals", tests, NULL, NULL);
}
