// SPDX-License-Identifier: GPL-2.0-or-later
/* The heap of a small OCaml 5 program made by hand; then the same with nonsense in it. */
#include "unit/ocaml5_fixture.h"

#define MUTANTS 600
#include "unit/walked.h"

static void blocks_of_pools_and_large_and_young_ones_are_counted(void **state)
{
	static const struct {
		const char *class;
		size_t count;
	} expected[] = {
		{"block of tag 0, 2 fields", FORGED_PAIRS},
		{"block of tag 3, 8 fields", FORGED_THIRDS},
		{"block of tag 7, 4 fields", FORGED_YOUNG_BLOCKS},
		{"block of tag 9, 128 fields or more", 1},
		{"closure App.fun_13 app.ml:7", 1},
		{"custom _mutex", 1},
		{"continuation", 1},
		{"string", 1},
		{"float array", 1},
		{"stack", 2},
	};
	struct forged *forged = *state;
	struct walked walked;
	size_t sum = 0;

	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_string_equal(REPORT(&walked)->version, "5");
	assert_int_equal(REPORT(&walked)->nonsense, 0);
	assert_int_equal(REPORT(&walked)->retries, 0);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(count_class(&walked.sink, expected[i].class), expected[i].count);
		sum += expected[i].count;
	}
	assert_int_equal(REPORT(&walked)->objects, sum);
	walked_free(&walked);
}

static void modules_finalisers_and_stacks_are_roots(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "App[0]", forged->pairs);
	expect_root(&walked.sink, "App[2]", forged->large + 24);
	expect_root(&walked.sink, "stack", forged->stack);
	expect_root(&walked.sink, "finaliser App.fun_13 × 1", forged_word(forged->final));
	assert_int_equal(
		root_named(&walked.sink, "value that awaits finaliser App.fun_13 × 1")->rank,
		MANAGED_WAITING);
	walked_free(&walked);
}

/* It has memory of C's until it is swept. */
static void garbage_that_awaits_its_finaliser_is_no_leak(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "garbage that awaits the sweep", forged->doomed);
	forged_put(forged->memory.base + 0x908, 0);
	walked_free(&walked);
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "custom _mutex"), 0);
	walked_free(&walked);
}

static void large_garbage_is_the_runtimes_own(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint32_t node;

	forged_put(forged->large + 16, forged_header(9, FORGED_LARGE_WORDS, 0));
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_int_equal(count_class(&walked.sink, "block of tag 9, 128 fields or more"), 0);
	node = heap_sink_node(&walked.sink, forged->large + 24);
	assert_int_equal(walked.sink.whats[node], NODE_OWN);
	walked_free(&walked);
}

/* A known frame marks its values; of an unknown one, all words are values. */
static void a_suspended_stack_holds_what_its_frames_use(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_true(refers(&walked.sink, forged->continuation, forged->suspended));
	assert_int_equal(count_references(&walked.sink, forged->continuation), 1);
	assert_true(refers(&walked.sink, forged->suspended, forged->kept));
	assert_false(refers(&walked.sink, forged->suspended, forged->stale));
	walked_free(&walked);
	forged_put(forged_word(forged->suspended), forged->code + 24);
	walk(&forged->memory, &walked);
	assert_true(refers(&walked.sink, forged->suspended, forged->kept));
	assert_true(refers(&walked.sink, forged->suspended, forged->stale));
	walked_free(&walked);
}

/* The one table in its data that leads to a domain. */
static void domains_of_a_stripped_program_are_found_by_their_shape(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged->memory.names[forged->memory.symbols[4].name] = 'x';
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_int_equal(count_class(&walked.sink, "block of tag 0, 2 fields"), FORGED_PAIRS);
	walked_free(&walked);
	forged_put(forged->memory.base + 0x700, forged->table); /* two of them */
	expect_why(&forged->memory, "domains");
}

