// SPDX-License-Identifier: GPL-2.0-or-later
/* Limits of a walk's findings: as many as the target's memory has room for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "heap/runtime/heap_sink.h"
#include "heap/runtime/target_memory.h"

#define OCCUPIED (16ull << 20)
#define OBJECT 0x10000
#define OBJECTS 16
#define MANY (1u << 24) /* more than fits into OCCUPIED, and than the fixed allowance */

struct fixture {
	struct intern strings;
	struct heap_sink sink;
	struct target_memory memory;
	uint32_t class;
};

static int setup(void **state)
{
	const struct managed_class class = {.name = "Session", .runtime = "test"};
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint64_t nonsense;

	*state = fixture;
	fixture->memory = (struct target_memory){.occupied = OCCUPIED, .work_left = INT64_MAX};
	if (heap_sink_init(&fixture->sink, &fixture->strings, NULL, NULL, NULL, 0))
		return -1;
	fixture->sink.memory = &fixture->memory;
	if (heap_sink_class(&fixture->sink, &class, &fixture->class))
		return -1;
	for (uint64_t i = 0; i < OBJECTS; i++) {
		if (heap_sink_add(&fixture->sink, OBJECT * (i + 1), 64, fixture->class))
			return -1;
	}
	return heap_sink_settle(&fixture->sink, &nonsense);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	heap_sink_free(&fixture->sink);
	intern_free(&fixture->strings);
	free(fixture);
	return 0;
}

static void an_index_is_shown_as_it_is_or_not_at_all(void **state)
{
	(void)state;
	assert_int_equal(label_kind(label_index(LABEL_VALUE)), LABEL_INDEX);
	assert_int_equal(label_index(LABEL_VALUE) & LABEL_VALUE, LABEL_VALUE);
	assert_int_equal(label_kind(label_index(LABEL_VALUE + 1ull)), LABEL_NONE);
	assert_int_equal(label_index(UINT64_MAX), 0);
}

static void as_many_references_as_the_memory_has_words_are_taken(void **state)
{
	struct fixture *fixture = *state;
	struct heap_sink *sink = &fixture->sink;

	for (uint64_t i = 0; i < OCCUPIED / 2; i++)
		assert_int_equal(heap_sink_reference(sink, 0, 2 * OBJECT, LABEL_NONE), 0);
	assert_null(target_memory_overworked(&fixture->memory));
	assert_int_equal(sink->references.count, OCCUPIED / 2);
}

static void a_weak_reference_has_a_target_that_is_a_node(void **state)
{
	struct fixture *fixture = *state;
	struct heap_sink *sink = &fixture->sink;

	assert_int_equal(heap_sink_weak(sink, 1, OBJECT * 4), 0);
	assert_int_equal(heap_sink_weak(sink, 2, OBJECT * 3), 0); /* to itself */
	assert_int_equal(heap_sink_weak(sink, 3, 8), 0);
	assert_int_equal(heap_sink_weak(sink, 5, OBJECT * 1 + 8), 0);
	assert_int_equal(heap_sink_weak_target(sink, 1), 3);
	assert_int_equal(heap_sink_weak_target(sink, 2), BLOCK_NONE);
	assert_int_equal(heap_sink_weak_target(sink, 3), BLOCK_NONE);
	assert_int_equal(heap_sink_weak_target(sink, 5), 0);
	assert_int_equal(heap_sink_weak_target(sink, 6), BLOCK_NONE);
}

static void references_beyond_that_end_the_walk(void **state)
{
	struct fixture *fixture = *state;
	struct heap_sink *sink = &fixture->sink;

	for (uint32_t i = 0; i < MANY && !target_memory_overworked(&fixture->memory); i++)
		assert_int_equal(heap_sink_reference(sink, 0, 2 * OBJECT, LABEL_NONE), 0);
	assert_non_null(target_memory_overworked(&fixture->memory));
	assert_in_range(sink->references.count, OCCUPIED / 2, MANY);
	assert_int_equal(heap_sink_finish(sink), 0);
}

static void roots_beyond_that_end_the_walk(void **state)
{
	struct fixture *fixture = *state;
	struct heap_sink *sink = &fixture->sink;

	for (uint32_t i = 0; i < MANY && !target_memory_overworked(&fixture->memory); i++)
		assert_int_equal(heap_sink_root(sink, "test", "module app", OBJECT), 0);
	assert_non_null(target_memory_overworked(&fixture->memory));
	assert_in_range(sink->roots.count, OCCUPIED / 2, MANY);
}

/* Like attributes of one object with names of 16,000 bytes. */
static void names_count_by_their_lengths_and_once(void **state)
{
	struct fixture *fixture = *state;
	struct heap_sink *sink = &fixture->sink;
	char name[1 << 14];
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < MANY / 16; i++)
		assert_int_equal(heap_sink_label(sink, LABEL_ATTRIBUTE, "user"),
				 heap_sink_label(sink, LABEL_ATTRIBUTE, "user"));
	assert_null(target_memory_overworked(&fixture->memory));
	for (uint32_t i = 0; i < MANY && !target_memory_overworked(&fixture->memory); i++) {
		snprintf(name, sizeof(name), "%016000u", i);
		heap_sink_label(sink, LABEL_ATTRIBUTE, name);
		bytes += 16000;
	}
	assert_non_null(target_memory_overworked(&fixture->memory));
	assert_in_range(bytes, OCCUPIED, 16 * MANY);
	assert_int_equal(heap_sink_label(sink, LABEL_ATTRIBUTE, "another"), 0);
}

/* A walk that begins again has its room again. */
static void what_is_forgotten_takes_no_room(void **state)
{
	struct fixture *fixture = *state;
	struct heap_sink *sink = &fixture->sink;
	const struct heap_sink_mark mark = heap_sink_mark(sink);

	for (unsigned i = 0; i < 20; i++) {
		for (uint64_t n = 0; n < OCCUPIED / 16; n++)
			assert_int_equal(heap_sink_add(sink, OBJECT + n * 8, 8, fixture->class), 0);
		heap_sink_rewind(sink, mark);
	}
	assert_null(target_memory_overworked(&fixture->memory));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_index_is_shown_as_it_is_or_not_at_all),
		TEST(as_many_references_as_the_memory_has_words_are_taken),
		TEST(a_weak_reference_has_a_target_that_is_a_node),
		TEST(references_beyond_that_end_the_walk),
		TEST(roots_beyond_that_end_the_walk),
		TEST(names_count_by_their_lengths_and_once),
		TEST(what_is_forgotten_takes_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
