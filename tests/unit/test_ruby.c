// SPDX-License-Identifier: GPL-2.0-or-later
/* A handmade heap of a small Ruby program, in each layout; then with nonsense in it. */
#include "unit/ruby_fixture.h"

#define MUTANTS 100
#include "unit/walked.h"

static const enum forged_version versions[] = {FORGED_3_4, FORGED_3_3, FORGED_3_1};

/* Calls a test's body with the memory of each version. */
static void in_each_version(void **state, void (*body)(struct forged *forged))
{
	struct forged *forged = *state;

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		forged_memory_free(&forged->memory);
		assert_true(forged_make_version(forged, versions[i]));
		body(forged);
	}
}

static void expect_classes(struct forged *forged)
{
	static const struct {
		const char *class;
		size_t count;
	} expected[] = {
		{"Session", FORGED_CACHED + 4},
		{"Class", 8},
		{"Hash", 1},
		{"Thread", 1},
		{"Thread (ended)", 1},
		{"WeakMap", 1},
		{"(bytecode)", 1},
		{"(garbage that awaits the sweep)", 1},
	};
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_false(REPORT(&walked)->untested);
	assert_int_equal(REPORT(&walked)->nonsense, 0);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_int_equal(count_class(&walked.sink, expected[i].class), expected[i].count);
	walked_free(&walked);
}

static void objects_have_the_names_of_their_classes(void **state)
{
	in_each_version(state, expect_classes);
}

static void expect_roots(struct forged *forged)
{
	struct walked walked;

	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "CACHE", forged->cache);
	expect_root(&walked.sink, "$list", forged->list);
	expect_root(&walked.sink, "Session", forged->session);
	assert_int_equal(root_named(&walked.sink, "Session")->rank, MANAGED_OWN);
	expect_root(&walked.sink, "main thread", forged->thread);
	expect_root(&walked.sink, "finalizers", forged->finalizer);
	assert_true(has_root(&walked.sink, "frame work() → mine", forged->local));
	assert_int_equal(root_named(&walked.sink, "frame work() → mine")->rank, MANAGED_PASSING);
	expect_root(&walked.sink, "garbage that awaits the sweep", forged->garbage);
	assert_int_equal(root_named(&walked.sink, "garbage that awaits the sweep")->rank,
			 MANAGED_WAITING);
	walked_free(&walked);
}

static void constants_globals_frames_and_finalizers_are_roots(void **state)
{
	in_each_version(state, expect_roots);
}

/* The label of the reference between two objects; "": none, or there is no reference. */
static const char *label_between(const struct heap_sink *sink, uint64_t from, uint64_t to)
{
	uint32_t node = heap_sink_node(sink, from), target = heap_sink_node(sink, to);

	for (uint32_t i = sink->first[node]; i < sink->first[node + 1]; i++) {
		const char *name = heap_sink_label_name(sink, sink->references.labels[i]);

		if (sink->references.targets[i] == target && name)
			return name;
	}
	return "";
}

static void expect_references(struct forged *forged)
{
	struct walked walked;
	struct heap_sink *sink = &walked.sink;

	walk(&forged->memory, &walked);
	for (size_t i = 0; i < FORGED_CACHED; i++)
		assert_true(refers(sink, forged->cache, forged->cached[i]));
	assert_string_equal(label_between(sink, forged->cached[1], forged->held), "@held");
	assert_string_equal(label_between(sink, forged->list, forged->listed), "[:entry]");
	assert_true(refers(sink, forged->finalizer, forged->ended));
	walked_free(&walked);
}

static void references_have_the_names_of_variables_and_keys(void **state)
{
	in_each_version(state, expect_references);
}

static void expect_generic(struct forged *forged)
{
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_true(refers(&walked.sink, forged->noted, forged->variable));
	walked_free(&walked);
}

static void strings_may_have_variables(void **state)
{
	in_each_version(state, expect_generic);
}

static void expect_weak(struct forged *forged)
{
	struct walked walked;
	uint32_t weak;

	walk(&forged->memory, &walked);
	weak = heap_sink_node(&walked.sink, forged->only_weak);
	for (size_t i = 0; i < walked.sink.references.count; i++)
		assert_int_not_equal(walked.sink.references.targets[i], weak);
	for (size_t i = 0; i < walked.sink.roots.count; i++)
		assert_int_not_equal(walked.sink.roots.items[i].node, weak);
	walked_free(&walked);
}

static void weak_maps_and_finalizers_hold_no_keys(void **state)
{
	in_each_version(state, expect_weak);
}

