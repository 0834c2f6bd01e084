// SPDX-License-Identifier: GPL-2.0-or-later
/* Paths from a variable to the blocks of a table, when some blocks are not known to be held. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "retain/paths.h"

/* Blocks 0 to 3: a table, two blocks that it points to, one that nothing points to. Node 4 is the
 * variable that points to the table, node 5 leads to all roots. */
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
					   &scene->retention};
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_path_names_the_field_of_every_step, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_only_may_be_held_is_no_sample_of_a_pattern,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