static void expect_older(struct forged *forged, bool first)
{
	struct walked walked;

	forged_make_older(forged, first);
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_int_equal(REPORT(&walked)->nonsense, 0);
	assert_int_equal(count_class(&walked.sink, "block of tag 3, 8 fields"), FORGED_THIRDS);
	assert_int_equal(count_class(&walked.sink, "block of tag 0, 2 fields"), FORGED_PAIRS);
	expect_root(&walked.sink, "stack", forged->stack);
	expect_root(&walked.sink, "finaliser App.fun_13 × 1", forged_word(forged->final));
	assert_true(refers(&walked.sink, forged->continuation, forged->suspended));
	walked_free(&walked);
}

static void domains_and_sizes_of_5_1_are_read(void **state)
{
	expect_older(*state, false);
}

static void domains_and_sizes_of_5_0_are_read(void **state)
{
	expect_older(*state, true);
}

/* Pools of an ended domain; in a stripped program the statistics lead to them. */
static void pools_that_no_domain_has_are_found_by_their_statistics(void **state)
{
	struct forged *forged = *state;
	uint64_t orphans = forged->memory.base + 0x6000;
	struct walked walked;

	forged_put(forged->heap + 8 * (3 * 32 + FORGED_MEDIUM), 0);
	forged_put(forged->heap + 8 * 132, 2 * FORGED_POOL_WORDS);
	forged_put(orphans + 6 * 8, FORGED_POOL_WORDS);
	forged_put(orphans + (6 + 8 + FORGED_MEDIUM) * 8, forged->medium);
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_int_equal(count_class(&walked.sink, "float array"), 1);
	walked_free(&walked);
	forged_put(forged->medium, forged->medium); /* in a circle */
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "float array"), 0);
	walked_free(&walked);
}

static void what_does_not_balance_is_reported(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged->medium + 24, FORGED_MEDIUM + 1);
	walk(&forged->memory, &walked);
	assert_non_null(strstr(REPORT(&walked)->why, "may be missing"));
	assert_int_equal(count_class(&walked.sink, "float array"), 0);
	assert_int_equal(count_class(&walked.sink, "block of tag 0, 2 fields"), FORGED_PAIRS);
	walked_free(&walked);
	forged_put(forged->heap + 8 * 131, forged->heap); /* not its owner */
	expect_why(&forged->memory, "domains");
}

static void a_circle_of_pools_or_large_blocks_ends(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged->small, forged->small);
	forged_put(forged->large + 8, forged->large);
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "block of tag 0, 2 fields"), FORGED_PAIRS);
	assert_int_equal(count_class(&walked.sink, "block of tag 9, 128 fields or more"), 1);
	walked_free(&walked);
}

static void pools_that_overlap_are_read_once(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint64_t bytes;

	walk(&forged->memory, &walked);
	bytes = REPORT(&walked)->heap_bytes;
	walked_free(&walked);
	forged_put(forged->medium, forged->small + MEMORY_PAGE);
	forged_put(forged->small + MEMORY_PAGE + 24, FORGED_MEDIUM);
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_int_equal(REPORT(&walked)->heap_bytes, bytes);
	walked_free(&walked);
}

static void domains_have_a_minor_heap_each(void **state)
{
	struct forged *forged = *state;
	uint64_t second = forged_memory_malloc(&forged->memory, 64 * 8);
	uint64_t heap = forged_memory_malloc(&forged->memory, (132 + 8) * 8);
	struct walked walked;

	memcpy(forged_memory_place(second), forged_memory_place(forged->state), 64 * 8);
	forged_put(second + 8 * 35, heap);
	forged_put(heap + 8 * 131, second);
	memcpy(forged_memory_place(forged->table + 0xa0), forged_memory_place(forged->table), 0xa0);
	forged_put(forged->table + 0xa0 + 8, second);
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_int_equal(REPORT(&walked)->nonsense, 0);
	expect_root(&walked.sink, "stack", forged->stack);
	walked_free(&walked);
}

