// SPDX-License-Identifier: GPL-2.0-or-later
/* The growth of a heap by size, divided among the call stacks whose blocks have survived. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "app/diagnose/heap_growth.h"
#include "base/cleanup.h"
#include "heap/retain/retain.h"

static void sizes_have_narrow_classes_in_ascending_order(void **state)
{
	size_t before = 0;

	(void)state;
	for (uint64_t bytes = 16; bytes < 1ull << 47; bytes += bytes / 64 + 8) {
		size_t class = size_class_of(bytes);

		assert_true(class >= before && class < SIZE_CLASSES);
		/* No two sizes of one class are further apart than a sixteenth. */
		assert_true(size_class_of(bytes + bytes / 16 + 16) > class);
		before = class;
	}
	assert_int_equal(size_class_of(UINT64_MAX), SIZE_CLASSES - 1);
	assert_int_equal(size_class_of(1023), 63);
	assert_int_equal(size_class_of(1024), 64);
}

/* Blocks of one size: before, now; and the surviving ones of each of two call stacks. */
struct planted {
	uint64_t size, before, now;
	double first, second;
};

static void plant(struct heap_tally *tally, uint64_t size, uint64_t blocks)
{
	struct retention_total *total = &tally->all.sizes[size_class_of(size)];

	total->blocks += blocks;
	total->bytes += blocks * size;
	tally->all.sum.blocks += blocks;
	tally->all.sum.bytes += blocks * size;
}

static void survive(struct survivor_list *survivors, uint32_t site, uint64_t size, double blocks)
{
	struct survivors *row;

	if (blocks <= 0)
		return;
	row = vec_push(&survivors->list);
	assert_non_null(row);
	*row = (struct survivors){.site = site,
				  .size_class = (uint32_t)size_class_of(size),
				  .samples = (size_t)blocks,
				  .blocks = blocks,
				  .bytes = blocks * (double)size};
	row->born[0] = row->bytes;
}

static struct heap_growth divide(const struct planted *planted, size_t count, bool exact)
{
	struct heap_tally *tallies = calloc(2, sizeof(*tallies));
	struct survivor_list survivors = {.exact = exact};
	struct heap_growth growth = {0};

	assert_non_null(tallies);
	tallies[0].known = tallies[1].known = true;
	for (size_t i = 0; i < count; i++) {
		plant(&tallies[0], planted[i].size, planted[i].before);
		plant(&tallies[1], planted[i].size, planted[i].now);
		survive(&survivors, 1, planted[i].size, planted[i].first);
	}
	for (size_t i = 0; i < count; i++)
		survive(&survivors, 2, planted[i].size, planted[i].second);
	assert_int_equal(heap_growth_divide(&tallies[0], &tallies[1], &survivors, false, &growth),
			 0);
	vec_free(&survivors.list);
	free(tallies);
	return growth;
}

static double bytes_of(const struct heap_growth *growth, uint32_t site)
{
	for (size_t i = 0; i < growth->sites.count; i++) {
		if (growth->sites.items[i].site == site)
			return growth->sites.items[i].bytes;
	}
	return 0;
}

static bool about(double value, double wanted)
{
	return fabs(value - wanted) <= 1e-6 * fmax(fabs(wanted), 1);
}

