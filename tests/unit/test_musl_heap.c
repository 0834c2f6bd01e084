// SPDX-License-Identifier: GPL-2.0-or-later
/* Handmade state of musl's malloc in this process: consistent state is read, the rest is not. */
#include "unit/musl_fixture.h"

#define LIVE_BYTES (2 * 4080 + 13 * 240 + 3 * PAGE - 16)

static void slots_are_counted_as_musl_counts_them(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;
	const struct heap_run *run;

	put_usual(fixture);
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	assert_true(heap.blocks_certain);
	assert_string_equal(heap.name, "musl");
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 2 + 13 + 1);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE], LIVE_BYTES);
	assert_int_equal(heap.figures[ALLOCATOR_ALLOCATED], LIVE_BYTES);
	assert_int_equal(heap.figures[ALLOCATOR_ACTIVE], 7 * PAGE);
	assert_int_equal(heap.figures[ALLOCATOR_METADATA], PAGE);
	/* The slot that contains a group is not a block. */
	run = heap_at(&heap, SLOT_4080(fixture, 1) + 100);
	assert_int_equal(run->block, 240);
	assert_int_equal(run->count, 16);
	assert_false(heap_is_live(&heap, run, 0));
	assert_true(heap_is_live(&heap, run, 2));
	assert_int_equal(heap_at(&heap, SLOT_4080(fixture, 0))->count, 1);
	assert_int_equal(heap_at(&heap, SLOT_4080(fixture, 3))->count, 2);
	heap_free(&heap);
}

/* With pages of other sizes, the context has one word more. */
static void the_number_may_stand_one_word_before(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	*at(fixture->context - 56) = 1;
	*at(fixture->context - 64) = SECRET;
	made_read(&fixture->memory, &heap);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 2 + 13 + 1);
	heap_free(&heap);
}

static void what_is_no_list_is_not_found(void **state)
{
	struct fixture *fixture = *state;

	put_usual(fixture);
	assert_int_equal(made_find(&fixture->memory), 0);
	at(fixture->areas)[0]++;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
	at(fixture->areas)[0]--;
	at(fixture->areas)[2] = RECORDS_EACH + 1;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
	at(fixture->areas)[2] = RECORDS_EACH;
	at(fixture->context)[0] = 0;
	assert_int_equal(made_find(&fixture->memory), -ENOENT);
}

/* A dropped group may be the content of a larger one's slot, so nothing is certain. */
static void groups_that_contradict_themselves_make_it_uncertain(void **state)
{
	struct fixture *fixture = *state;
	uint64_t *inner = put_usual(fixture);
	const struct {
		uint32_t word;
		uint64_t value;
	} wrong[] = {
		{2, fixture->groups + 40 * PAGE}, /* its target does not point back */
		{2, UINT64_MAX},
		{3, 3 | 3ull << 32},		      /* free twice */
		{3, 1ull << 20},		      /* beyond its slots */
		{4, 15 | 1 << 5 | 50 << 6},	      /* no such size */
		{4, 15 | 1 << 5 | 11 << 6 | 1 << 12}, /* 16 slots of 240 bytes are no page... */
		{4, 31 | 1 << 5 | 11 << 6 | 1 << 12}, /* ... but 32 are more */
		{4, 20 | 1 << 5 | 11 << 6},	      /* larger than the slot it is in */
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		uint64_t before = inner[wrong[i].word];
		struct heap heap;

		inner[wrong[i].word] = wrong[i].value;
		made_read(&fixture->memory, &heap);
		inner[wrong[i].word] = before;
		if (i == 5) {
			assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 2 + 13 + 1);
		} else {
			assert_non_null(heap.why);
			assert_false(heap.blocks_certain);
		}
		heap_free(&heap);
	}
}

static void each_size_has_as_many_slots_as_are_counted(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	(*at(usage_at(fixture, CLASS_48)))++;
	made_read(&fixture->memory, &heap);
	assert_non_null(heap.why);
	assert_false(heap.blocks_certain);
	heap_free(&heap);
}

static void a_list_that_does_not_end_ends(void **state)
{
	struct fixture *fixture = *state;
	struct heap heap;

	put_usual(fixture);
	put_area(fixture);
	made_read(&fixture->memory, &heap);
	assert_null(heap.why);
	heap_free(&heap);
	at(fixture->areas + PAGE)[1] = fixture->areas;
	made_read(&fixture->memory, &heap);
	assert_int_equal(heap.figures[ALLOCATOR_LIVE_BLOCKS], 2 + 13 + 1);
	heap_free(&heap);
	/* It does not lead to the last area. */
	at(fixture->areas)[1] = 0;
	made_read(&fixture->memory, &heap);
	assert_false(heap.blocks_certain);
	heap_free(&heap);
}

static void groups_lie_in_groups_so_deep_and_no_deeper(void **state)
{
	struct fixture *fixture = *state;
	static const uint32_t classes[] = {45, 41, 37, 33, 29, 25, 21, 17, 13, 9, 5};
	uint64_t start = fixture->groups;
	struct heap heap;

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++, start += 16)
		put_group(fixture, start, classes[i], 1, 0, 0, 0);
	made_read(&fixture->memory, &heap);
	assert_non_null(heap.why);
	heap_free(&heap);
}

int main(void)
{
#define with_fixture(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		with_fixture(slots_are_counted_as_musl_counts_them),
		with_fixture(the_number_may_stand_one_word_before),
		with_fixture(what_is_no_list_is_not_found),
		with_fixture(groups_that_contradict_themselves_make_it_uncertain),
		with_fixture(each_size_has_as_many_slots_as_are_counted),
		with_fixture(a_list_that_does_not_end_ends),
		with_fixture(groups_lie_in_groups_so_deep_and_no_deeper),
	};

	return cmocka_run_group_tests_name("musl_heap", tests, NULL, NULL);
}
