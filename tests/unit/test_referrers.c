// SPDX-License-Identifier: GPL-2.0-or-later
/* The tree of a class's referrers, from handmade shortest paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "base/cleanup.h"
#include "heap/retain/referrers.h"

enum { ITEM, LIST, CLOSURE, ACTION, CLASSES };
#define BLOCKS 64

struct scene {
	struct heap_graph graph;
	struct classes classes;
	struct retention retention;
	struct path_maker maker;
	struct block_class list[CLASSES];
	uint64_t sizes[BLOCKS];
	uint32_t parents[BLOCKS], of_blocks[BLOCKS];
	uint32_t used;
};

static void scene_make(struct scene *scene)
{
	*scene = (struct scene){0};
	for (uint32_t i = 0; i < BLOCKS; i++) {
		scene->parents[i] = GRAPH_NONE;
		scene->sizes[i] = 10;
		scene->of_blocks[i] = CLASSES - 1;
	}
	scene->graph = (struct heap_graph){.blocks = BLOCKS, .sizes = scene->sizes};
	scene->classes = (struct classes){.list = {scene->list, CLASSES, CLASSES},
					  .of_blocks = scene->of_blocks};
	scene->retention = (struct retention){.blocks = BLOCKS, .parents = scene->parents};
	scene->maker = (struct path_maker){
		.graph = &scene->graph, .classes = &scene->classes, .retention = &scene->retention};
}

/* A block of a class that another block, or a root, holds. Returns its number. */
static uint32_t block(struct scene *scene, uint32_t class, uint32_t parent)
{
	uint32_t number = scene->used++;

	scene->of_blocks[number] = class;
	scene->parents[number] = parent;
	scene->list[class].verdicts[VERDICT_HELD].blocks++;
	return number;
}

#define ROOT(group) (BLOCKS + (group))

static void expect_row(const struct referrer_tree *tree, size_t i, uint32_t depth, uint32_t class,
		       uint64_t blocks, uint64_t least, uint64_t most)
{
	const struct retained_referrer *row = &tree->rows.items[i];

	assert_true(i < tree->rows.count);
	assert_int_equal(row->depth, depth);
	assert_int_equal(row->root, RESULT_NONE);
	assert_int_equal(row->classes[0], class);
	assert_int_equal(row->blocks, blocks);
	assert_int_equal(row->least, least);
	assert_int_equal(row->most, most);
}

static void expect_root_row(const struct referrer_tree *tree, size_t i, uint32_t depth,
			    uint32_t group)
{
	assert_true(i < tree->rows.count);
	assert_int_equal(tree->rows.items[i].depth, depth);
	assert_int_equal(tree->rows.items[i].root, group);
	assert_int_equal(tree->rows.items[i].period, 0);
}

static void branches_come_with_their_counts_the_greatest_first(void **state)
{
	struct referrer_tree tree = {0};
	struct scene scene;
	uint32_t list;

	(void)state;
	scene_make(&scene);
	block(&scene, ITEM, ROOT(3));
	list = block(&scene, LIST, ROOT(7));
	for (int i = 0; i < 4; i++)
		block(&scene, ITEM, list);
	assert_int_equal(referrers_find(&scene.maker, ITEM, &tree), 0);
	assert_int_equal(tree.held, 5);
	assert_int_equal(tree.sampled, 5);
	assert_int_equal(tree.rows.count, 4);
	expect_row(&tree, 0, 0, ITEM, 5, 1, 1);
	expect_row(&tree, 1, 1, LIST, 4, 1, 1);
	assert_int_equal(tree.rows.items[1].bytes, 40);
	expect_root_row(&tree, 2, 2, 7);
	expect_root_row(&tree, 3, 1, 3);
	vec_free(&tree.rows);
}

/* Lists of two lengths: one row. */
static void a_chain_is_one_element_with_its_length(void **state)
{
	struct referrer_tree tree = {0};
	struct scene scene;
	uint32_t last = ROOT(0);

	(void)state;
	scene_make(&scene);
	for (int i = 0; i < 9; i++) {
		last = block(&scene, LIST, last);
		if (i == 4 || i == 8)
			block(&scene, ITEM, last);
	}
	assert_int_equal(referrers_find(&scene.maker, ITEM, &tree), 0);
	assert_int_equal(tree.rows.count, 3);
	expect_row(&tree, 1, 1, LIST, 2, 5, 9);
	expect_root_row(&tree, 2, 2, 0);
	vec_free(&tree.rows);
}

/* Like continuations that await each other. */
static void classes_that_repeat_in_turn_are_one_element(void **state)
{
	struct referrer_tree tree = {0};
	struct scene scene;
	uint32_t last = ROOT(0);

	(void)state;
	scene_make(&scene);
	for (int i = 0; i < 7; i++)
		last = block(&scene, CLOSURE, block(&scene, ACTION, last));
	block(&scene, ITEM, last);
	assert_int_equal(referrers_find(&scene.maker, ITEM, &tree), 0);
	assert_int_equal(tree.rows.count, 3);
	expect_row(&tree, 1, 1, CLOSURE, 1, 7, 7);
	assert_int_equal(tree.rows.items[1].period, 2);
	assert_int_equal(tree.rows.items[1].classes[1], ACTION);
	vec_free(&tree.rows);
}

static void what_nothing_holds_has_no_tree(void **state)
{
	struct referrer_tree tree = {0};
	struct scene scene;

	(void)state;
	scene_make(&scene);
	block(&scene, ITEM, GRAPH_NONE);
	assert_int_equal(referrers_find(&scene.maker, ITEM, &tree), -ENOENT);
	assert_null(tree.rows.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branches_come_with_their_counts_the_greatest_first),
		cmocka_unit_test(a_chain_is_one_element_with_its_length),
		cmocka_unit_test(classes_that_repeat_in_turn_are_one_element),
		cmocka_unit_test(what_nothing_holds_has_no_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
