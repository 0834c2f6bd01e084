// SPDX-License-Identifier: GPL-2.0-or-later
/* The path shown is the one that a person would draw. */
#include "retain_json.h"

/* To the class of which there is most. */
static json_t *first_path(json_t *report)
{
	json_t *path = json_array_get(json_object_get(report, "paths"), 0);

	assert_non_null(path);
	return path;
}

static json_t *root_of(json_t *path)
{
	return json_object_get(path, "root");
}

static json_t *root_named(json_t *report, const char *name)
{
	json_t *root;
	size_t i;

	json_array_foreach(json_object_get(report, "roots"), i, root)
	{
		if (!strcmp(text_at(root, "name"), name))
			return root;
	}
	fail_msg("no root %s", name);
	return NULL;
}

/* Fourteen steps through an unrelated chain are not a holder. */
static void a_local_of_main_holds_what_a_chain_of_globals_reaches_too(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "plain_paths", "local");
	json_t *report = RETAIN(harness, target), *path = first_path(report),
	       *steps = json_object_get(path, "steps");

	assert_int_equal(total_at(report, "unreachable", "blocks"), 0);
	assert_string_equal(text_at(root_of(path), "kind"), "stack");
	assert_string_equal(text_at(root_of(path), "name"), "main");
	assert_in_range(json_array_size(steps), 2, 3);
	assert_int_equal(number_at(json_array_get(steps, 0), "size"), 24);
	assert_int_equal(number_at(root_named(report, "last_error"), "led_blocks"), 12);
	/* The chain is a second way to the list, and the list none to the chain. */
	assert_int_equal(number_at(root_named(report, "last_error"), "retained_blocks"), 12);
}

/* The common source of all links is their allocator. */
static void a_queue_holds_its_messages_and_the_pool_of_links_does_not(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "plain_paths", "pool");
	json_t *report = RETAIN(harness, target), *path = first_path(report),
	       *steps = json_object_get(path, "steps"), *root = root_named(report, "bus");

	assert_string_equal(text_at(root_of(path), "kind"), "global");
	assert_string_equal(text_at(root_of(path), "name"), "bus");
	assert_int_equal(json_array_size(steps), 4);
	/* connections[2], outgoing */
	assert_int_equal(number_at(json_array_get(steps, 1), "offset"), 16);
	assert_int_equal(number_at(json_array_get(steps, 2), "offset"), 8);
	assert_int_equal(number_at(json_object_get(path, "pile"), "many"), 200);
	/* bus, four connections, the links, the messages */
	assert_int_equal(number_at(root, "retained_blocks"), 206);
	assert_int_equal(number_at(root, "led_blocks"), 206);
}

/* Chunks point to each other: the obstack also reaches all symbols. */
static void a_table_holds_its_symbols_and_the_obstack_does_not(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "plain_paths", "obstack");
	json_t *report = RETAIN(harness, target), *path = first_path(report);

	assert_int_equal(total_at(report, "unreachable", "blocks"), 0);
	assert_string_equal(text_at(root_of(path), "kind"), "global");
	assert_string_equal(text_at(root_of(path), "name"), "table");
	assert_int_equal(number_at(json_array_get(json_object_get(path, "steps"), 0), "size"), 520);
}

/* The parent of a talloc block is less useful than a pointer of the program. */
static void a_pointer_holds_a_message_and_its_parent_in_talloc_does_not(void **state)
{
	struct harness *harness = harness_any(state);
	json_t *report, *path, *steps;
	struct child *target;

	if (access("/usr/lib/x86_64-linux-gnu/libtalloc.so.2", R_OK))
		skip();
	target = WORKLOAD(harness, "plain_paths", "talloc");
	report = RETAIN(harness, target);
	path = first_path(report);
	steps = json_object_get(path, "steps");
	assert_string_equal(text_at(root_of(path), "name"), "served");
	/* The path includes the header's word that points to the parent. */
	assert_int_equal(number_at(json_object_get(path, "pile"), "many"), 201);
	assert_int_equal(json_array_size(steps), 3);
}

#define OWNED 1000 /* of each class: tests/workloads/owners.cc */
/* Objects and their names; three containers have a node or a counter for each. */
#define LOST_OWNED (4 * 2 * OWNED + 3 * OWNED + 4)

static json_t *class_named(json_t *report, const char *name)
{
	json_t *class;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (!strcmp(text_at(class, "name"), name))
			return class;
	}
	fail_msg("no class %s", name);
	return NULL;
}

static json_int_t blocks_of(json_t *report, const char *class, const char *verdict)
{
	return number_at(json_object_get(class_named(report, class), verdict), "blocks");
}

static void expect_owners(struct harness *harness, const char *program)
{
	static const struct {
		const char *class, *kind, *root;
	} owners[] = {
		{"OfMap", "global", "by_name"},	      {"OfStatic", "global", "registry()::objects"},
		{"OfLocal", "stack", "main"},	      {"OfShared", "global", "by_number"},
		{"OfClosure", "global", "callbacks"}, {"OfThread", "thread-local", "of_thread"},
		{"OfMember", "global", "server"},
	};
	static const char *const lost[] = {"LostList", "LostMap", "LostCycle", "LostVector"};
	struct child *target = WORKLOAD(harness, program);
	json_t *report = RETAIN(harness, target, "--top", "0");

	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
		assert_int_equal(blocks_of(report, lost[i], "held"), 0);
	assert_int_equal(total_at(report, "lost", "blocks"), LOST_OWNED);
	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		json_t *path;

		assert_int_equal(blocks_of(report, owners[i].class, "held"), OWNED);
		path = first_path(RETAIN(harness, target, "--class", owners[i].class));
		assert_string_equal(text_at(json_object_get(path, "class"), "name"),
				    owners[i].class);
		assert_string_equal(text_at(root_of(path), "kind"), owners[i].kind);
		assert_string_equal(text_at(root_of(path), "name"), owners[i].root);
	}
}

/* At any address, and at fixed ones with malloc's heap below 4 GiB, where numbers look like
 * addresses. */
static void objects_of_cpp_have_their_true_holder_or_none(void **state)
{
	expect_owners(harness_any(state), "owners");
	expect_owners(harness_any(state), "owners_fixed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_local_of_main_holds_what_a_chain_of_globals_reaches_too),
		e2e_test(a_queue_holds_its_messages_and_the_pool_of_links_does_not),
		e2e_test(a_table_holds_its_symbols_and_the_obstack_does_not),
		e2e_test(a_pointer_holds_a_message_and_its_parent_in_talloc_does_not),
		e2e_test(objects_of_cpp_have_their_true_holder_or_none),
	};

	return cmocka_run_group_tests_name("e2e_retain_paths", tests, NULL, NULL);
}
