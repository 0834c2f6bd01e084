// SPDX-License-Identifier: GPL-2.0-or-later
/* The path that a person would draw: each case has two roots that reach one block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/retain/path_costs.h"

#define BLOCKS 12
#define GROUPS 2
#define NODES (BLOCKS + GROUPS + 1)
#define EDGES 64

enum managed { OBJECT, CLASS };

/* A pointer: from a block or, beyond these, a group. */
struct link {
	uint32_t from, to, place;
	bool inside;
};

struct scene {
	struct heap_graph graph;
	struct root_groups groups;
	struct classes classes;
	uint32_t first[NODES + 1], targets[EDGES], places[EDGES], whats[BLOCKS], kinds[BLOCKS],
		word_groups[EDGES];
	uint8_t own_words[BLOCKS];
	uint64_t sizes[BLOCKS];
	struct root_word words[EDGES];
	struct root_group list[GROUPS];
	struct managed_class managed[2];
	const char *names[1];
	uint32_t namespaces[1];
};

static void scene_init(struct scene *scene)
{
	*scene = (struct scene){.managed = {{.runtime = "x"}, {.runtime = "x", .describes = true}},
				.names = {"<class>"}};
	for (uint32_t i = 0; i < BLOCKS; i++) {
		scene->whats[i] = NODE_PLAIN;
		scene->kinds[i] = i;
		scene->sizes[i] = 8;
	}
	scene->graph = (struct heap_graph){.blocks = BLOCKS,
					   .sizes = scene->sizes,
					   .places = scene->places,
					   .own_words = scene->own_words,
					   .graph = {NODES, scene->first, scene->targets},
					   .roots = {scene->words, 0, EDGES}};
	scene->graph.managed.whats = scene->whats;
	scene->graph.managed.classes.items = scene->managed;
	scene->graph.managed.classes.count = 2;
	scene->graph.managed.names.items = scene->names;
	scene->graph.managed.names.count = 1;
	scene->graph.managed.namespaces.items = scene->namespaces;
	scene->groups = (struct root_groups){.list = {scene->list, GROUPS, GROUPS},
					     .word_groups = scene->word_groups,
					     .strong = GROUPS,
					     .lasting = GROUPS};
	scene->classes.of_blocks = scene->kinds;
	for (size_t i = 0; i < GROUPS; i++)
		scene->list[i] = (struct root_group){.kind = ROOT_GLOBAL, .name = "variable"};
}

/* Links by ascending source. */
static void scene_link(struct scene *scene, const struct link *links, size_t count)
{
	uint32_t edges = 0;

	for (uint32_t i = 0; i < NODES; i++) {
		scene->first[i] = edges;
		for (size_t j = 0; j < count; j++) {
			if (links[j].from != i)
				continue;
			scene->targets[edges] = links[j].to;
			scene->places[edges++] =
				links[j].place | (links[j].inside ? EDGE_INSIDE : 0);
			if (i < BLOCKS)
				continue;
			scene->word_groups[scene->graph.roots.count] = i - BLOCKS;
			scene->words[scene->graph.roots.count++] = (struct root_word){
				.target = links[j].to, .inside = links[j].inside};
		}
	}
	for (uint32_t i = 0; i < GROUPS; i++)
		scene->targets[edges++] = BLOCKS + i;
	scene->first[NODES] = edges;
}

static void scene_compute(struct scene *scene, struct retention *retention)
{
	_cleanup_(path_costs_free) struct path_costs costs = {0};
	struct retention_nodes nodes = {.blocks = BLOCKS,
					.strong = scene->groups.strong,
					.lasting = scene->groups.lasting,
					.staying = scene->groups.staying,
					.costs = &costs.retention};

	assert_int_equal(path_costs_find(&scene->graph, &scene->groups, &scene->classes, &costs),
			 0);
	assert_int_equal(retention_compute(&scene->graph.graph, scene->sizes, &nodes, retention),
			 0);
}

static uint32_t root_of(const struct retention *retention, uint32_t block)
{
	uint32_t node = block;

	while (node < BLOCKS)
		node = retention->parents[node];
	return node - BLOCKS;
}

static void expect_root(struct scene *scene, uint32_t block, uint32_t root)
{
	struct retention retention = {0};

	scene_compute(scene, &retention);
	assert_int_equal(root_of(&retention, block), root);
	retention_free(&retention);
}

