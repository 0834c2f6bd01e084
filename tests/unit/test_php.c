// SPDX-License-Identifier: GPL-2.0-or-later
/* The heap of a small PHP program made by hand; then the same with nonsense in it. */
#include "unit/php_fixture.h"

#include "heap/runtime/class_origin.h"

#define MUTANTS 600
#include "unit/walked.h"

#define SESSIONS (FORGED_SESSIONS + 4) /* in the array, and by other variables */

static void objects_have_their_classes(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_int_equal(REPORT(&walked)->nonsense, 0);
	assert_string_equal(REPORT(&walked)->version, "8.2.36");
	assert_false(REPORT(&walked)->untested);
	assert_false(REPORT(&walked)->by_request);
	assert_false(REPORT(&walked)->collector_off);
	assert_int_equal(count_class(&walked.sink, "App\\Session"), SESSIONS);
	assert_int_equal(count_class(&walked.sink, "App\\Node"), 2);
	assert_int_equal(count_class(&walked.sink, "Closure app.php:12"), 1);
	assert_int_equal(count_class(&walked.sink, "WeakReference"), 1);
	assert_int_equal(count_class(&walked.sink, "array"), 1);
	assert_int_equal(REPORT(&walked)->heap_bytes - REPORT(&walked)->free_bytes, forged->used);
	walked_free(&walked);
}

static void variables_are_roots_by_their_names(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "Registry::$instances", forged->instances);
	expect_root(&walked.sink, "$cache", forged->cached);
	expect_root(&walked.sink, "static $seen in remember()", forged->seen);
	expect_root(&walked.sink, "$local in run()", forged->local);
	assert_null(root_named(&walked.sink, "App\\Node"));
	walked_free(&walked);
}

static void a_variable_without_a_name_is_a_root_as_well(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged_word(forged->function + 112), 0);
	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "$ in run()", forged->local);
	walked_free(&walked);
	forged_put(forged_word(forged->function + 112), 12345);
	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "$? in run()", forged->local);
	walked_free(&walked);
}

static void references_are_those_of_arrays_properties_and_closures(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	const struct heap_sink *sink = &walked.sink;
	uint32_t node, at;

	walk(&forged->memory, &walked);
	assert_int_equal(count_references(sink, forged->instances), FORGED_SESSIONS);
	assert_true(refers(sink, forged->instances, forged->first));
	node = heap_sink_node(sink, forged->first);
	at = sink->first[node];
	assert_int_equal(sink->references.targets[at], heap_sink_node(sink, forged->callback));
	assert_string_equal(heap_sink_label_name(sink, sink->references.labels[at]), "user");
	assert_int_equal(count_references(sink, forged->callback), 1);
	assert_true(refers(sink, forged->callback, forged->held));
	/* Weak references hold nothing. */
	assert_int_equal(count_references(sink, forged->weak), 0);
	walked_free(&walked);
}

static void a_collector_that_is_off_is_said_to_be(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_half(forged->collector + 8, 0);
	walk(&forged->memory, &walked);
	assert_true(REPORT(&walked)->collector_off);
	walked_free(&walked);
}

static void a_program_that_frees_by_request_says_so(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put_text(forged_word(forged->sapi), "fpm-fcgi");
	walk(&forged->memory, &walked);
	assert_true(REPORT(&walked)->by_request);
	walked_free(&walked);
	forged_put(forged->globals + 992, 0); /* between two requests */
	expect_why(&forged->memory, "no script runs");
}

static uint64_t core_of(const struct forged *forged)
{
	return forged_word(forged_word(forged->registry + 16));
}

static void versions_are_refused_by_name(void **state)
{
	struct forged *forged = *state;
	uint64_t core = core_of(forged);

	forged_half(core + 4, 20210902);
	expect_why(&forged->memory, "before 8.2");
	forged_half(core + 4, 20220829);
	forged_half(core + 8, 1);
	expect_why(&forged->memory, "debug");
	forged_half(core + 8, 0x100);
	expect_why(&forged->memory, "thread-safe");
}

static void another_version_that_proves_itself_is_not_tested(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_half(core_of(forged) + 4, 20230831);
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_true(REPORT(&walked)->untested);
	assert_int_equal(count_class(&walked.sink, "App\\Session"), SESSIONS);
	walked_free(&walked);
}

