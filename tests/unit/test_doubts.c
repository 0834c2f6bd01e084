// SPDX-License-Identifier: GPL-2.0-or-later
/* Words below 4 GiB that may be numbers, in memory made by hand: 20,000 blocks of 64 bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "heap/allocators/heap_image.h"
#include "heap/retain/heap_graph.h"

#define LOW 0x20000000ull
#define HIGH 0x555500000000ull
#define BLOCKS 20000u
#define SIZE 64u
#define PAGES 400u
#define VARIABLES (399u * MEMORY_PAGE) /* after the blocks */

struct fixture {
	uint64_t base;
	struct heap_image heap_image;
	struct tracked_block blocks[BLOCKS];
	uint64_t *words; /* of all pages; 0: nothing found there */
	struct heap_graph graph;
	struct intern strings;
};

static void begin(struct fixture *fixture, uint64_t base)
{
	struct page_range *range = vec_push(&fixture->heap_image.pages.ranges);

	fixture->base = base;
	range->start = base;
	range->end = base + PAGES * MEMORY_PAGE;
	assert_int_equal(pages_prepare(&fixture->heap_image.pages), 0);
	fixture->words = calloc(PAGES, MEMORY_PAGE);
	for (uint32_t i = 0; i < BLOCKS; i++)
		fixture->blocks[i] = (struct tracked_block){base + i * SIZE, SIZE, 1};
}

static void put(struct fixture *fixture, uint64_t offset, uint64_t value)
{
	fixture->words[offset / 8] = value;
}

static uint64_t block(const struct fixture *fixture, uint32_t i)
{
	return fixture->blocks[i].address;
}

/* Each block has the address of the next one. */
static void chain(struct fixture *fixture)
{
	for (uint32_t i = 0; i + 1 < BLOCKS; i++)
		put(fixture, i * SIZE, block(fixture, i + 1));
}

static void build(struct fixture *fixture)
{
	struct page_table *pages = &fixture->heap_image.pages;
	static const struct data_modules none;
	static const struct thread_blocks locals;
	size_t words = PAGES * MEMORY_PAGE / 8;

	pages->found.items = calloc(words, sizeof(uint64_t));
	for (size_t i = 0; i < words; i++) {
		struct page *page = &pages->pages[i / (MEMORY_PAGE / 8)];

		if (!fixture->words[i])
			continue;
		if (!page->count++)
			page->first = (uint32_t)pages->found.count;
		pages->found.items[pages->found.count++] =
			found_pack(fixture->words[i], i % (MEMORY_PAGE / 8));
	}
	assert_int_equal(
		heap_graph_build(&(struct graph_sources){.heap_image = &fixture->heap_image,
							 .modules = &none,
							 .locals = &locals,
							 .tracked = fixture->blocks,
							 .tracked_count = BLOCKS,
							 .strings = &fixture->strings},
				 &fixture->graph),
		0);
	assert_int_equal(fixture->graph.blocks, BLOCKS);
}

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	heap_graph_free(&fixture->graph);
	heap_image_free(&fixture->heap_image);
	intern_free(&fixture->strings);
	free(fixture->words);
	free(fixture);
	return 0;
}

/* The one root, and whether it proves anything. */
static void expect_root(const struct fixture *fixture, uint32_t target, bool number)
{
	const struct root_word *root = fixture->graph.roots.items;

	assert_int_equal(fixture->graph.roots.count, 1);
	assert_int_equal(root->target, target);
	assert_int_equal(root->thread, number ? NUMBER_WORD : 0);
	assert_int_equal(fixture->graph.memory_roots, number ? 0 : 1);
}

static void a_word_that_hardly_is_a_link_proves_nothing(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, LOW);
	chain(fixture);
	put(fixture, VARIABLES, block(fixture, 5000) + 24);
	build(fixture);
	expect_root(fixture, 5000, true);
}

static void above_4_gib_it_is_a_pointer(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, HIGH);
	chain(fixture);
	put(fixture, VARIABLES, block(fixture, 5000) + 24);
	build(fixture);
	expect_root(fixture, 5000, false);
}

static void the_start_of_a_block_is_a_pointer(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, LOW);
	chain(fixture);
	put(fixture, VARIABLES, block(fixture, 5001));
	build(fixture);
	expect_root(fixture, 5001, false);
}