/* A global reaches block 9 through nine others, the second group through block 10. */
static const struct link long_and_short[] = {
	{0, 1, 0, false},  {1, 2, 1, false},  {2, 3, 2, false},	 {3, 4, 3, false},
	{4, 5, 4, false},  {5, 6, 5, false},  {6, 7, 6, false},	 {7, 9, 7, false},
	{10, 9, 0, false}, {12, 0, 0, false}, {13, 10, 0, false}};

static void a_frame_that_stays_is_as_good_as_a_global(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.list[1] = (struct root_group){.kind = ROOT_STACK, .name = "main", .stays = true};
	scene.groups.lasting = scene.groups.staying = 1;
	scene_link(&scene, long_and_short, ARRAY_SIZE(long_and_short));
	expect_root(&scene, 9, 1);
}

/* The same variable in the frame of a function that will return: five steps are better. */
static void a_frame_that_goes_is_worse_than_a_global_a_few_steps_farther(void **state)
{
	static const struct link near[] = {{0, 1, 0, false},  {1, 2, 1, false},
					   {2, 9, 2, false},  {10, 9, 0, false},
					   {12, 0, 0, false}, {13, 10, 0, false}};
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.list[1] = (struct root_group){.kind = ROOT_STACK, .name = "handle_request"};
	scene.groups.lasting = 1;
	scene_link(&scene, near, ARRAY_SIZE(near));
	expect_root(&scene, 9, 0);
}

/* Both lead to block 9 directly. */
static const struct link side_by_side[] = {{12, 9, 0, false}, {13, 9, 0, false}};

static void of_two_ways_that_are_as_long_the_plainer_root_is_shown(void **state)
{
	static const struct root_group better[] = {
		{.kind = ROOT_GLOBAL, .name = "cache"},
		{.kind = ROOT_GLOBAL},
		{.kind = ROOT_THREAD_LOCAL, .name = "current", .module = "a.so"},
		{.kind = ROOT_RUNTIME, .name = "module app"},
		{.kind = ROOT_STACK, .name = "main", .stays = true},
		{.kind = ROOT_REGISTER, .name = "rbx", .stays = true},
		{.kind = ROOT_STACK, .name = "handle"},
		{.kind = ROOT_GLOBAL, .name = "cache"},
	};
	static const struct root_group worse[] = {
		{.kind = ROOT_GLOBAL},
		{.kind = ROOT_THREAD_LOCAL, .name = "struct pthread"},
		{.kind = ROOT_STACK, .name = "main", .stays = true},
		{.kind = ROOT_RUNTIME, .name = "frame", .rank = MANAGED_PASSING},
		{.kind = ROOT_REGISTER, .name = "rbx", .stays = true},
		{.kind = ROOT_STACK, .name = "handle"},
		{.kind = ROOT_STACK},
		{.kind = ROOT_GLOBAL, .name = "je_arenas"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(better); i++) {
		struct scene scene;

		scene_init(&scene);
		scene.list[0] = worse[i];
		scene.list[1] = better[i];
		scene_link(&scene, side_by_side, ARRAY_SIZE(side_by_side));
		expect_root(&scene, 9, 1);
	}
}

static void the_start_of_a_block_is_plainer_than_its_middle(void **state)
{
	static const struct link links[] = {{12, 9, 0, true}, {13, 9, 0, false}};
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene_link(&scene, links, ARRAY_SIZE(links));
	expect_root(&scene, 9, 1);
}

/*
 * A pool at 9, from which block 8 was handed out a link: the first group has all of it; the second
 * group leads to one of its parts by two structures.
 */
static void a_pool_is_the_allocator_of_what_others_reach_through_it(void **state)
{
	static const struct link links[] = {{0, 1, 0, false},
					    {1, 9, 1, true},
					    {9, 8, 7, false},
					    {12, 9, 0, false},
					    {13, 0, 0, false}};
	struct retention retention = {0};
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene_link(&scene, links, ARRAY_SIZE(links));
	expect_root(&scene, 8, 0);
	scene.own_words[9] = POOL_WORDS;
	expect_root(&scene, 8, 1);

	/* Nor is it a second holder. */
	scene_compute(&scene, &retention);
	assert_int_equal(retention.retained_blocks[1], 4);
	assert_int_equal(retention.retained_blocks[0], 0);
	retention_free(&retention);
}

/* Without another way, it is the best answer. */
static void a_pool_that_nobody_else_reaches_is_held_by_its_variable(void **state)
{
	static const struct link links[] = {{9, 8, 7, false}, {12, 9, 0, false}};
	struct retention retention = {0};
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.own_words[9] = POOL_WORDS;
	scene_link(&scene, links, ARRAY_SIZE(links));
	scene_compute(&scene, &retention);
	assert_int_equal(root_of(&retention, 8), 0);
	assert_int_equal(retention.retained_blocks[0], 2);
	retention_free(&retention);
}

#define NAMED (EDGE_LABELLED | LABEL_INDEX << LABEL_VALUE_BITS)
#define CLASS_LABEL (EDGE_LABELLED | LABEL_ATTRIBUTE << LABEL_VALUE_BITS)

/* Objects 0 (of a second root) and 1 lead to their class 9, which leads to a table 8 that only the
 * first root names. */
static void an_object_does_not_hold_what_is_static_in_its_class(void **state)
{
	static const uint32_t class_links[] = {EDGE_LABELLED, CLASS_LABEL};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(class_links); i++) {
		const struct link links[] = {{0, 9, class_links[i], false},
					     {9, 8, NAMED, false},
					     {12, 9, 0, false},
					     {13, 0, 0, false}};
		struct retention retention = {0};
		struct scene scene;

		scene_init(&scene);
		scene.whats[0] = scene.whats[8] = OBJECT;
		scene.whats[9] = CLASS;
		scene.list[0].kind = scene.list[1].kind = ROOT_RUNTIME;
		scene_link(&scene, links, ARRAY_SIZE(links));
		scene_compute(&scene, &retention);
		assert_int_equal(retention.retained_blocks[0], 2);
		assert_int_equal(retention.retained_blocks[1], 1);
		retention_free(&retention);
	}
}

