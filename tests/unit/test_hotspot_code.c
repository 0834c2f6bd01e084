// SPDX-License-Identifier: GPL-2.0-or-later
/* The code of a small JVM made by hand, as stacks are walked through it and its frames are
 * named. */
#include "unit/hotspot_fixture.h"

#include <errno.h>

#include "heap/runtime/hotspot/hotspot.h"
#include "process/symbol/symbolizer.h"

#define MUTANTS 600
#define CODE_READER hotspot_code_reader
#include "unit/code_reading.h"

#define HEAP (FORGED_BASE + FORGED_CODE)
#define HEAP_BYTES 0x1000u
#define SERVE (FORGED_BASE + FORGED_METHODS)
#define BYTECODES (SERVE + 0x40 + 32)
#define POOL (FORGED_BASE + FORGED_METHODS + 0x200)
/* Where the call of serve() that is inlined in accept() returns to. */
#define CALL (HEAP + 2 * 128 + 16 + 0x80 + 0x10)

static uint64_t interpreted(uint64_t method, uint64_t at)
{
	return LM_FRAME_INTERPRETED | (at & LM_INTERPRETED_AT_MASK) << LM_INTERPRETED_METHOD_BITS |
	       method >> 3;
}

/* The methods' pool of constants is that of their class. */
static void own_pool(void)
{
	forged_put(forged_klass(FORGED_SESSION) + 88, POOL);
}

static void expect_frame(const struct opened *opened, size_t i, const char *function, uint32_t line,
			 bool inlined)
{
	const struct frame *frame = &opened->frames.list.items[i];

	assert_string_equal(frame->function, function);
	assert_string_equal(frame->module, FRAME_JAVA);
	assert_string_equal(frame->file, "Shop.java");
	assert_int_equal(frame->line, line);
	assert_int_equal(frame->inlined, inlined);
}

static const struct lm_unwind_row *row_at(const struct opened *opened, size_t i)
{
	return &opened->builder.rows.items[i];
}

static void frames_of_the_interpreter_have_rows_and_others_are_left_by_their_block(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(hotspot_code_reader.rows(opened.state, &opened.rows), 0);
	assert_int_equal(opened.rows.start, HEAP);
	assert_int_equal(opened.rows.end, HEAP + HEAP_BYTES);
	assert_int_equal(opened.builder.rows.count, 2);
	assert_int_equal(row_at(&opened, 0)->kind, LM_UNWIND_INTERPRETED);
	assert_int_equal(row_at(&opened, 0)->pc, 0);
	assert_int_equal(row_at(&opened, 1)->kind, LM_UNWIND_MADE);
	assert_int_equal(row_at(&opened, 1)->pc, 2 * 128);
	assert_int_equal(opened.rows.blocks.heaps[0].low, HEAP);
	assert_int_equal(opened.rows.blocks.heaps[0].high, HEAP + HEAP_BYTES);
	assert_int_equal(opened.rows.blocks.heaps[0].segments, FORGED_BASE + FORGED_SEGMENTS);
	assert_int_equal(opened.rows.blocks.heaps[1].high, 0);
	assert_int_equal(opened.rows.blocks.shift, 7);
	assert_int_equal(opened.rows.blocks.frame, 16 + 16);
	close_code(&opened);
}

static void code_that_takes_frames_apart_ends_a_walk(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	forged_blob(forged, "DeoptimizationBlob", 6, 2);
	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(hotspot_code_reader.rows(opened.state, &opened.rows), 0);
	assert_int_equal(opened.builder.rows.count, 4);
	assert_int_equal(row_at(&opened, 2)->kind, LM_UNWIND_UNSUPPORTED);
	assert_int_equal(row_at(&opened, 2)->pc, 6 * 128);
	assert_int_equal(row_at(&opened, 3)->kind, LM_UNWIND_MADE);
	close_code(&opened);
}

static void a_call_has_the_methods_that_are_inlined_there(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	own_pool();
	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(name(&opened, CALL), 0);
	assert_int_equal(opened.frames.list.count, 2);
	expect_frame(&opened, 0, "shop.Session.serve", 7, true);
	expect_frame(&opened, 1, "shop.Session.accept", 107, false);
	assert_int_equal(opened.frames.list.items[0].address, CALL);
	close_code(&opened);
}

static void an_interpreted_frame_has_the_line_of_its_bytecode(void **state)
{
	static const struct {
		uint64_t at;
		uint32_t line;
	} places[] = {{0, 5}, {2, 5}, {3, 7}, {9, 107}, {10, 0}, {UINT64_MAX, 0}};
	struct forged *forged = *state;
	struct opened opened;

	own_pool();
	assert_int_equal(open_code(forged, &opened), 0);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		assert_int_equal(name(&opened, interpreted(SERVE, BYTECODES + places[i].at)), 0);
		assert_int_equal(opened.frames.list.count, 1);
		expect_frame(&opened, 0, "shop.Session.serve", places[i].line, false);
		assert_int_equal(opened.frames.list.items[0].address, SERVE);
	}
	close_code(&opened);
}