static void what_contradicts_itself_is_not_read(void **state)
{
	struct forged *forged = *state;
	const struct {
		uint64_t place;
		uint32_t half;
		const char *why;
	} changes[] = {
		{forged->globals + 840 + STORE_TOP, FORGED_OBJECTS_MAX + 1, "its objects"},
		{forged->cached + OBJECT_HANDLE, 77, "its objects"},
		{forged->session, 3, "its objects"},
		{forged->function + 80, 1, "functions"},
		{forged->chunk, 0x40, "zend_mm"},
		{forged->chunk + 24, 9, "zend_mm"},
		{forged->heap, 1, "USE_ZEND_ALLOC=0"},
		{forged->heap + FORGED_MAIN_CHUNK + 16, 2, "chunks"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		uint32_t was = (uint32_t)forged_word(changes[i].place);

		forged_half(changes[i].place, changes[i].half);
		expect_why(&forged->memory, changes[i].why);
		forged_half(changes[i].place, was);
	}
}

/* The blocks are reported, with a note that some may be missing. */
static void blocks_add_up_to_what_zend_mm_uses(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged->heap + 16, forged->used + 8192);
	walk(&forged->memory, &walked);
	assert_non_null(strstr(REPORT(&walked)->why, "do not add up"));
	assert_int_equal(count_class(&walked.sink, "App\\Session"), SESSIONS);
	walked_free(&walked);
}

/* A list in a circle ends where it was. */
static void a_free_list_in_a_circle_ends(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint64_t list = forged->heap + 32 + forged_sizes[FORGED_56].bin * 8ull;

	forged_put(forged_word(list), forged_word(list));
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->nonsense, 1);
	walked_free(&walked);
}

static void blocks_that_a_chunk_tells_of_are_bounded(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	assert_false(walk_within(&forged->memory, PHP_KEY, 1 << 20, &walked));
	walked_free(&walked);
	/* The head of a chunk is 2 KiB, and can tell of 262,144 blocks. */
	for (uint32_t page = 1; page < 512; page++)
		forged_page(forged, page, 0x80000000u, 1);
	forged_half(forged->chunk + 24, 0);
	assert_true(walk_within(&forged->memory, PHP_KEY, 1 << 20, &walked));
	walked_free(&walked);
}

static void classes_without_a_namespace_are_the_programs(void **state)
{
	(void)state;
	assert_int_equal(class_origin_of(PHP_KEY, "Session"), CLASS_OF_PROGRAM);
	assert_int_equal(class_origin_of(PHP_KEY, "Closure app.php:12"), CLASS_OF_PROGRAM);
	assert_int_equal(class_origin_of(PHP_KEY, "array"), CLASS_OF_LANGUAGE);
	assert_int_equal(class_origin_of(PHP_KEY, "string"), CLASS_OF_LANGUAGE);
}

/* A chunk, a huge block, and a block of malloc's that begins where a huge one might. */
static void chunks_and_huge_blocks_are_the_heap(void **state)
{
	char text[] = "200000000000-200000800000 rw-p 00000000 00:00 0 ";
	char program[] = "560000000000-560000001000 r-xp 00000000 fe:00 7 /usr/bin/php8.2";
	_cleanup_(runtime_heap_free) struct runtime_heap heap = {0};
	struct mapping mappings[2];
	struct forged *forged = *state;
	struct peek peek = {.source = live_memory(getpid()), .pagemap = -1};

	assert_int_equal(maps_parse_line(text, &mappings[0]), 0);
	assert_int_equal(maps_parse_line(program, &mappings[1]), 0);
	mappings[0].end = mappings[0].start + FORGED_BYTES;
	assert_int_equal(runtime_heap_find(mappings, 2, sizeof(*mappings), &heap), 0);
	assert_string_equal(heap.runtime->key, PHP_KEY);
	forged_put(forged->memory.base, 0);
	forged_put(forged->memory.base + 8, (1u << 21) | 2);
	assert_true(runtime_heap_share(&heap, &mappings[0], &peek) == 0.5);
	peek_forget(&peek);
	forged_put(forged->memory.base, 1);
	assert_true(runtime_heap_share(&heap, &mappings[0], &peek) == 1);
	peek_free(&peek);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FORGED(objects_have_their_classes),
		FORGED(variables_are_roots_by_their_names),
		FORGED(a_variable_without_a_name_is_a_root_as_well),
		FORGED(references_are_those_of_arrays_properties_and_closures),
		FORGED(a_collector_that_is_off_is_said_to_be),
		FORGED(a_program_that_frees_by_request_says_so),
		FORGED(versions_are_refused_by_name),
		FORGED(another_version_that_proves_itself_is_not_tested),
		FORGED(what_contradicts_itself_is_not_read),
		FORGED(blocks_add_up_to_what_zend_mm_uses),
		FORGED(a_free_list_in_a_circle_ends),
		FORGED(blocks_that_a_chunk_tells_of_are_bounded),
		FORGED(chunks_and_huge_blocks_are_the_heap),
		cmocka_unit_test(classes_without_a_namespace_are_the_programs),
		FORGED(nonsense_anywhere_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
