// SPDX-License-Identifier: GPL-2.0-or-later
/* From pages, chunks and zones made by hand to blocks, edges and roots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "heap/retain/heap_graph.h"
#include "own_registers.h"

#define MEMORY 0x555500000000ull /* pages of tracked blocks, and the memory between them */

struct word {
	uint64_t address, value;
};

struct fixture {
	struct heap_image heap_image;
	struct heap_graph graph;
	struct intern strings;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct page_range *range = vec_push(&fixture->heap_image.pages.ranges);

	range->start = MEMORY;
	range->end = MEMORY + 4 * MEMORY_PAGE;
	*state = fixture;
	return pages_prepare(&fixture->heap_image.pages);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	heap_graph_free(&fixture->graph);
	heap_image_free(&fixture->heap_image);
	intern_free(&fixture->strings);
	free(fixture);
	return 0;
}

/* Words come by ascending address. */
static void put_words(struct fixture *fixture, const struct word *words, size_t count)
{
	struct page_table *pages = &fixture->heap_image.pages;

	pages->found.items = calloc(count, sizeof(uint64_t));
	pages->found.count = count;
	for (size_t i = 0; i < count; i++) {
		struct page *page = &pages->pages[(words[i].address - MEMORY) / MEMORY_PAGE];

		if (!page->count++)
			page->first = (uint32_t)i;
		pages->found.items[i] =
			found_pack(words[i].value, words[i].address % MEMORY_PAGE / 8);
	}
}

static void add_zone(struct fixture *fixture, uint64_t start, uint64_t end, enum zone_kind kind)
{
	struct zone *zone = vec_push(&fixture->heap_image.zones);

	*zone = (struct zone){MEMORY + start, MEMORY + end, kind, 0};
}

static bool has_edge(const struct heap_graph *graph, uint32_t source, uint32_t target,
		     uint32_t place)
{
	for (uint32_t i = graph->graph.first[source]; i < graph->graph.first[source + 1]; i++) {
		if (graph->graph.targets[i] == target && graph->places[i] == place)
			return true;
	}
	return false;
}

static const struct tracked_block tracked[] = {
	{MEMORY + 0x100, 0x40, 1},
	{MEMORY + 0x200, 20, 2},   /* ends inside a word */
	{MEMORY + 0xff0, 0x20, 1}, /* in two pages */
};

static int build_walked(struct fixture *fixture, const struct thread_blocks *locals,
			int (*walk)(const struct maps *, const struct heap_image *,
				    const struct data_modules *, struct heap_sink *))
{
	static const struct data_modules none;

	return heap_graph_build(&(struct graph_sources){.heap_image = &fixture->heap_image,
							.modules = &none,
							.locals = locals,
							.tracked = tracked,
							.tracked_count = ARRAY_SIZE(tracked),
							.walk = walk,
							.strings = &fixture->strings},
				&fixture->graph);
}

static int build(struct fixture *fixture, const struct thread_blocks *locals)
{
	return build_walked(fixture, locals, NULL);
}

/* Sixteen objects that point to each other; their number matters, not their location. */
static void memory_that_is_handed_out_in_parts_is_a_pool(void **state)
{
	static const struct tracked_block blocks[] = {
		{MEMORY + 0x400, 0x300, 1}, {MEMORY + 0x800, 0x300, 1}, {MEMORY + 0xc00, 0x300, 1}};
	static const struct data_modules none;
	static const struct thread_blocks no_locals;
	struct fixture *fixture = *state;
	struct word words[3 * POOL_WORDS];

	for (size_t i = 0; i < POOL_WORDS; i++) {
		uint64_t place = (i + 1) * 0x20;

		/* Links; strings followed by their characters; a ring that ends early. */
		words[i] = (struct word){MEMORY + 0x400 + place, MEMORY + 0x400 + place - 0x20 + 8};
		words[POOL_WORDS + i] =
			(struct word){MEMORY + 0x800 + place, MEMORY + 0x800 + place + 0x10};
		words[2 * POOL_WORDS + i] = (struct word){
			MEMORY + 0xc00 + place, i ? MEMORY + 0xc00 + place - 0x18 : MEMORY + 0xc00};
	}
	put_words(fixture, words, ARRAY_SIZE(words));
	assert_int_equal(
		heap_graph_build(&(struct graph_sources){.heap_image = &fixture->heap_image,
							 .modules = &none,
							 .locals = &no_locals,
							 .tracked = blocks,
							 .tracked_count = ARRAY_SIZE(blocks),
							 .strings = &fixture->strings},
				 &fixture->graph),
		0);
	assert_true(heap_graph_is_pool(&fixture->graph, 0));
	assert_false(heap_graph_is_pool(&fixture->graph, 1));
	assert_false(heap_graph_is_pool(&fixture->graph, 2));
	assert_int_equal(fixture->graph.own_words[2], POOL_WORDS - 1);
}