static void garbage_refers_to_nothing(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint32_t node;

	forged_put(forged->garbage_block, forged->held);
	walk(&forged->memory, &walked);
	node = heap_sink_node(&walked.sink, forged->garbage);
	assert_int_equal(walked.sink.first[node], walked.sink.first[node + 1]);
	walked_free(&walked);
}

/* Ruby 3.5 with the layout of 3.4, and one that nobody knows. */
static void a_version_that_is_not_known_must_prove_a_layout(void **state)
{
	struct forged *forged = *state;
	uint64_t numbers = forged->memory.base + forged->memory.symbols[0].address;
	struct walked walked;

	forged_put(numbers, 3 | 5ull << 32);
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_true(REPORT(&walked)->untested);
	assert_string_equal(REPORT(&walked)->version, "3.5");
	assert_int_equal(count_class(&walked.sink, "Session"), FORGED_CACHED + 4);
	walked_free(&walked);
	forged_put(forged->vm + forged->layout->vm_objspace, 0);
	expect_why(&forged->memory, "another layout");
}

static void what_contradicts_itself_is_not_read(void **state)
{
	struct forged *forged = *state;
	uint64_t base = forged->memory.base, kept;

	kept = forged_word(base + FORGED_HEAP);
	forged_put(base + FORGED_HEAP, kept + 8);
	expect_why(&forged->memory, "heap pages");
	forged_put(base + FORGED_HEAP, kept);
	kept = forged_word(forged->vm + 8);
	forged_put(forged->vm + 8, forged->vm + 8);
	expect_why(&forged->memory, "threads");
	forged_put(forged->vm + 8, kept);
	kept = forged_word(base + 0x410);
	forged_put(base + 0x410, forged->cache + 8);
	expect_why(&forged->memory, "symbols");
	forged_put(base + 0x410, kept);
	kept = forged_word(base + 0x500);
	forged_put(base + 0x500, 0);
	expect_why(&forged->memory, "shapes");
	forged_put(base + 0x500, kept);
	forged_put(base + 0x200, forged->session);
	expect_why(&forged->memory, "names of its classes");
}

/* Objects are where they were a moment ago, and where they will be. */
static void while_objects_move_they_are_read_again(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged->objspace + 16, 1u << 6);
	walk(&forged->memory, &walked);
	assert_true(REPORT(&walked)->retries > 0);
	assert_non_null(strstr(REPORT(&walked)->why, "compaction"));
	walked_free(&walked);
}

/* Elements that two arrays claim are the first one's. */
static void memory_belongs_to_one_object(void **state)
{
	struct forged *forged = *state;
	uint64_t items = forged_word(forged->cache + 32);
	uint64_t other = forged_array_of(forged, items, FORGED_CACHED);
	struct walked walked;
	uint64_t word, bit = (other & (forged->layout->page_bytes - 1)) / RUBY_SLOT_BYTES;

	word = forged->pages[0] + forged->layout->mark_bits + bit / 64 * 8;
	forged_put(word, forged_word(word) | 1ull << bit % 64);
	walk(&forged->memory, &walked);
	assert_true(refers(&walked.sink, forged->cache, forged->cached[0]));
	assert_false(refers(&walked.sink, other, forged->cached[0]));
	walked_free(&walked);
}

/* A table of 2^39 entries in a weak map. */
static void tables_end_where_memory_does(void **state)
{
	struct forged *forged = *state;
	uint64_t table = forged_word(forged_word(forged->weak + 32));
	struct walked walked;

	forged_put(table, 39);
	forged_put(table + 40, 1ull << 39);
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_int_equal(count_class(&walked.sink, "Session"), FORGED_CACHED + 4);
	walked_free(&walked);
}

static void nonsense_in_older_versions_does_no_harm(void **state)
{
	struct forged *forged = *state;

	forged_memory_free(&forged->memory);
	assert_true(forged_make_version(forged, FORGED_3_1));
	expect_no_harm_of_nonsense(&forged->memory, MUTANTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FORGED(objects_have_the_names_of_their_classes),
		FORGED(constants_globals_frames_and_finalizers_are_roots),
		FORGED(references_have_the_names_of_variables_and_keys),
		FORGED(strings_may_have_variables),
		FORGED(weak_maps_and_finalizers_hold_no_keys),
		FORGED(garbage_refers_to_nothing),
		FORGED(a_version_that_is_not_known_must_prove_a_layout),
		FORGED(what_contradicts_itself_is_not_read),
		FORGED(while_objects_move_they_are_read_again),
		FORGED(memory_belongs_to_one_object),
		FORGED(tables_end_where_memory_does),
		FORGED(nonsense_anywhere_does_no_harm),
		FORGED(nonsense_in_older_versions_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
