// SPDX-License-Identifier: GPL-2.0-or-later
/* The set of ranges against a model that holds one tag per page. */
#include "trace/collect/ranges.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGES 512
#define OPERATIONS 100000

/* 0: nothing is there. Tags distinguish insertions. */
struct model {
	uint32_t pages[PAGES];
};

static uint64_t seed = 88172645463325252ull;

static uint64_t random_next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

struct seen {
	struct model model;
	uint64_t end; /* end of the previous range */
	size_t count;
};

static int see(const struct range *range, void *context)
{
	struct seen *seen = context;

	assert_true(range->start < range->end);
	assert_true(range->start >= seen->end);
	assert_true(range->end <= PAGES);
	for (uint64_t page = range->start; page < range->end; page++)
		seen->model.pages[page] = range->tag.site;
	seen->end = range->end;
	seen->count++;
	return 0;
}

static struct seen look(const struct ranges *ranges)
{
	struct seen seen = {0};

	assert_int_equal(ranges_walk(ranges, see, &seen), 0);
	return seen;
}

static void expect_model(const struct ranges *ranges, const struct model *model)
{
	struct seen seen = look(ranges);

	assert_memory_equal(&seen.model, model, sizeof(*model));
}

static void insert(struct ranges *ranges, uint64_t start, uint64_t end, uint32_t site)
{
	struct range_tag tag = {.site = site};

	assert_int_equal(ranges_insert(ranges, start, end, &tag), 0);
}

/* mmap(MAP_FIXED): former mappings go. */
static void map(struct ranges *ranges, struct model *model, uint64_t start, uint64_t end,
		uint32_t site)
{
	struct ranges taken;

	assert_int_equal(ranges_cut(ranges, start, end, &taken), 0);
	ranges_free(&taken);
	insert(ranges, start, end, site);
	for (uint64_t page = start; page < end; page++)
		model->pages[page] = site;
}

static void unmap(struct ranges *ranges, struct model *model, uint64_t start, uint64_t end)
{
	struct model before = {0};
	struct ranges taken;

	for (uint64_t page = start; page < end; page++)
		before.pages[page] = model->pages[page];
	assert_int_equal(ranges_cut(ranges, start, end, &taken), 0);
	expect_model(&taken, &before);
	if (random_next() % 4 == 0) { /* the call failed: all is restored */
		ranges_absorb(ranges, &taken);
		assert_null(taken.root);
		return;
	}
	ranges_free(&taken);
	for (uint64_t page = start; page < end; page++)
		model->pages[page] = 0;
}

/* mremap(MREMAP_FIXED) of a range, with any contents, to one that does not overlap it. */
static void move(struct ranges *ranges, struct model *model, uint64_t start, uint64_t length,
		 uint64_t to)
{
	struct model before = *model;
	struct ranges taken, replaced;

	if (start + length > PAGES || to + length > PAGES ||
	    (to < start + length && start < to + length))
		return;
	assert_int_equal(ranges_cut(ranges, start, start + length, &taken), 0);
	assert_int_equal(ranges_cut(ranges, to, to + length, &replaced), 0);
	ranges_free(&replaced);
	ranges_shift(&taken, to - start);
	ranges_absorb(ranges, &taken);
	for (uint64_t page = 0; page < length; page++)
		model->pages[start + page] = 0;
	for (uint64_t page = 0; page < length; page++)
		model->pages[to + page] = before.pages[start + page];
}

static void random_operations_agree_with_a_page_model(void **state)
{
	struct ranges ranges = {0};
	struct model model = {0};

	(void)state;
	for (uint32_t i = 1; i <= OPERATIONS; i++) {
		uint64_t start = random_next() % PAGES;
		uint64_t length = 1 + random_next() % (random_next() % 8 ? 16 : PAGES);
		uint64_t end = start + length > PAGES ? PAGES : start + length;
		unsigned way = random_next() % 8;

		if (way < 4)
			map(&ranges, &model, start, end, i);
		else if (way < 7)
			unmap(&ranges, &model, start, end);
		else
			move(&ranges, &model, start, length, random_next() % PAGES);
		if (i % 16 == 0)
			expect_model(&ranges, &model);
	}
	expect_model(&ranges, &model);
	ranges_free(&ranges);
}