static void words_in_blocks_are_edges_and_others_are_roots(void **state)
{
	static const struct word words[] = {
		{MEMORY + 0x008, MEMORY + 0x100},  /* a root */
		{MEMORY + 0x100, MEMORY + 0x108},  /* to itself */
		{MEMORY + 0x108, MEMORY + 0x213},  /* to the last byte of the second */
		{MEMORY + 0x110, MEMORY + 0x214},  /* one past its end */
		{MEMORY + 0x138, MEMORY + 0xff0},  /* the last word of the first */
		{MEMORY + 0x140, MEMORY + 0x200},  /* after it: a root */
		{MEMORY + 0x210, MEMORY + 0x100},  /* only half inside: ignored */
		{MEMORY + 0x1008, MEMORY + 0x100}, /* in the second page of the third */
	};
	struct fixture *fixture = *state;
	struct heap_graph *graph = &fixture->graph;

	put_words(fixture, words, ARRAY_SIZE(words));
	assert_int_equal(build(fixture, &(struct thread_blocks){0}), 0);
	assert_int_equal(graph->blocks, 3);
	assert_int_equal(graph->tracked_blocks, 3);
	assert_int_equal(graph->graph.first[3], 3);
	assert_true(has_edge(graph, 0, 1, 1 | EDGE_INSIDE));
	assert_true(has_edge(graph, 0, 2, 7));
	assert_true(has_edge(graph, 2, 0, 3));
	assert_int_equal(graph->roots.count, 2);
	assert_int_equal(graph->roots.items[0].address, MEMORY + 0x008);
	assert_int_equal(graph->roots.items[0].target, 0);
	assert_int_equal(graph->roots.items[1].target, 1);
	assert_int_equal(graph->sites[0], 1);
	assert_int_equal(graph->sites[1], 2);
}

static void memory_that_nobody_uses_holds_nothing(void **state)
{
	static const struct word words[] = {
		{MEMORY + 0x400, MEMORY + 0x100}, {MEMORY + 0x500, MEMORY + 0x100},
		{MEMORY + 0x600, MEMORY + 0x100}, {MEMORY + 0x700, MEMORY + 0x100},
		{MEMORY + 0x800, MEMORY + 0x100},
	};
	struct fixture *fixture = *state;

	add_zone(fixture, 0x400, 0x408, ZONE_NOTHING);
	add_zone(fixture, 0x500, 0x508, ZONE_ALLOCATOR);
	add_zone(fixture, 0x600, 0x608, ZONE_HEAP);
	add_zone(fixture, 0x700, 0x708, ZONE_STACK);
	put_words(fixture, words, ARRAY_SIZE(words));
	assert_int_equal(build(fixture, &(struct thread_blocks){0}), 0);
	assert_int_equal(fixture->graph.roots.count, 2);
	assert_int_equal(fixture->graph.roots.items[0].address, MEMORY + 0x700);
	assert_int_equal(fixture->graph.roots.items[1].address, MEMORY + 0x800);
}