static void a_round_number_of_a_variable_proves_nothing(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, LOW);
	chain(fixture);
	put(fixture, VARIABLES, LOW + (64u << 10));
	build(fixture);
	expect_root(fixture, (64u << 10) / SIZE, true);
}

static void links_between_structures_are_pointers(void **state)
{
	struct fixture *fixture = *state;
	const struct heap_graph *graph = &fixture->graph;

	begin(fixture, LOW);
	for (uint32_t i = 0; i < 400; i++)
		put(fixture, i * SIZE + 16, block(fixture, i + 1) + 16);
	put(fixture, VARIABLES, block(fixture, 0) + 16);
	build(fixture);
	expect_root(fixture, 0, false);
	assert_int_equal(graph->graph.first[BLOCKS], 400);
}

static void an_unaligned_word_proves_nothing_in_few_blocks_either(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, LOW);
	fixture->blocks[7].size = 48; /* the only one of its size */
	put(fixture, VARIABLES, block(fixture, 7) + 19);
	build(fixture);
	expect_root(fixture, 7, true);
}

static void a_tag_on_the_start_is_none(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, LOW);
	fixture->blocks[7].size = 48;
	put(fixture, VARIABLES, block(fixture, 7) + 3);
	build(fixture);
	expect_root(fixture, 7, false);
}

static void a_cursor_on_a_stack_is_a_pointer(void **state)
{
	struct fixture *fixture = *state;
	struct zone *zone = vec_push(&fixture->heap_image.zones);
	struct heap_image_thread *thread = vec_push(&fixture->heap_image.threads);

	begin(fixture, LOW);
	*zone = (struct zone){LOW + VARIABLES, LOW + VARIABLES + 64, ZONE_STACK, 0};
	thread->stack_start = LOW + VARIABLES;
	fixture->blocks[7].size = 48;
	put(fixture, VARIABLES, block(fixture, 7) + 19);
	build(fixture);
	expect_root(fixture, 7, false);
}

static void what_something_else_holds_is_held_by_that_alone(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, LOW);
	chain(fixture);
	put(fixture, VARIABLES, block(fixture, 1));
	put(fixture, VARIABLES + 8, block(fixture, 5000) + 24);
	put(fixture, 100 * SIZE + 32, block(fixture, 6000) + 40);
	build(fixture);
	expect_root(fixture, 1, false);
	assert_int_equal(fixture->graph.graph.first[BLOCKS], BLOCKS - 1);
}

/* A number may equal the start of a block by chance. */
static void a_field_of_numbers_holds_nothing(void **state)
{
	struct fixture *fixture = *state;
	const struct heap_graph *graph = &fixture->graph;

	begin(fixture, LOW);
	for (uint32_t i = 1; i < 9; i++)
		put(fixture, i * SIZE + 40, block(fixture, 9000 + i) + 9 + i);
	put(fixture, 9 * SIZE + 40, block(fixture, 9100));
	put(fixture, VARIABLES, block(fixture, 1));
	for (uint32_t i = 1; i < 10; i++)
		put(fixture, i * SIZE, block(fixture, i + 1));
	build(fixture);
	assert_int_equal(graph->graph.first[BLOCKS], 9);
	assert_int_equal(graph->roots.count, 1 + 9);
	for (size_t i = 1; i < graph->roots.count; i++)
		assert_int_equal(graph->roots.items[i].thread, NUMBER_WORD);
	assert_int_equal(graph->memory_roots, 1);
}

int main(void)
{
#define WITH_BLOCKS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_BLOCKS(a_word_that_hardly_is_a_link_proves_nothing),
		WITH_BLOCKS(above_4_gib_it_is_a_pointer),
		WITH_BLOCKS(the_start_of_a_block_is_a_pointer),
		WITH_BLOCKS(a_round_number_of_a_variable_proves_nothing),
		WITH_BLOCKS(links_between_structures_are_pointers),
		WITH_BLOCKS(an_unaligned_word_proves_nothing_in_few_blocks_either),
		WITH_BLOCKS(a_tag_on_the_start_is_none),
		WITH_BLOCKS(a_cursor_on_a_stack_is_a_pointer),
		WITH_BLOCKS(what_something_else_holds_is_held_by_that_alone),
		WITH_BLOCKS(a_field_of_numbers_holds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
