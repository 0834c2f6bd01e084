// SPDX-License-Identifier: GPL-2.0-or-later
/* Conditions on which two scans must agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/retain/double_scan.h"

#define BLOCKS 3
#define CONTENTS 7

/* Three lost blocks; the second leads to the third. */
struct scene {
	struct retain retain;
	uint64_t starts[BLOCKS], sizes[BLOCKS], hashes[BLOCKS];
	uint32_t first[BLOCKS + 2], targets[1], of_blocks[BLOCKS];
	struct block_class class;
};

static void scene_build(struct scene *scene)
{
	const struct retention_nodes nodes = {.blocks = BLOCKS};
	struct retain *retain = &scene->retain;

	retain->graph.blocks = BLOCKS;
	retain->graph.starts = scene->starts;
	retain->graph.sizes = scene->sizes;
	retain->graph.graph = (struct graph){BLOCKS + 1, scene->first, scene->targets};
	assert_int_equal(
		block_index_build(scene->starts, scene->sizes, BLOCKS, &retain->graph.index), 0);
	assert_int_equal(
		retention_compute(&retain->graph.graph, scene->sizes, &nodes, &retain->retention),
		0);
	retain->classes.list.items = &scene->class;
	retain->classes.list.count = 1;
	retain->classes.of_blocks = scene->of_blocks;
	retain->lost_hashes = scene->hashes;
	assert_int_equal(retain_count_again(retain), 0);
}

static void scene_set_up(struct scene *scene)
{
	*scene = (struct scene){.starts = {0x1000, 0x2000, 0x3000},
				.sizes = {100, 200, 300},
				.hashes = {CONTENTS, CONTENTS, CONTENTS},
				.first = {0, 0, 1, 1, 1},
				.targets = {2}};
}

static void scene_free(struct scene *scene)
{
	block_index_free(&scene->retain.graph.index);
	retention_free(&scene->retain.retention);
	vec_free(&scene->retain.leaks);
}

/* The second block of three, as the other scan has it; the third is lost in both. */
static void only_what_both_scans_call_lost_stays_lost(void **state)
{
	static const struct {
		uint64_t start, size, contents;
		enum verdict verdict;
		uint64_t lost_blocks, lost_bytes;
	} cases[] = {
		{0x2000, 200, CONTENTS, VERDICT_LOST, 3, 600},
		{0x2000, 200, CONTENTS, VERDICT_HELD, 1, 100},
		{0x2000, 200, CONTENTS + 1, VERDICT_LOST, 1, 100},
		{0x2000, 200, 0, VERDICT_LOST, 1, 100}, /* could not be read */
		{0x2000, 208, CONTENTS, VERDICT_LOST, 1, 100},
		{0x1ff0, 216, CONTENTS, VERDICT_LOST, 1, 100},
		{0x2100, 200, CONTENTS, VERDICT_LOST, 1, 100}, /* freed, another one is there */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene scene, other;

		scene_set_up(&scene);
		scene_set_up(&other);
		other.starts[1] = cases[i].start;
		other.sizes[1] = cases[i].size;
		other.hashes[1] = cases[i].contents;
		scene_build(&scene);
		scene_build(&other);
		other.retain.retention.verdicts[1] = cases[i].verdict;
		assert_int_equal(scene.class.verdicts[VERDICT_LOST].blocks, 3);
		assert_int_equal(retain_agree(&scene.retain, &other.retain), 0);
		assert_int_equal(scene.class.verdicts[VERDICT_LOST].blocks, cases[i].lost_blocks);
		assert_int_equal(scene.class.verdicts[VERDICT_LOST].bytes, cases[i].lost_bytes);
		assert_int_equal(scene.class.verdicts[VERDICT_UNTRACKED].blocks,
				 3 - cases[i].lost_blocks);
		scene_free(&scene);
		scene_free(&other);
	}
}

/* A page that was read late may have had the only pointer at the stop. */
static void lost_blocks_beside_late_pages_want_a_second_scan(void **state)
{
	uint64_t page = 0x7000;
	struct scene scene;

	(void)state;
	scene_set_up(&scene);
	scene_build(&scene);
	assert_false(retain_is_blurred(&scene.retain));
	scene.retain.heap_image.late.items = &page;
	scene.retain.heap_image.late.count = 1;
	assert_true(retain_is_blurred(&scene.retain));
	scene.retain.retention.totals[VERDICT_LOST].blocks = 0;
	assert_false(retain_is_blurred(&scene.retain));
	scene_free(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_both_scans_call_lost_stays_lost),
		cmocka_unit_test(lost_blocks_beside_late_pages_want_a_second_scan),
	};

	return cmocka_run_group_tests_name("double_scan", tests, NULL, NULL);
}