/* ld.so allocates memory for libraries loaded later: it is not an object of the program. */
static void thread_locals_in_a_block_are_roots(void **state)
{
	static const struct word words[] = {
		{MEMORY + 0x100, MEMORY + 0x200}, /* in the block, before the thread-locals */
		{MEMORY + 0x110, MEMORY + 0x200}, {MEMORY + 0x118, MEMORY + 0xff0},
		{MEMORY + 0x120, MEMORY + 0x200}, /* after them */
		{MEMORY + 0x608, MEMORY + 0x200}, /* in memory of malloc's */
		{MEMORY + 0x610, MEMORY + 0x200},
	};
	struct thread_block locals[] = {{.start = MEMORY + 0x110, .end = MEMORY + 0x120},
					{.start = MEMORY + 0x610, .end = MEMORY + 0x618}};
	struct thread_blocks blocks = {.list = {.items = locals, .count = ARRAY_SIZE(locals)}};
	struct fixture *fixture = *state;
	struct heap_graph *graph = &fixture->graph;

	add_zone(fixture, 0x600, 0x700, ZONE_HEAP);
	put_words(fixture, words, ARRAY_SIZE(words));
	assert_int_equal(build(fixture, &blocks), 0);
	assert_int_equal(graph->graph.first[3], 2);
	assert_true(has_edge(graph, 0, 1, 0));
	assert_true(has_edge(graph, 0, 1, 4));
	assert_int_equal(graph->roots.count, 3);
	assert_int_equal(graph->roots.items[0].address, MEMORY + 0x110);
	assert_int_equal(graph->roots.items[1].address, MEMORY + 0x118);
	assert_int_equal(graph->roots.items[2].address, MEMORY + 0x610);
}

#define OBJECT (MEMORY + 0x2000) /* with links of a collector's list before it */
#define PRECISE (MEMORY + 0x2100)
#define PART (MEMORY + 0x2200)
#define FOREIGN (MEMORY + 0x2300) /* with an address of native memory in a field */
#define COUNTED (MEMORY + 0x2400) /* with numbers and data */
#define APART (MEMORY + 0x2500)	  /* the runtime's own state */

/* Walks a runtime with three stretches of memory, the last of which belongs to the second. */
static int walk(const struct maps *maps, const struct heap_image *kept,
		const struct data_modules *modules, struct heap_sink *sink)
{
	const struct managed_class linked = {.name = "app.Linked",
					     .runtime = "test",
					     .quiet_start = 0,
					     .quiet_end = 16,
					     .weak_word = 4};
	const struct managed_class plain = {.name = "app.Plain", .runtime = "test"};
	uint32_t first, second;
	uint64_t nonsense = 0;

	(void)maps;
	(void)kept;
	(void)modules;
	assert_non_null(heap_sink_report(sink, "test"));
	assert_int_equal(heap_sink_class(sink, &linked, &first), 0);
	assert_int_equal(heap_sink_class(sink, &plain, &second), 0);
	assert_int_equal(heap_sink_add(sink, PART, 0x40, NODE_OWN), 0);
	assert_int_equal(heap_sink_add(sink, OBJECT, 0x30, first), 0);
	assert_int_equal(heap_sink_add(sink, PRECISE, 0x20, second), 0);
	assert_int_equal(heap_sink_add(sink, FOREIGN, 0x20, second | NODE_OBJECT), 0);
	assert_int_equal(heap_sink_settle(sink, &nonsense), 0);
	assert_int_equal(heap_sink_root(sink, "test", "module app → cache", OBJECT + 16), 0);
	sink->whats[4] |= NODE_PRECISE;
	assert_true(heap_sink_part(sink, 4, PART + 8, 0x18, true));
	assert_int_equal(heap_sink_reference(sink, 4, MEMORY + 0x204, label_index(7)), 0);
	assert_int_equal(heap_sink_reference(sink, 4, OBJECT,
					     heap_sink_label(sink, LABEL_ATTRIBUTE, "back")),
			 0);
	return heap_sink_finish(sink);
}

