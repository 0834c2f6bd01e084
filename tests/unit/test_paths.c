// SPDX-License-Identifier: GPL-2.0-or-later
/* Paths from a variable to the blocks of a table, when some blocks are not known to be held. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/retain/path_costs.h"
#include "heap/retain/paths.h"

/*
 * Blocks 0 to 3: a table, two blocks that it points to, one unreachable. Node 4 is the variable
 * that points to the table, node 5 points to all roots.
 */
#define BLOCKS 4
#define NODES 6
static uint32_t first[NODES + 1] = {0, 2, 2, 2, 2, 3, 4};
static uint32_t targets[] = {1, 2, 0, 4};
static uint32_t places[] = {0, 3, 0, 0};
static uint64_t sizes[BLOCKS] = {64, 24, 24, 24};
static uint32_t of_blocks[BLOCKS] = {0, 1, 1, 1};
static struct block_class class_list[2];
static struct root_group group_list[1] = {{.kind = ROOT_GLOBAL, .address = 0x1000}};
static struct root_word word_list[1] = {{.address = 0x1008, .target = 0}};
static uint32_t word_groups[1];

struct scene {
	struct heap_graph graph;
	struct root_groups groups;
	struct classes classes;
	struct retention retention;
	struct path_maker maker;
};

static int setup(void **state)
{
	static const struct retention_nodes nodes = {.blocks = BLOCKS, .strong = 1, .lasting = 1};
	struct scene *scene = calloc(1, sizeof(*scene));

	*state = scene;
	scene->graph = (struct heap_graph){.blocks = BLOCKS,
					   .sizes = sizes,
					   .graph = {NODES, first, targets},
					   .places = places,
					   .roots = {word_list, 1, 1},
					   .memory_roots = 1};
	scene->groups =
		(struct root_groups){.list = {group_list, 1, 1}, .word_groups = word_groups};
	scene->classes = (struct classes){.list = {class_list, 2, 2}, .of_blocks = of_blocks};
	scene->maker = (struct path_maker){&scene->graph, &scene->groups, &scene->classes,
					   &scene->retention, NULL};
	memset(class_list, 0, sizeof(class_list));
	return retention_compute(&scene->graph.graph, sizes, &nodes, &scene->retention);
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	retention_free(&scene->retention);
	free(scene);
	return 0;
}

static void expect_table(const struct path *path, uint32_t block, uint64_t offset)
{
	assert_int_equal(path->group, 0);
	assert_int_equal(path->steps.count, 2);
	assert_int_equal(path->steps.items[0].offset, 8);
	assert_int_equal(path->steps.items[0].block, 0);
	assert_int_equal(path->steps.items[1].offset, offset);
	assert_int_equal(path->steps.items[1].block, block);
}

static void a_path_names_the_field_of_every_step(void **state)
{
	struct scene *scene = *state;
	_cleanup_(path_free) struct path path = {0}, none = {0};

	assert_int_equal(path_find(&scene->maker, 2, &path), 0);
	expect_table(&path, 2, 24);
	assert_int_equal(path_find(&scene->maker, 3, &none), -ENOENT);
}

/*
 * The table refers weakly to the unreachable block 3: the blocks that it reaches are freed with it.
 */
static void a_weak_reference_to_garbage_says_what_a_block_waits_for(void **state)
{
	struct scene *scene = *state;
	struct weak_reference weak = {0, 3};
	_cleanup_(path_free) struct path garbage = {0}, live = {0}, typical = {0};

	of_blocks[3] = 0;
	scene->graph.managed.weak.items = &weak;
	scene->graph.managed.weak.count = 1;
	assert_int_equal(path_find(&scene->maker, 2, &garbage), 0);
	assert_int_equal(garbage.awaited, 0 + 1);
	assert_int_equal(classes_count(&scene->classes, &scene->graph, &scene->retention), 0);
	assert_int_equal(path_find_typical(&scene->maker, 1, &typical), 0);
	assert_int_equal(typical.awaited, 0 + 1);
	/* A weak reference to a live block. */
	weak.to = 1;
	assert_int_equal(path_find(&scene->maker, 2, &live), 0);
	assert_int_equal(live.awaited, 0);
	of_blocks[3] = 1;
}