/* Two million roots: a module of many blocks, which are one. */
static void roots_of_modules_leave_room_for_all_others(void **state)
{
	struct forged *forged = *state;
	uint64_t list = forged->memory.base + 0x9000, block = forged->memory.base + 0xc008;
	uint64_t fields = 2040, blocks = (1u << 21) / fields + 1;
	struct walked walked;

	forged_put(forged->globals, list);
	for (uint64_t i = 0; i < blocks; i++)
		forged_put(list + i * 8, block);
	forged_put(block - HEADER_BYTES, forged_header(0, fields, 3));
	for (uint64_t i = 0; i < fields; i++)
		forged_put(block + i * 8, forged->pairs);
	walk(&forged->memory, &walked);
	assert_true(walked.sink.roots.count > blocks * fields);
	expect_root(&walked.sink, "stack", forged->stack);
	expect_root(&walked.sink, "finaliser App.fun_13 × 1", forged_word(forged->final));
	walked_free(&walked);
}

/* A list of modules that leads to nothing but blocks as large as memory. */
static void modules_that_lead_to_the_same_again_and_again_end(void **state)
{
	struct forged *forged = *state;
	uint64_t list = forged->memory.base + 0x9000, block = forged->memory.base + 0xc008;
	struct walked walked;

	forged_put(forged->globals, list);
	for (uint64_t i = 0; i < 256; i++)
		forged_put(list + i * 8, block);
	forged_put(block - HEADER_BYTES, forged_header(0, UINT64_MAX >> 10, 3));
	assert_true(walk_within(&forged->memory, OCAML_KEY, 1 << 18, &walked));
	walked_free(&walked);
	assert_false(walk_within(&forged->memory, OCAML_KEY, 1 << 24, &walked));
	walked_free(&walked);
}

/* More than 4096 blocks, one of more than 65536 fields. */
static void all_fields_of_all_blocks_of_a_module_are_roots(void **state)
{
	struct forged *forged = *state;
	uint64_t blocks = 5000, fields = 70000, size = (blocks + 1 + 1 + fields) * 8;
	uint64_t list = forged_memory_more(&forged->memory, align_up(size, MEMORY_PAGE));
	uint64_t block = list + (blocks + 2) * 8;
	struct walked walked;
	char name[64];

	assert_int_not_equal(list, 0);
	forged_put(forged->globals, list);
	for (uint64_t i = 0; i < blocks; i++)
		forged_put(list + i * 8, i + 1 < blocks ? forged->module : block);
	forged_put(block - HEADER_BYTES, forged_header(0, fields, 3));
	forged_put(block + (fields - 1) * 8, forged->pairs);
	walk(&forged->memory, &walked);
	snprintf(name, sizeof(name), "module at 0x%llx[%llu]", (unsigned long long)block,
		 (unsigned long long)fields - 1);
	expect_root(&walked.sink, name, forged->pairs);
	walked_free(&walked);
}

/* A server that had many fibers keeps their stacks. */
static void stacks_kept_for_reuse_are_roots_however_many(void **state)
{
	struct forged *forged = *state;
	uint64_t links = 3000, chain = forged_memory_malloc(&forged->memory, links * 16);
	uint64_t caches = forged_memory_malloc(&forged->memory, 5 * 8);
	uint64_t last = forged_memory_malloc(&forged->memory, 64);
	struct walked walked;

	for (uint64_t i = 0; i < links; i++)
		forged_put(chain + i * 16 + 8, i + 1 < links ? chain + (i + 1) * 16 : last);
	forged_put(caches, chain);
	forged_put(forged->state + 8 * 9, caches);
	walk(&forged->memory, &walked);
	assert_int_equal(count_roots(&walked.sink, "stacks kept for reuse"), links + 1);
	assert_true(has_root(&walked.sink, "stacks kept for reuse", last));
	walked_free(&walked);
	forged_put(last + 8, chain); /* in a circle */
	walk(&forged->memory, &walked);
	assert_true(has_root(&walked.sink, "stacks kept for reuse", last));
	walked_free(&walked);
}

/* C called C, and so on, for two megabytes before it called OCaml. */
static void a_deep_stack_of_c_is_read_to_its_end(void **state)
{
	struct forged *forged = *state;
	uint64_t size = 2u << 20, stack = forged_memory_more(&forged->memory, size);
	struct walked walked;

	assert_int_not_equal(stack, 0);
	forged_put(stack + size - 8, forged->kept);
	forged_put(forged->state + 8 * 8, stack + 24);
	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "C stack", forged->kept);
	walked_free(&walked);
}