/* Their own words count, except where the runtime has their references. */
static void objects_of_a_runtime_are_nodes_with_its_references(void **state)
{
	static const struct word words[] = {
		{MEMORY + 0x100, PART + 0x10},	 /* malloc's block leads to them */
		{OBJECT, MEMORY + 0x100},	 /* a link of the list */
		{OBJECT + 0x10, MEMORY + 0x200}, /* a field */
		{OBJECT + 0x18, MEMORY + 0x100}, /* refers to it weakly */
		{PRECISE + 8, MEMORY + 0x100},	 /* left over */
		{PART, MEMORY + 0x100},		 /* left over */
		{PART + 0x18, MEMORY + 0x100},	 /* behind it */
		{FOREIGN + 8, MEMORY + 0x200},	 /* of native memory */
		{FOREIGN + 16, PART + 0x10},	 /* no reference */
	};
	struct fixture *fixture = *state;
	struct heap_graph *graph = &fixture->graph;
	const char *label;

	put_words(fixture, words, ARRAY_SIZE(words));
	assert_int_equal(build_walked(fixture, &(struct thread_blocks){0}, walk), 0);
	assert_int_equal(graph->blocks, 7);
	assert_int_equal(graph->starts[3], OBJECT);
	assert_int_equal(graph->sizes[5], 0x18);
	assert_int_equal(graph->sites[0], 1);
	assert_int_equal(graph->sites[3], 0);
	assert_int_equal(graph->graph.first[7], 5);
	assert_true(has_edge(graph, 6, 1, 1));
	assert_true(has_edge(graph, 0, 5, 0 | EDGE_INSIDE));
	assert_true(has_edge(graph, 3, 1, 2));
	assert_true(has_edge(graph, 4, 1, EDGE_LABELLED | label_index(7)));
	label = heap_sink_label_name(&graph->managed,
				     graph->places[graph->graph.first[5] - 1] & ~EDGE_LABELLED);
	assert_string_equal(label, "back");
	assert_int_equal(graph->roots.count, 1);
	assert_int_equal(graph->roots.items[0].address, PART + 0x18);
	assert_int_equal(graph->managed.roots.items[0].node, 3);
	assert_true(heap_graph_counts(graph, 4));
	assert_false(heap_graph_counts(graph, 5));
	assert_int_equal(heap_graph_what(graph, 0), NODE_PLAIN);
}

static int walk_numbers(const struct maps *maps, const struct heap_image *kept,
			const struct data_modules *modules, struct heap_sink *sink)
{
	const struct managed_class counted = {.name = "app.Counted",
					      .runtime = "test",
					      .quiet_words = 1 << 1 | 1 << 3,
					      .quiet_from = 0x28};
	uint32_t class;
	uint64_t nonsense = 0;

	(void)maps;
	(void)kept;
	(void)modules;
	assert_non_null(heap_sink_report(sink, "test"));
	assert_int_equal(heap_sink_class(sink, &counted, &class), 0);
	assert_int_equal(heap_sink_add(sink, COUNTED, 0x40, class), 0);
	assert_int_equal(heap_sink_add(sink, APART, 0x20, NODE_OWN), 0);
	assert_int_equal(heap_sink_settle(sink, &nonsense), 0);
	assert_int_equal(heap_sink_root(sink, "test", "module app → counted", COUNTED), 0);
	assert_int_equal(heap_sink_apart_root(sink, "test", "state", APART, MANAGED_OWN), 0);
	assert_int_equal(heap_sink_reference(sink, 3, APART + 8, 0), 0);
	return heap_sink_finish(sink);
}

static void numbers_and_data_of_a_class_hold_nothing(void **state)
{
	static const struct word words[] = {
		{COUNTED + 0x08, MEMORY + 0x200}, /* a number */
		{COUNTED + 0x10, MEMORY + 0x200}, /* a field */
		{COUNTED + 0x18, MEMORY + 0xff0}, /* a number */
		{COUNTED + 0x28, MEMORY + 0x200}, /* data */
		{COUNTED + 0x38, MEMORY + 0xff0}, /* data */
	};
	struct fixture *fixture = *state;
	struct heap_graph *graph = &fixture->graph;

	put_words(fixture, words, ARRAY_SIZE(words));
	assert_int_equal(build_walked(fixture, &(struct thread_blocks){0}, walk_numbers), 0);
	assert_int_equal(graph->graph.first[5], 1);
	assert_true(has_edge(graph, 3, 1, 2));
	assert_int_equal(graph->roots.count, 0);
}