/* Interpreted, or compiled in one way or another. */
static void a_method_is_one_place_however_it_runs(void **state)
{
	struct forged *forged = *state;
	struct opened opened;
	uint64_t compiled;

	own_pool();
	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(name(&opened, CALL), 0);
	compiled = opened.frames.list.items[0].module_offset;
	assert_int_equal(name(&opened, interpreted(SERVE, BYTECODES + 3)), 0);
	assert_int_equal(opened.frames.list.items[0].module_offset, compiled);
	assert_int_equal(name(&opened, interpreted(SERVE, BYTECODES)), 0);
	assert_int_not_equal(opened.frames.list.items[0].module_offset, compiled);
	close_code(&opened);
}

static void other_code_has_the_name_of_its_block(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	forged_blob(forged, "RuntimeStub - _new_array_Java", 6, 2);
	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(name(&opened, HEAP + 6 * 128 + 64), 0);
	assert_int_equal(opened.frames.list.count, 1);
	assert_string_equal(opened.frames.list.items[0].function, "RuntimeStub - _new_array_Java");
	assert_null(opened.frames.list.items[0].file);
	close_code(&opened);
}

/* The address of an unloaded method may contain anything, and is not shown. */
static void what_is_no_method_any_more_has_no_name(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(name(&opened, CALL), -ENOENT);
	assert_int_equal(opened.frames.list.count, 0);
	assert_int_equal(name(&opened, interpreted(SERVE, BYTECODES)), -ENOENT);
	assert_int_equal(name(&opened, interpreted(8, 0)), -ENOENT);
	assert_int_equal(name(&opened, HEAP - 1), -ENOENT);
	assert_int_equal(opened.frames.list.count, 0);
	close_code(&opened);
}

/* Where no call returns to, or none can, other code has been. */
static void other_code_at_an_address_by_now_does_not_lend_its_name(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	own_pool();
	forged_blob(forged, "Compile::Fill_buffer", 6, 2);
	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(name(&opened, CALL), 0);
	assert_int_equal(name(&opened, CALL + 1), -ENOENT);
	assert_int_equal(name(&opened, HEAP + 6 * 128 + 64), -ENOENT);
	assert_int_equal(opened.frames.list.count, 0);
	close_code(&opened);
}

static void a_vm_that_has_not_started_has_no_code_yet(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	forged_put(FORGED_BASE + FORGED_SEGMENTS + 0x800 + 0x60, 0);
	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(hotspot_code_reader.rows(opened.state, &opened.rows), -ENOENT);
	close_code(&opened);
}

static void before_its_interpreter_is_made_it_has_none_either(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	forged_blob(forged, "StubRoutines (1)", 0, 2);
	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(hotspot_code_reader.rows(opened.state, &opened.rows), -ENOENT);
	close_code(&opened);
}

static void expect_ascending(const struct opened *opened)
{
	for (size_t i = 1; i < opened->builder.rows.count; i++)
		assert_true(row_at(opened, i)->pc > row_at(opened, i - 1)->pc);
}

static void read_all(struct forged *forged, struct opened *opened, uint64_t *seed)
{
	(void)forged;
	hotspot_code_reader.rows(opened->state, &opened->rows);
	expect_ascending(opened);
	name(opened, CALL);
	name(opened, interpreted(SERVE, BYTECODES));
	name(opened, HEAP + forged_random(seed) % HEAP_BYTES);
}

static void nonsense_in_it_does_no_harm(void **state)
{
	own_pool();
	expect_no_harm_of_code(*state, read_all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			frames_of_the_interpreter_have_rows_and_others_are_left_by_their_block,
			setup, teardown),
		cmocka_unit_test_setup_teardown(code_that_takes_frames_apart_ends_a_walk, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_call_has_the_methods_that_are_inlined_there,
						setup, teardown),
		cmocka_unit_test_setup_teardown(an_interpreted_frame_has_the_line_of_its_bytecode,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_method_is_one_place_however_it_runs, setup,
						teardown),
		cmocka_unit_test_setup_teardown(other_code_has_the_name_of_its_block, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_no_method_any_more_has_no_name, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			other_code_at_an_address_by_now_does_not_lend_its_name, setup, teardown),
		cmocka_unit_test_setup_teardown(a_vm_that_has_not_started_has_no_code_yet, setup,
						teardown),
		cmocka_unit_test_setup_teardown(before_its_interpreter_is_made_it_has_none_either,
						setup, teardown),
		cmocka_unit_test_setup_teardown(nonsense_in_it_does_no_harm, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