/* A block on a page that changed too late is called neither lost nor held. */
static void what_only_may_be_held_is_no_sample_of_a_pattern(void **state)
{
	struct scene *scene = *state;
	_cleanup_(path_free) struct path path = {0};
	const uint32_t doubtful = 3;

	assert_int_equal(
		retention_take_back(&scene->graph.graph, sizes, &doubtful, 1, &scene->retention),
		0);
	assert_int_equal(classes_count(&scene->classes, &scene->graph, &scene->retention), 0);
	assert_int_equal(scene->classes.list.items[1].verdicts[VERDICT_UNTRACKED].blocks, 1);
	assert_int_equal(path_find_typical(&scene->maker, 1, &path), 0);
	assert_int_equal(path.sampled, 2);
	assert_int_equal(path.sharing, 1);
	expect_table(&path, 1, 0);
}

/*
 * Blocks 4 to 0 are a list; the path ends at its second one, the one with the highest address among
 * those held alike.
 */
static void expect_chain(uint32_t *ends, uint32_t *list, uint64_t length, bool exact)
{
	static const struct retention_nodes nodes = {.blocks = 5, .strong = 1, .lasting = 1};
	uint32_t of_list[5] = {1, 1, 1, 1, 1}, places_in_list[7] = {1, 1, 1, 1, 1, 0, 0};
	uint64_t sizes_in_list[5] = {24, 24, 24, 24, 24};
	struct scene scene = {
		.graph = {.blocks = 5, .sizes = sizes_in_list, .places = places_in_list},
		.groups = {.list = {group_list, 1, 1}, .word_groups = word_groups},
		.classes = {.list = {class_list, 2, 2}, .of_blocks = of_list}};
	_cleanup_(path_free) struct path path = {0};

	memset(class_list, 0, sizeof(class_list));
	class_list[1].count = 5;
	scene.graph.graph = (struct graph){7, ends, list};
	scene.maker = (struct path_maker){&scene.graph, &scene.groups, &scene.classes,
					  &scene.retention, NULL};
	assert_int_equal(
		retention_compute(&scene.graph.graph, sizes_in_list, &nodes, &scene.retention), 0);
	assert_int_equal(classes_count(&scene.classes, &scene.graph, &scene.retention), 0);
	assert_int_equal(path_find_typical(&scene.maker, 1, &path), 0);
	retention_free(&scene.retention);
	assert_int_equal(path.steps.items[path.steps.count - 1].block, 3);
	assert_int_equal(path.chain, length);
	assert_int_equal(path.chain_exact, exact);
}

/* Of 500 blocks the first ones by address hang on one variable, the others on a second. */
static void expect_typical(uint32_t of_first, uint32_t lasting, uint32_t group)
{
	enum { MANY = 500 };
	static const struct retention_nodes nodes = {.blocks = MANY, .strong = 2, .lasting = 2};
	static uint32_t class_of[MANY], ends[MANY + 4], list[MANY + 2], fields[MANY + 2];
	static uint64_t many_sizes[MANY];
	struct root_group groups[2] = {{.kind = ROOT_STACK}, {.kind = ROOT_STACK}};
	struct scene scene = {.graph = {.blocks = MANY, .sizes = many_sizes, .places = fields},
			      .groups = {.list = {groups, 2, 2}, .lasting = lasting, .strong = 2},
			      .classes = {.list = {class_list, 2, 2}, .of_blocks = class_of}};
	_cleanup_(path_free) struct path path = {0};

	memset(class_list, 0, sizeof(class_list));
	for (uint32_t i = 0; i < MANY; i++) {
		class_of[i] = 1;
		many_sizes[i] = 24;
		list[i] = i;
	}
	list[MANY] = MANY;
	list[MANY + 1] = MANY + 1;
	ends[MANY + 1] = of_first;
	ends[MANY + 2] = MANY;
	ends[MANY + 3] = MANY + 2;
	scene.graph.graph = (struct graph){MANY + 3, ends, list};
	scene.maker = (struct path_maker){&scene.graph, &scene.groups, &scene.classes,
					  &scene.retention, NULL};
	assert_int_equal(
		retention_compute(&scene.graph.graph, many_sizes, &nodes, &scene.retention), 0);
	assert_int_equal(classes_count(&scene.classes, &scene.graph, &scene.retention), 0);
	assert_int_equal(path_find_typical(&scene.maker, 1, &path), 0);
	retention_free(&scene.retention);
	assert_int_equal(path.group, group);
	assert_int_equal(path.sampled, 300);
}