/* Neither words nor references reach it, even from outside all blocks. */
static void nothing_leads_to_what_is_apart_but_its_own_root(void **state)
{
	static const struct word words[] = {
		{MEMORY + 0x008, APART},
		{MEMORY + 0x100, APART + 8},
		{COUNTED + 0x10, APART},
		{APART + 8, MEMORY + 0x200},
	};
	struct fixture *fixture = *state;
	struct heap_graph *graph = &fixture->graph;

	put_words(fixture, words, ARRAY_SIZE(words));
	assert_int_equal(build_walked(fixture, &(struct thread_blocks){0}, walk_numbers), 0);
	assert_int_equal(graph->graph.first[5], 1);
	assert_true(has_edge(graph, 4, 1, 1));
	assert_int_equal(graph->roots.count, 0);
	assert_int_equal(graph->managed.roots.count, 2);
	assert_int_equal(graph->managed.roots.items[1].node, 4);
	assert_int_equal(graph->managed.roots.items[1].rank, MANAGED_OWN);
}

/* In a runtime's memory, it becomes an edge only if nothing else points there. */
static void a_word_that_points_inside_a_block_is_followed_last(void **state)
{
	static const struct word words[] = {
		{MEMORY + 0x008, MEMORY + 0x100}, /* a root holds the first one */
		{COUNTED + 0x10, MEMORY + 0x108}, /* so this is none */
		{COUNTED + 0x20, MEMORY + 0x208}, /* nothing else holds the second one */
		{APART + 0x8, MEMORY + 0xff0},	  /* to the start */
		{APART + 0x10, MEMORY + 0xff8},
	};
	struct fixture *fixture = *state;
	struct heap_graph *graph = &fixture->graph;

	put_words(fixture, words, ARRAY_SIZE(words));
	assert_int_equal(build_walked(fixture, &(struct thread_blocks){0}, walk_numbers), 0);
	assert_int_equal(graph->graph.first[5], 2);
	assert_true(has_edge(graph, 3, 1, 4 | EDGE_DOUBTFUL | EDGE_INSIDE));
	assert_true(has_edge(graph, 4, 2, 1));
}

#define LOW 0x10000000ull /* a program at fixed addresses, followed by its heap */

/*
 * Adds a loader, and a module with a read-only page of a writable segment, and a writable one; then
 * a page of blocks.
 */
static void add_modules(struct fixture *fixture, struct data_modules *modules, struct image *images)
{
	static struct elf_segment segment = {
		.vaddr = 0, .file_size = 0x2000, .memory_size = 0x2000, .writable = true};
	static struct elf_number numbers[] = {{0x1010, LOW + 0x2100}};
	static char *const paths[] = {"/lib/ld-linux-x86-64.so.2", "/srv/app"};
	struct page_table *pages = &fixture->heap_image.pages;

	for (uint32_t i = 0; i < 4; i++) {
		uint64_t start = LOW + (i == 3 ? 0x2000 : (i - 1) * MEMORY_PAGE);
		struct mapping *mapping = vec_push(&fixture->heap_image.maps.list);

		if (!i)
			start = LOW - 0x10000;
		*mapping = (struct mapping){.start = start,
					    .end = start + MEMORY_PAGE,
					    .inode = i < 3 ? 7 + !i : 0,
					    .writable = i >= 2,
					    .readable = true,
					    .path = strdup(i == 3 ? "" : paths[i > 0])};
	}
	pages->ranges.count = 0;
	for (uint32_t i = 1; i < 4; i++) {
		const struct mapping *mapping = &fixture->heap_image.maps.list.items[i];
		struct page_range *range = vec_push(&pages->ranges);

		*range = (struct page_range){.start = mapping->start,
					     .end = mapping->end,
					     .file = mapping->inode,
					     .mapping = i};
	}
	for (uint32_t i = 0; i < 2; i++) {
		struct data_module *module = vec_push(&modules->list);

		images[i].file.segments.items = &segment;
		images[i].file.segments.count = 1;
		images[i].numbers.items = i ? numbers : NULL;
		images[i].numbers.count = i;
		*module = (struct data_module){.path = paths[i],
					       .start = i ? LOW : LOW - 0x10000,
					       .end = i ? LOW + 0x2000 : LOW - 0xf000,
					       .bias = i ? LOW : LOW - 0x10000,
					       .image = &images[i]};
	}
}