static void a_hole_splits_a_range_and_both_sides_keep_its_tag(void **state)
{
	struct ranges ranges = {0}, taken;
	struct seen seen;

	(void)state;
	insert(&ranges, 10, 20, 7);
	assert_int_equal(ranges_cut(&ranges, 13, 15, &taken), 0);
	seen = look(&ranges);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.model.pages[12], 7);
	assert_int_equal(seen.model.pages[13], 0);
	assert_int_equal(seen.model.pages[14], 0);
	assert_int_equal(seen.model.pages[15], 7);
	seen = look(&taken);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.model.pages[13], 7);
	ranges_free(&taken);
	ranges_free(&ranges);
}

static void neighbours_are_one_only_under_one_tag(void **state)
{
	struct ranges ranges = {0}, taken;

	(void)state;
	insert(&ranges, 10, 20, 1);
	insert(&ranges, 20, 30, 2);
	insert(&ranges, 31, 40, 2);
	assert_int_equal(look(&ranges).count, 3);
	assert_int_equal(ranges_last(&ranges)->start, 31);
	assert_int_equal(ranges_cut(&ranges, 15, 25, &taken), 0);
	ranges_absorb(&ranges, &taken);
	assert_int_equal(look(&ranges).count, 3);
	ranges_free(&ranges);
}

static int stop(const struct range *range, void *context)
{
	size_t *visits = context;

	(void)range;
	return ++*visits == 2 ? -ECANCELED : 0;
}

static void a_visit_may_end_the_walk(void **state)
{
	struct ranges ranges = {0};
	size_t visits = 0;

	(void)state;
	for (uint32_t i = 0; i < 9; i++)
		insert(&ranges, i * 2, i * 2 + 1, i);
	assert_int_equal(ranges_walk(&ranges, stop, &visits), -ECANCELED);
	assert_int_equal(visits, 2);
	ranges_free(&ranges);
}

static void an_empty_range_is_refused(void **state)
{
	struct ranges ranges = {0}, taken;
	struct range_tag tag = {0};

	(void)state;
	assert_int_equal(ranges_insert(&ranges, 10, 10, &tag), -EINVAL);
	assert_int_equal(ranges_insert(&ranges, 11, 10, &tag), -EINVAL);
	insert(&ranges, 5, 15, 1);
	assert_int_equal(ranges_cut(&ranges, 10, 10, &taken), 0);
	assert_null(taken.root);
	assert_int_equal(look(&ranges).count, 1);
	ranges_free(&ranges);
	assert_null(ranges_last(&ranges));
}

/* An unbalanced tree would recurse a million deep here. */
static void ascending_insertion_stays_balanced(void **state)
{
	struct ranges ranges = {0}, taken;
	struct range_tag tag = {.site = 1};

	(void)state;
	for (uint64_t i = 0; i < 1000000; i++)
		assert_int_equal(ranges_insert(&ranges, i * 2, i * 2 + 1, &tag), 0);
	assert_int_equal(ranges_cut(&ranges, 2, 1999999, &taken), 0);
	assert_int_equal(look(&ranges).count, 1);
	assert_int_equal(ranges_last(&taken)->start, 1999998);
	ranges_free(&taken);
	ranges_free(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_operations_agree_with_a_page_model),
		cmocka_unit_test(a_hole_splits_a_range_and_both_sides_keep_its_tag),
		cmocka_unit_test(neighbours_are_one_only_under_one_tag),
		cmocka_unit_test(a_visit_may_end_the_walk),
		cmocka_unit_test(an_empty_range_is_refused),
		cmocka_unit_test(ascending_insertion_stays_balanced),
	};

	return cmocka_run_group_tests_name("ranges", tests, NULL, NULL);
}
