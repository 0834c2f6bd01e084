// SPDX-License-Identifier: GPL-2.0-or-later
/* Which root reaches which page without a known block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/retain/root_groups.h"

#define MEMORY 0x7f0000000000ull
#define PAGES 12
#define PAGE(number) (MEMORY + (number)*MEMORY_PAGE)

struct fixture {
	struct heap_image heap_image;
	struct heap_graph graph;
};

struct word {
	uint64_t address, value;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct page_range *range = vec_push(&fixture->heap_image.pages.ranges);

	*range = (struct page_range){.start = MEMORY, .end = PAGE(PAGES)};
	*state = fixture;
	return pages_prepare(&fixture->heap_image.pages);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	heap_graph_free(&fixture->graph);
	heap_image_free(&fixture->heap_image);
	free(fixture);
	return 0;
}

static void build(struct fixture *fixture, const struct word *words, size_t count,
		  const struct tracked_block *blocks, size_t block_count)
{
	static const struct data_modules none;
	static const struct thread_blocks locals;
	struct page_table *pages = &fixture->heap_image.pages;

	pages->found.items = calloc(count + 1, sizeof(uint64_t));
	pages->found.count = count;
	for (size_t i = 0; i < count; i++) {
		struct page *page = &pages->pages[(words[i].address - MEMORY) / MEMORY_PAGE];

		if (!page->count++)
			page->first = (uint32_t)i;
		pages->found.items[i] =
			found_pack(words[i].value, words[i].address % MEMORY_PAGE / 8);
	}
	assert_int_equal(
		heap_graph_build(&(struct graph_sources){.heap_image = &fixture->heap_image,
							 .modules = &none,
							 .locals = &locals,
							 .tracked = blocks,
							 .tracked_count = block_count},
				 &fixture->graph),
		0);
}

static void expect_roots(const struct fixture *fixture, struct untracked_start *starts,
			 size_t count, const uint32_t *expected)
{
	_cleanup_free_ uint32_t *found =
		untracked_roots_find(&fixture->graph, starts, count, false);

	assert_non_null(found);
	for (uint32_t i = 0; i < fixture->graph.untracked.pages; i++)
		assert_int_equal(found[i], expected[i]);
}

static void pages_are_led_to_by_pointers_and_by_what_lies_before(void **state)
{
	/* The block is in page 9 and points to page 2. */
	static const struct tracked_block blocks[] = {{PAGE(9) + 64, 64, 1}};
	static const struct word words[] = {
		{PAGE(0) + 8, PAGE(4) + 100}, /* 4 and, as nothing points there, 5 */
		{PAGE(5) + 16, PAGE(9) + 64}, /* the block */
		{PAGE(7) + 8, PAGE(6) + 8},   /* 6 is a separate object, like 2 */
		{PAGE(9) + 72, PAGE(2)},      {PAGE(11), PAGE(7)},
	};
	static const uint32_t expected[PAGES] = {3, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0, 0};
	struct untracked_start starts[] = {{.root = 3, .node = 1 + 0}};
	struct fixture *fixture = *state;

	build(fixture, words, ARRAY_SIZE(words), blocks, ARRAY_SIZE(blocks));
	assert_int_equal(fixture->graph.untracked.pages, PAGES);
	expect_roots(fixture, starts, ARRAY_SIZE(starts), expected);
}

static void the_urgent_walk_is_done_to_its_end_before_the_next(void **state)
{
	static const struct word words[] = {
		{PAGE(0), PAGE(2)}, {PAGE(2), PAGE(4)}, {PAGE(4), PAGE(6)},
		{PAGE(8), PAGE(6)}, {PAGE(9), PAGE(8)}, {PAGE(9) + 8, PAGE(9)},
	};
	/* The second root is one step from page 6, the first one three. */
	static const uint32_t expected[PAGES] = {1, 1, 1, 1, 1, 1, 1, 1, 2, 0, 0, 0};
	struct untracked_start starts[] = {{.root = 2, .node = 8, .urgency = 1},
					   {.root = 1, .node = 0, .urgency = 0}};
	struct fixture *fixture = *state;

	build(fixture, words, ARRAY_SIZE(words), NULL, 0);
	expect_roots(fixture, starts, ARRAY_SIZE(starts), expected);
}

static void add_zone(struct fixture *fixture, uint64_t start, uint64_t end)
{
	struct zone *zone = vec_push(&fixture->heap_image.zones);

	*zone = (struct zone){start, end, ZONE_STACK, 0};
}

/* A stack from within page 3 up to page 5: whole pages only, and objects do not reach across. */
static void what_is_known_is_left_out(void **state)
{
	static const struct word words[] = {{PAGE(0), PAGE(2)}, {PAGE(4), PAGE(6) + 8}};
	static const uint32_t expected[] = {1, 1, 1, 0, 0, 0, 0, 0, 0};
	struct untracked_start starts[] = {{.root = 1, .node = 0}};
	struct fixture *fixture = *state;

	add_zone(fixture, PAGE(3) + 128, PAGE(6));
	build(fixture, words, ARRAY_SIZE(words), NULL, 0);
	assert_int_equal(fixture->graph.untracked.pages, PAGES - 3);
	assert_int_equal(untracked_page(&fixture->graph.untracked, PAGE(3)), UNTRACKED_NONE);
	assert_int_equal(untracked_page(&fixture->graph.untracked, PAGE(6)), 3);
	assert_int_equal(untracked_address(&fixture->graph.untracked, 3), PAGE(6));
	/* From the stack: a root; its group comes from others. */
	assert_int_equal(fixture->graph.untracked.roots.count, 1);
	assert_int_equal(fixture->graph.untracked.roots.items[0].page, 3);
	expect_roots(fixture, starts, ARRAY_SIZE(starts), expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			pages_are_led_to_by_pointers_and_by_what_lies_before, setup, teardown),
		cmocka_unit_test_setup_teardown(the_urgent_walk_is_done_to_its_end_before_the_next,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_known_is_left_out, setup, teardown),
	};

	return cmocka_run_group_tests_name("untracked", tests, NULL, NULL);
}