static void the_typical_path_is_of_blocks_at_all_addresses(void **state)
{
	(void)state;
	expect_typical(200, 2, 1);
}

/* The second variable is a stack. */
static void a_variable_is_a_holder_before_a_stack(void **state)
{
	(void)state;
	expect_typical(200, 1, 0);
	expect_typical(20, 1, 1);
}

static void a_chain_is_followed_beyond_the_end_of_a_path(void **state)
{
	uint32_t straight[] = {0, 0, 1, 2, 3, 4, 5, 6}, list[] = {0, 1, 2, 3, 4, 5};

	(void)state;
	expect_chain(straight, list, 5, true);
}

static void a_chain_that_branches_or_is_a_ring_is_not_exact(void **state)
{
	uint32_t branching[] = {0, 0, 0, 1, 3, 4, 5, 6}, list[] = {0, 2, 1, 3, 4, 5};
	uint32_t round[] = {0, 1, 2, 3, 4, 5, 6, 7}, ring[] = {4, 0, 1, 2, 3, 4, 5};

	(void)state;
	expect_chain(branching, list, 4, false);
	expect_chain(round, ring, 5, false);
}

/* A row of up to 64 blocks, the first one held by a variable: block i leads to i + 1. */
struct row {
	struct scene scene;
	uint32_t first[68], targets[68], places[68], classes[64];
	uint64_t sizes[64];
	struct block_class list[64];
	struct root_word word;
	struct retention_nodes nodes;
};

static struct row *row_new(uint32_t blocks)
{
	struct row *row = calloc(1, sizeof(*row));

	for (uint32_t i = 0; i < blocks; i++) {
		row->first[i] = i;
		row->targets[i] = i + 1;
		row->sizes[i] = 24;
		row->classes[i] = i;
	}
	row->first[blocks - 1] = row->first[blocks] = blocks - 1;
	row->targets[blocks - 1] = 0; /* the variable's */
	row->first[blocks + 1] = blocks;
	row->targets[blocks] = blocks;
	row->first[blocks + 2] = blocks + 1;
	row->nodes = (struct retention_nodes){.blocks = blocks, .strong = 1, .lasting = 1};
	row->scene =
		(struct scene){.graph = {.blocks = blocks,
					 .sizes = row->sizes,
					 .places = row->places,
					 .graph = {blocks + 2, row->first, row->targets}},
			       .groups = {.list = {group_list, 1, 1}, .word_groups = word_groups},
			       .classes = {.list = {row->list, 64, 64}, .of_blocks = row->classes}};
	row->scene.maker = (struct path_maker){&row->scene.graph, &row->scene.groups,
					       &row->scene.classes, &row->scene.retention, NULL};
	return row;
}

static void row_find(struct row *row, uint32_t block, struct path *path)
{
	assert_int_equal(retention_compute(&row->scene.graph.graph, row->sizes, &row->nodes,
					   &row->scene.retention),
			 0);
	assert_int_equal(path_find(&row->scene.maker, block, path), 0);
	retention_free(&row->scene.retention);
	free(row);
}