/* A server whose every connection has one. */
static void a_million_finalisers_are_roots(void **state)
{
	struct forged *forged = *state;
	uint64_t count = (1u << 20) + 1, size = align_up(count * 24, MEMORY_PAGE);
	uint64_t table = forged_memory_more(&forged->memory, size);
	uint64_t finalisers = forged_word(forged->state + 8 * 22);
	struct walked walked;

	assert_int_not_equal(table, 0);
	for (uint64_t i = 0; i < count; i++) {
		forged_put(table + i * 24, forged_word(forged->final));
		forged_put(table + i * 24 + 8, i + 1 < count ? forged->pairs : forged->kept);
	}
	forged_put(finalisers, table);
	forged_put(finalisers + 16, count);
	forged_put(finalisers + 24, count);
	walk(&forged->memory, &walked);
	assert_true(has_root(&walked.sink, "value that awaits finaliser App.fun_13 × 1048577",
			     forged->kept));
	assert_int_equal(count_roots(&walked.sink, "finaliser App.fun_13 × 1048577"), count);
	walked_free(&walked);
}

/* According to its table it holds more values than it has words. */
static void a_frame_that_holds_more_than_the_stack_is_not_known(void **state)
{
	struct forged *forged = *state;
	uint64_t table = forged->memory.base + 0xa000, live = 2000;
	struct walked walked;

	forged_put(forged->memory.base + 0x200, table);
	forged_put(table, 1);
	forged_put(table + 8, forged->code + 16);
	forged_put(table + 16, 32 | live << 16);
	for (uint64_t i = 0; i < live; i += 4)
		forged_put(table + 20 + i * 2, 0x0010001000100010);
	walk(&forged->memory, &walked);
	assert_true(refers(&walked.sink, forged->suspended, forged->stale));
	assert_int_equal(count_references(&walked.sink, forged->suspended), 2);
	walked_free(&walked);
}

/* A collection leaves empty headers. */
static void a_minor_heap_that_is_collected_is_left_out(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged->young + 5 * 8, 0);
	walk(&forged->memory, &walked);
	assert_non_null(strstr(REPORT(&walked)->why, "may be missing"));
	assert_int_equal(count_class(&walked.sink, "block of tag 7, 4 fields"), 0);
	for (size_t i = 0; i < walked.sink.claimed.count; i++)
		assert_false(walked.sink.claimed.items[i].start <= forged->young &&
			     walked.sink.claimed.items[i].end > forged->young);
	walked_free(&walked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FORGED(blocks_of_pools_and_large_and_young_ones_are_counted),
		FORGED(modules_finalisers_and_stacks_are_roots),
		FORGED(garbage_that_awaits_its_finaliser_is_no_leak),
		FORGED(large_garbage_is_the_runtimes_own),
		FORGED(a_suspended_stack_holds_what_its_frames_use),
		FORGED(domains_of_a_stripped_program_are_found_by_their_shape),
		FORGED(domains_and_sizes_of_5_1_are_read),
		FORGED(domains_and_sizes_of_5_0_are_read),
		FORGED(pools_that_no_domain_has_are_found_by_their_statistics),
		FORGED(what_does_not_balance_is_reported),
		FORGED(a_circle_of_pools_or_large_blocks_ends),
		FORGED(pools_that_overlap_are_read_once),
		FORGED(domains_have_a_minor_heap_each),
		FORGED(roots_of_modules_leave_room_for_all_others),
		FORGED(modules_that_lead_to_the_same_again_and_again_end),
		FORGED(all_fields_of_all_blocks_of_a_module_are_roots),
		FORGED(stacks_kept_for_reuse_are_roots_however_many),
		FORGED(a_deep_stack_of_c_is_read_to_its_end),
		FORGED(a_million_finalisers_are_roots),
		FORGED(a_frame_that_holds_more_than_the_stack_is_not_known),
		FORGED(a_minor_heap_that_is_collected_is_left_out),
		FORGED(nonsense_anywhere_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