/* Object 9 is a variable of the module whose namespace is 0: the second root leads to all of it. */
static void a_namespace_is_no_second_holder_of_its_variables(void **state)
{
	static const struct link links[] = {
		{0, 9, NAMED, false}, {12, 9, 0, false}, {13, 0, 0, false}};
	struct retention retention = {0};
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.whats[0] = scene.whats[9] = OBJECT;
	scene.list[0].kind = scene.list[1].kind = ROOT_RUNTIME;
	scene.graph.managed.namespaces.count = 1;
	scene_link(&scene, links, ARRAY_SIZE(links));
	scene_compute(&scene, &retention);
	assert_int_equal(root_of(&retention, 9), 0);
	assert_int_equal(retention.retained_blocks[0], 1);
	assert_int_equal(retention.retained_blocks[1], 1);
	retention_free(&retention);
}

/* A stack has a word of object 9 left over; a variable leads there by eight names. */
static void what_a_language_names_comes_before_words(void **state)
{
	struct link links[ARRAY_SIZE(long_and_short)];
	struct scene scene;

	(void)state;
	scene_init(&scene);
	memcpy(links, long_and_short, sizeof(links));
	for (size_t i = 0; i < ARRAY_SIZE(links) - 2; i++)
		links[i].place = NAMED;
	for (size_t i = 0; i < 10; i++)
		scene.whats[i] = OBJECT;
	scene.list[0].kind = ROOT_RUNTIME;
	scene.list[1] = (struct root_group){.kind = ROOT_STACK, .name = "main", .stays = true};
	links[ARRAY_SIZE(links) - 1].to = 9;
	scene_link(&scene, links, ARRAY_SIZE(links));
	expect_root(&scene, 9, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_that_stays_is_as_good_as_a_global),
		cmocka_unit_test(a_frame_that_goes_is_worse_than_a_global_a_few_steps_farther),
		cmocka_unit_test(of_two_ways_that_are_as_long_the_plainer_root_is_shown),
		cmocka_unit_test(the_start_of_a_block_is_plainer_than_its_middle),
		cmocka_unit_test(a_pool_is_the_allocator_of_what_others_reach_through_it),
		cmocka_unit_test(a_pool_that_nobody_else_reaches_is_held_by_its_variable),
		cmocka_unit_test(an_object_does_not_hold_what_is_static_in_its_class),
		cmocka_unit_test(a_namespace_is_no_second_holder_of_its_variables),
		cmocka_unit_test(what_a_language_names_comes_before_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