/* Three classes alternate after a head, like thunks. */
static void steps_that_take_turns_are_shown_once(void **state)
{
	struct row *row = row_new(62);
	_cleanup_(path_free) struct path path = {0};

	(void)state;
	for (uint32_t i = 2; i < 62; i++)
		row->classes[i] = 2 + (i - 2) % 3;
	row_find(row, 61, &path);
	assert_int_equal(path.steps.count, 5);
	assert_int_equal(path.steps.items[1].turn, 0);
	assert_int_equal(path.steps.items[2].turn, 3);
	assert_int_equal(path.steps.items[2].turns, 20);
	assert_int_equal(path.steps.items[2].block, 59);
	assert_int_equal(path.steps.items[4].block, 61);
	assert_int_equal(path.steps.items[4].turn, 0);
	assert_true(path.pile.chain);
	assert_int_equal(path.pile.many, 20);
	assert_int_equal(path.pile.count, 3);
	assert_int_equal(path.pile.classes[0], 2);
	assert_int_equal(path.pile.classes[2], 4);
}

/* Blocks 1 to 127 are a tree, block i the parent of 2 i and 2 i + 1; block 0 has none. */
enum { TREE_BLOCKS = 128, TREE_EDGES = 128 };

struct tree {
	uint32_t ends[TREE_BLOCKS + 3], list[TREE_EDGES + 1], fields[TREE_EDGES + 1];
	uint32_t classes[TREE_BLOCKS];
	uint64_t sizes[TREE_BLOCKS];
};

static void tree_make(struct tree *tree)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < TREE_BLOCKS; i++) {
		tree->ends[i] = at;
		tree->sizes[i] = 104;
		tree->classes[i] = 1;
		for (uint32_t side = 0; i && side < 2 && 2 * i + side < TREE_BLOCKS; side++) {
			tree->fields[at] = 3 + side;
			tree->list[at++] = 2 * i + side;
		}
	}
	tree->ends[TREE_BLOCKS] = at;
	tree->list[at++] = 1;
	tree->ends[TREE_BLOCKS + 1] = at;
	tree->list[at++] = TREE_BLOCKS;
	tree->ends[TREE_BLOCKS + 2] = at;
}

static void tree_find(struct tree *tree, struct path *path)
{
	static const struct retention_nodes nodes = {
		.blocks = TREE_BLOCKS, .strong = 1, .lasting = 1};
	struct scene scene = {.graph = {.blocks = TREE_BLOCKS,
					.sizes = tree->sizes,
					.places = tree->fields,
					.graph = {TREE_BLOCKS + 2, tree->ends, tree->list}},
			      .groups = {.list = {group_list, 1, 1}, .word_groups = word_groups},
			      .classes = {.list = {class_list, 2, 2}, .of_blocks = tree->classes}};

	memset(class_list, 0, sizeof(class_list));
	class_list[1].count = TREE_BLOCKS;
	scene.maker = (struct path_maker){&scene.graph, &scene.groups, &scene.classes,
					  &scene.retention, NULL};
	assert_int_equal(
		retention_compute(&scene.graph.graph, tree->sizes, &nodes, &scene.retention), 0);
	assert_int_equal(classes_count(&scene.classes, &scene.graph, &scene.retention), 0);
	assert_int_equal(path_find_typical(&scene.maker, 1, path), 0);
	retention_free(&scene.retention);
}