static void data_that_only_the_loader_wrote_hold_nothing(void **state)
{
	static const struct tracked_block blocks[] = {{LOW + 0x2100, 0x40, 1},
						      {LOW + 0x2200, 0x40, 1}};
	static const struct word words[] = {
		{LOW + 0x0010, LOW + 0x2200}, /* read-only since it was relocated */
		{LOW + 0x1010, LOW + 0x2100}, /* as in the file */
		{LOW + 0x1018, LOW + 0x2200},
	};
	struct fixture *fixture = *state;
	struct heap_graph *graph = &fixture->graph;
	struct page_table *pages = &fixture->heap_image.pages;
	struct data_modules modules = {0};
	struct image images[2] = {0};
	struct page *first;

	free(pages->pages);
	pages->pages = NULL;
	add_modules(fixture, &modules, images);
	assert_int_equal(pages_prepare(pages), 0);
	pages->found.items = calloc(ARRAY_SIZE(words), sizeof(uint64_t));
	pages->found.count = ARRAY_SIZE(words);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		first = &pages->pages[(words[i].address - LOW) / MEMORY_PAGE];
		if (!first->count++)
			first->first = (uint32_t)i;
		pages->found.items[i] =
			found_pack(words[i].value, words[i].address % MEMORY_PAGE / 8);
	}
	assert_int_equal(
		heap_graph_build(&(struct graph_sources){.heap_image = &fixture->heap_image,
							 .modules = &modules,
							 .locals = &(struct thread_blocks){{0}},
							 .tracked = blocks,
							 .tracked_count = 2,
							 .strings = &fixture->strings},
				 graph),
		0);
	assert_int_equal(graph->roots.count, 1);
	assert_int_equal(graph->roots.items[0].address, LOW + 0x1018);
	vec_free(&modules.list);
}

static void registers_are_roots(void **state)
{
	struct fixture *fixture = *state;
	struct heap_image_thread *thread = vec_push(&fixture->heap_image.threads);

	thread->registers.OWN_GENERAL = MEMORY + 0x200;
	thread->registers.vectors[3] = MEMORY + 0x100;
	assert_int_equal(build(fixture, &(struct thread_blocks){0}), 0);
	assert_int_equal(fixture->graph.roots.count, 2);
	assert_string_equal(register_name(fixture->graph.roots.items[0].address), OWN_GENERAL_NAME);
	assert_string_equal(register_name(fixture->graph.roots.items[1].address), OWN_VECTOR_NAME);
	assert_int_equal(fixture->graph.roots.items[1].thread, 1);
}

int main(void)
{
#define WITH_PICTURE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_PICTURE(memory_that_is_handed_out_in_parts_is_a_pool),
		WITH_PICTURE(words_in_blocks_are_edges_and_others_are_roots),
		WITH_PICTURE(memory_that_nobody_uses_holds_nothing),
		WITH_PICTURE(thread_locals_in_a_block_are_roots),
		WITH_PICTURE(objects_of_a_runtime_are_nodes_with_its_references),
		WITH_PICTURE(numbers_and_data_of_a_class_hold_nothing),
		WITH_PICTURE(nothing_leads_to_what_is_apart_but_its_own_root),
		WITH_PICTURE(a_word_that_points_inside_a_block_is_followed_last),
		WITH_PICTURE(data_that_only_the_loader_wrote_hold_nothing),
		WITH_PICTURE(registers_are_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