static void each_size_is_divided_by_its_survivors(void **state)
{
	static const struct {
		struct planted sizes[2];
		bool exact;
		double first, second, unexplained;
	} cases[] = {
		/* Even with equal contents: counts give the amount, survivors the owners. */
		{{{10000, 50, 250, 200, 0}, {32, 100, 300, 0, 200}}, true, 2e6, 6400, 0},
		/* One size: a cache that replaces its 1000 blocks, and a leak of 100. */
		{{{64, 1000, 1100, 1000, 100}}, true, 5818.1818181818, 581.8181818181, 0},
		/* Windows met a few of them. */
		{{{64, 0, 1000, 8, 2}}, false, 51200, 12800, 0},
		/* The larger ones have no known owner. */
		{{{64, 0, 1000, 10, 0}, {4096, 0, 10, 0, 0}}, false, 64000, 0, 40960},
		{{{64, 0, 1000, 900, 0}}, true, 57600, 0, 6400},
		/* One array of 1 MiB that became one of 2 MiB: it grew by one. */
		{{{1 << 20, 1, 0, 0, 0}, {2 << 20, 0, 1, 1, 0}}, true, 1 << 20, 0, 0},
		{{{64, 1000, 900, 10, 0}}, true, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct heap_growth growth = divide(cases[i].sizes, 2, cases[i].exact);

		assert_true(growth.known);
		assert_true(about(bytes_of(&growth, 1), cases[i].first));
		assert_true(about(bytes_of(&growth, 2), cases[i].second));
		assert_true(about(growth.unexplained, cases[i].unexplained));
		vec_free(&growth.sites);
	}
}

/*
 * For a size that two call stacks allocate, exact counts give limits: growth that the other cannot
 * have caused.
 */
static void limits_are_what_the_counts_allow(void **state)
{
	static const struct planted sizes[] = {{64, 1000, 1100, 1000, 40}};
	struct heap_growth growth = divide(sizes, 1, true);

	(void)state;
	assert_int_equal(growth.sites.count, 2);
	assert_int_equal(growth.sites.items[0].site, 1);
	assert_true(about(growth.sites.items[0].low, 60 * 64));
	assert_true(about(growth.sites.items[0].high, 100 * 64));
	assert_true(about(growth.sites.items[1].low, 0));
	assert_true(about(growth.sites.items[1].high, 40 * 64));
	vec_free(&growth.sites);
}

static void what_is_not_allocated_in_each_part_of_the_time_has_stopped(void **state)
{
	static const struct {
		double born[GROWTH_PARTS];
		bool goes_on;
	} cases[] = {
		{{1, 1, 1}, true},    {{5, 3, 1}, true},   {{50, 3, 1}, false},
		{{10, 10, 0}, false}, {{0, 1, 10}, false}, {{0, 0, 0}, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct site_growth site = {0};

		for (size_t part = 0; part < GROWTH_PARTS; part++)
			site.born[part] = cases[i].born[part];
		assert_int_equal(site_growth_goes_on(&site), cases[i].goes_on);
	}
}

/* Blocks that form a graph, at addresses 0x100000 apart. */
#define NODE_BYTES 0x100000ull
#define SMALL 40
#define POOL (256u << 10)

static uint64_t growth_of(const struct survivor_list *survivors, const struct heap_tally *first,
			  const struct heap_tally *last, uint32_t site)
{
	struct heap_growth growth = {0};
	double bytes;

	assert_int_equal(heap_growth_divide(first, last, survivors, false, &growth), 0);
	bytes = bytes_of(&growth, site);
	vec_free(&growth.sites);
	return (uint64_t)bytes;
}

/*
 * Block 0 is a pool missed by windows, blocks 1 to 8 point into it: six of call stack 1, two of
 * call stack 2. Block 9 has the same size and no known owner.
 */
static void a_pool_belongs_to_the_call_stacks_whose_blocks_point_into_it(void **state)
{
	enum { NODES = 10 };
	uint64_t starts[NODES], sizes[NODES] = {POOL};
	uint32_t first[NODES + 1] = {0}, targets[NODES] = {0}, of_blocks[NODES] = {0};
	struct profile_block list[8];
	struct block_class class = {.kind = CLASS_SIZE};
	uint8_t verdicts[NODES] = {VERDICT_HELD};
	struct retain retain = {.allocator = "an allocator", .settled = true};
	struct profile_blocks blocks = {.list = {list, 8, 8}, .since_ns = 1};
	struct heap_tally *tallies = calloc(2, sizeof(*tallies));
	struct survivor_list survivors;

	(void)state;
	assert_non_null(tallies);
	for (uint32_t i = 0; i < NODES; i++) {
		bool small = i >= 1 && i <= 8;

		starts[i] = (i + 1) * NODE_BYTES;
		sizes[i] = small ? SMALL : POOL;
		first[i + 1] = first[i] + small;
		if (small)
			list[i - 1] = (struct profile_block){.address = starts[i],
							     .size = SMALL,
							     .born_ns = 2,
							     .site = i <= 6 ? 1 : 2,
							     .weight = 10,
							     .untouched = true};
	}
	retain.graph = (struct heap_graph){.blocks = NODES,
					   .starts = starts,
					   .sizes = sizes,
					   .graph = {NODES, first, targets}};
	retain.classes = (struct classes){.list = {&class, 1, 1}, .of_blocks = of_blocks};
	retain.retention.verdicts = verdicts;
	assert_int_equal(block_index_build(starts, sizes, NODES, &retain.graph.index), 0);
	tallies[0].known = true;
	heap_tally_take(&retain, &tallies[1]);
	assert_int_equal(survivors_find(&retain, &blocks, 10000000000, &survivors), 0);
	/* One of two pools is linked with both: three quarters and, with too few links, nothing. */
	assert_int_equal(growth_of(&survivors, &tallies[0], &tallies[1], 1),
			 SMALL * 8 * 3 / 4 + POOL * 3 / 4);
	assert_int_equal(growth_of(&survivors, &tallies[0], &tallies[1], 2), SMALL * 8 / 4);
	vec_free(&survivors.list);
	/* Exact tracking knows who allocated it. */
	blocks.exact = true;
	assert_int_equal(survivors_find(&retain, &blocks, 10000000000, &survivors), 0);
	assert_int_equal(survivors.list.count, 2);
	vec_free(&survivors.list);
	/* Blocks younger than the scan are not in it, whatever was at their addresses. */
	assert_int_equal(survivors_find(&retain, &blocks, 2, &survivors), 0);
	assert_int_equal(survivors.list.count, 0);
	vec_free(&survivors.list);
	block_index_free(&retain.graph.index);
	free(tallies);
}

static void without_a_count_nothing_is_known(void **state)
{
	struct heap_tally *tallies = calloc(2, sizeof(*tallies));
	const struct survivor_list survivors = {0};
	struct heap_growth growth = {0};

	(void)state;
	assert_non_null(tallies);
	tallies[1].known = true;
	assert_int_equal(heap_growth_divide(&tallies[0], &tallies[1], &survivors, false, &growth),
			 0);
	assert_false(growth.known);
	free(tallies);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_have_narrow_classes_in_ascending_order),
		cmocka_unit_test(each_size_is_divided_by_its_survivors),
		cmocka_unit_test(limits_are_what_the_counts_allow),
		cmocka_unit_test(what_is_not_allocated_in_each_part_of_the_time_has_stopped),
		cmocka_unit_test(a_pool_belongs_to_the_call_stacks_whose_blocks_point_into_it),
		cmocka_unit_test(without_a_count_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