static void the_steps_down_a_tree_are_one(void **state)
{
	struct tree tree = {0};
	_cleanup_(path_free) struct path path = {0};

	(void)state;
	tree_make(&tree);
	tree_find(&tree, &path);
	assert_int_equal(path.steps.count, 2);
	assert_int_equal(path.steps.items[0].block, 1);
	assert_int_equal(path.steps.items[1].branches, 2);
	assert_int_equal(path.steps.items[1].offset, STEP_NOWHERE);
	assert_int_equal(path.steps.items[1].fields[0].offset +
				 path.steps.items[1].fields[1].offset,
			 (3 + 4) * 8);
	assert_true(path.tree);
	assert_true(path.chain_exact);
	assert_int_equal(path.chain, TREE_BLOCKS - 1);
	assert_true(path.pile.tree);
	assert_false(path.pile.chain);
	assert_int_equal(path.pile.many, TREE_BLOCKS - 1);
	/* Blocks of every level share it, except the few with more specific fields. */
	assert_in_range(path.sharing, 32, path.sampled);
}

/* A block of one branch leads into another one. */
static void what_joins_again_is_no_tree(void **state)
{
	struct tree tree = {0};
	_cleanup_(path_free) struct path path = {0};

	(void)state;
	tree_make(&tree);
	tree.list[tree.ends[2]] = 6;
	tree_find(&tree, &path);
	assert_false(path.tree);
	assert_false(path.pile.tree);
}

/* Two rounds are not yet a chain; nor are nine classes. */
static void few_or_long_turns_are_shown_as_they_are(void **state)
{
	struct row *row = row_new(6);
	_cleanup_(path_free) struct path twice = {0}, nine = {0};

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		row->classes[i] = i < 2 ? i : 2 + i % 2;
	row_find(row, 5, &twice);
	assert_int_equal(twice.steps.count, 6);
	assert_int_equal(twice.pile.many, 0);
	row = row_new(45);
	for (uint32_t i = 0; i < 45; i++)
		row->classes[i] = i % 9;
	row_find(row, 44, &nine);
	assert_int_equal(nine.steps.count, 16);
	assert_int_equal(nine.steps.items[8].skipped, 29);
}

static void of_a_long_path_both_ends_are_shown(void **state)
{
	struct row *row = row_new(40);
	_cleanup_(path_free) struct path path = {0}, short_path = {0};

	(void)state;
	row_find(row, 39, &path);
	assert_int_equal(path.steps.count, 2 * PATH_END_MAX);
	assert_int_equal(path.steps.items[7].block, 7);
	assert_int_equal(path.steps.items[7].skipped, 0);
	assert_int_equal(path.steps.items[8].block, 32);
	assert_int_equal(path.steps.items[8].skipped, 24);
	assert_int_equal(path.steps.items[15].block, 39);
	row_find(row_new(16), 15, &short_path);
	assert_int_equal(short_path.steps.count, 16);
	assert_int_equal(short_path.steps.items[8].skipped, 0);
}

/* Seven blocks, turns of four, twelve blocks: the turns would be cut by the eighth step. */
static void turns_stay_whole_where_a_path_is_cut(void **state)
{
	struct row *row = row_new(39);
	_cleanup_(path_free) struct path path = {0};

	(void)state;
	for (uint32_t i = 7; i < 27; i++)
		row->classes[i] = 7 + (i - 7) % 4;
	row_find(row, 38, &path);
	assert_int_equal(path.steps.items[6].block, 6);
	assert_int_equal(path.steps.items[7].skipped, 5 * 4 + 4);
	assert_int_equal(path.steps.items[7].block, 31);
	assert_int_equal(path.steps.count, 15);
}

/* Among adjacent pointers, one leads to the block; the path ends after them. */
static void many_pointers_beside_each_other_are_where_things_pile_up(void **state)
{
	enum { WIDE = 20 };
	struct row *row = row_new(WIDE + 2);
	_cleanup_(path_free) struct path path = {0};

	(void)state;
	/* Block 0 points to block 1, and that to all others. */
	for (uint32_t i = 2; i < WIDE + 4; i++)
		row->first[i] = WIDE + 1;
	for (uint32_t i = 1; i <= WIDE; i++) {
		row->targets[i] = i + 1;
		row->places[i] = i;
	}
	row->targets[WIDE + 1] = 0;
	row->first[WIDE + 3] = WIDE + 2;
	row->targets[WIDE + 2] = WIDE + 2;
	row->first[WIDE + 4] = WIDE + 3;
	row_find(row, 9, &path);
	assert_int_equal(path.steps.count, 3);
	assert_false(path.pile.chain);
	assert_int_equal(path.pile.many, WIDE);
	assert_int_equal(path.pile.count, 1);
	assert_int_equal(path.pile.classes[0], 1);
}

/* Two variables lead to a block, the second one by `more` more. */
static int find_other(uint8_t more, struct path *path)
{
	static uint32_t ends[] = {0, 0, 0, 2, 3, 5}, list[] = {0, 1, 0, 2, 3};
	static uint32_t places_of_both[] = {0, 1, 0, 0, 0}, classes_of_both[] = {0, 1};
	static uint64_t sizes_of_both[] = {24, 24};
	struct weak_reference weak = {0, 1};
	uint8_t edges[] = {6, 6, 6, 1, 1}, starts[] = {0, more};
	struct root_group groups[2] = {{.kind = ROOT_GLOBAL}, {.kind = ROOT_GLOBAL}};
	const struct retention_costs costs = {.graph = {.edges = edges}, .groups = starts};
	const struct retention_nodes nodes = {
		.blocks = 2, .strong = 2, .lasting = 2, .costs = &costs};
	struct scene scene = {
		.graph = {.blocks = 2,
			  .sizes = sizes_of_both,
			  .places = places_of_both,
			  .graph = {5, ends, list},
			  .managed.weak = {&weak, 1, 1}},
		.groups = {.list = {groups, 2, 2}, .word_groups = word_groups},
		.classes = {.list = {class_list, 2, 2}, .of_blocks = classes_of_both}};
	int error;

	scene.maker = (struct path_maker){&scene.graph, &scene.groups, &scene.classes,
					  &scene.retention, &costs};
	assert_int_equal(
		retention_compute(&scene.graph.graph, sizes_of_both, &nodes, &scene.retention), 0);
	error = path_find_other(&scene.maker, 0, path);
	retention_free(&scene.retention);
	return error;
}

static void a_second_root_is_named_where_it_is_nearly_as_near(void **state)
{
	_cleanup_(path_free) struct path path = {0}, none = {0};

	(void)state;
	assert_int_equal(find_other(PATH_COST_STEP, &path), 0);
	assert_int_equal(path.group, 1);
	assert_int_equal(path.steps.count, 1);
	/* Block 1, held by the first root alone, is not garbage. */
	assert_int_equal(path.awaited, 0);
	assert_int_equal(find_other(PATH_COST_STEP + 1, &none), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_path_names_the_field_of_every_step, setup,
						teardown),
		cmocka_unit_test(the_typical_path_is_of_blocks_at_all_addresses),
		cmocka_unit_test(a_variable_is_a_holder_before_a_stack),
		cmocka_unit_test_setup_teardown(
			a_weak_reference_to_garbage_says_what_a_block_waits_for, setup, teardown),
		cmocka_unit_test_setup_teardown(what_only_may_be_held_is_no_sample_of_a_pattern,
						setup, teardown),
		cmocka_unit_test(a_chain_is_followed_beyond_the_end_of_a_path),
		cmocka_unit_test(a_chain_that_branches_or_is_a_ring_is_not_exact),
		cmocka_unit_test(steps_that_take_turns_are_shown_once),
		cmocka_unit_test(the_steps_down_a_tree_are_one),
		cmocka_unit_test(what_joins_again_is_no_tree),
		cmocka_unit_test(few_or_long_turns_are_shown_as_they_are),
		cmocka_unit_test(of_a_long_path_both_ends_are_shown),
		cmocka_unit_test(turns_stay_whole_where_a_path_is_cut),
		cmocka_unit_test(many_pointers_beside_each_other_are_where_things_pile_up),
		cmocka_unit_test(a_second_root_is_named_where_it_is_nearly_as_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
