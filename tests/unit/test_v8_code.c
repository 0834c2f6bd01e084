// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions of a small V8 made by hand, as frames of stacks are named by them. */
#include "unit/v8_fixture.h"

#include <errno.h>

#include "heap/runtime/v8/v8.h"
#include "process/symbol/symbolizer.h"

#define MUTANTS 600
#define CODE_READER v8_code_reader
#include "unit/code_reading.h"

static uint64_t constant(const struct forged *forged, const char *name)
{
	const struct symbol_table *table = &forged->memory.image.table;

	for (size_t i = 0; i < table->count; i++) {
		if (!strcmp(table->names + table->symbols[i].name, name))
			return FORGED_BASE + table->symbols[i].address;
	}
	fail_msg("%s", name);
	return 0;
}

static void expect_frame(const struct opened *opened, const char *function, const char *file,
			 uint32_t line)
{
	const struct frame *frame = &opened->frames.list.items[0];

	assert_int_equal(opened->frames.list.count, 1);
	assert_string_equal(frame->function, function);
	assert_string_equal(frame->module, FRAME_JAVASCRIPT);
	if (file)
		assert_string_equal(frame->file, file);
	else
		assert_null(frame->file);
	assert_int_equal(frame->line, line);
	assert_false(frame->inlined);
}

static void frames_are_noted_by_what_their_functions_share(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(v8_code_reader.rows(opened.state, &opened.rows), 0);
	assert_int_equal(opened.builder.rows.count, 0);
	assert_int_equal(opened.rows.blocks.shared, 24);
	assert_int_equal(opened.rows.blocks.bytecode, forged->bytecode);
	assert_int_equal(opened.rows.blocks.heaps[0].high, 0);
	close_code(&opened);
}

static void a_function_has_its_name_script_and_first_line(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(
		name(&opened, forged_noted(forged_on_data(forged), FORGED_BYTECODE_HEADER)), 0);
	expect_frame(&opened, "onData", "/srv/server.js", 2);
	assert_int_equal(opened.frames.list.items[0].address, forged_on_data(forged) - 1);
	assert_int_equal(name(&opened, forged_noted(forged_shared_of(forged->last_function), 0)),
			 0);
	expect_frame(&opened, "late", "/srv/server.js", 3);
	close_code(&opened);
}

static void expect_lines(struct forged *forged)
{
	static const struct {
		uint64_t at;
		uint32_t line;
	} places[] = {{FORGED_BYTECODE_HEADER, 2},
		      {FORGED_BYTECODE_HEADER + 9, 2},
		      {FORGED_BYTECODE_HEADER + 10, 3},
		      {FORGED_BYTECODE_HEADER + 28, 3},
		      {FORGED_BYTECODE_HEADER + 29, 1},
		      {FORGED_BYTECODE_HEADER + FORGED_BYTECODES - 1, 1},
		      /* Without bytecode of its own: its first line. */
		      {FORGED_BYTECODE_HEADER + FORGED_BYTECODES, 2},
		      {FORGED_BYTECODE_HEADER - 1, 2},
		      {LM_INTERPRETED_AT_MASK, 2}};
	struct opened opened;

	assert_int_equal(open_code(forged, &opened), 0);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		assert_int_equal(name(&opened, forged_noted(forged_on_data(forged), places[i].at)),
				 0);
		expect_frame(&opened, "onData", "/srv/server.js", places[i].line);
	}
	close_code(&opened);
}

static void a_call_has_the_line_of_its_bytecode(void **state)
{
	expect_lines(*state);
}

/* From V8 14 on, two bits with the kind of position follow the bytes of bytecode. */
static void so_it_has_with_positions_of_a_later_version(void **state)
{
	static const uint8_t bytecodes[] = {0 << 2 | 2, 11 << 2 | 3, 19 << 2 | 2};
	struct forged *forged = *state;
	uint64_t positions = forged_word(forged->bytecodes - 1 + 32) - 1 + 16;

	forged_put32(forged->major, 14);
	for (size_t i = 0; i < ARRAY_SIZE(bytecodes); i++)
		memcpy(forged_memory_place(positions + 2 * i), &bytecodes[i], 1);
	expect_lines(forged);
}

/* By the number of instructions for each bytecode: a call returns after the first instruction. */
static void a_call_in_code_of_bytecode_alone_has_its_line_too(void **state)
{
	static const struct {
		uint64_t at;
		uint32_t line;
	} places[] = {
		{17, 2},
		{26, 2},
		{36, 2},
		{37, 3},
		{46, 3},
		{47, 1},
		{56, 1},
		/* Before the first and after the last instruction: the first line. */
		{0, 2},
		{16, 2},
		{57, 2},
		{61, 2},
	};
	struct forged *forged = *state;
	uint64_t shared = forged_on_data(forged);
	struct opened opened;

	forged_set(shared, 8, forged->code);
	assert_int_equal(open_code(forged, &opened), 0);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		uint64_t frame = forged_noted(shared, FORGED_INSTRUCTIONS + places[i].at);

		assert_int_equal(name(&opened, frame | LM_FRAME_COMPILED), 0);
		expect_frame(&opened, "onData", "/srv/server.js", places[i].line);
		/* Nor with the mark of optimized code. */
		assert_int_equal(name(&opened, frame | LM_FRAME_OPTIMIZED), 0);
		expect_frame(&opened, "onData", "/srv/server.js", 2);
	}
	assert_int_equal(name(&opened, forged_noted(shared, FORGED_BYTECODE_HEADER + 10)), 0);
	expect_frame(&opened, "onData", "/srv/server.js", 3);
	close_code(&opened);
}

/* The lowest bits of an offset in a long one are ambiguous. */
static void long_bytecode_has_the_first_line_alone(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	forged_set(forged->bytecodes, 8, forged_number(LM_INTERPRETED_AT_MASK));
	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(
		name(&opened, forged_noted(forged_on_data(forged), FORGED_BYTECODE_HEADER + 10)),
		0);
	expect_frame(&opened, "onData", "/srv/server.js", 2);
	close_code(&opened);
}

/* The address may contain anything by now. */
static void what_is_no_function_any_more_has_no_name(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(name(&opened, forged_noted(forged->sessions, FORGED_BYTECODE_HEADER)),
			 -ENOENT);
	assert_int_equal(name(&opened, forged_noted(forged->meta, FORGED_BYTECODE_HEADER)),
			 -ENOENT);
	assert_int_equal(name(&opened, forged_noted(0x1000, FORGED_BYTECODE_HEADER)), -ENOENT);
	assert_int_equal(name(&opened, FORGED_BASE), -ENOENT);
	assert_int_equal(opened.frames.list.count, 0);
	close_code(&opened);
}

/* Data read stays valid until it is forgotten. */
static void names_are_those_of_the_moment(void **state)
{
	struct forged *forged = *state;
	uint64_t shared = forged_on_data(forged), kept = forged_word(shared - 1);
	struct opened opened;

	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(name(&opened, forged_noted(shared, FORGED_BYTECODE_HEADER)), 0);
	forged_set(shared, 0, forged->string);
	target_memory_forget(&opened.memory);
	assert_int_equal(name(&opened, forged_noted(shared, FORGED_BYTECODE_HEADER)), -ENOENT);
	forged_set(shared, 0, kept);
	target_memory_forget(&opened.memory);
	assert_int_equal(name(&opened, forged_noted(shared, FORGED_BYTECODE_HEADER)), 0);
	close_code(&opened);
}

static void a_script_by_url_is_a_file(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	forged_set(forged->script, 16,
		   forged_text(forged, forged->internalized, "file:///srv/main.mjs"));
	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(
		name(&opened, forged_noted(forged_on_data(forged), FORGED_BYTECODE_HEADER)), 0);
	expect_frame(&opened, "onData", "/srv/main.mjs", 2);
	close_code(&opened);
}

static void a_builtin_has_a_name_alone(void **state)
{
	struct forged *forged = *state;
	uint64_t shared = forged_on_data(forged);
	struct opened opened;

	forged_set(shared, 16, forged_text(forged, forged->internalized, "forEach"));
	forged_set(shared, 32, 0);
	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(name(&opened, forged_noted(shared, FORGED_BYTECODE_HEADER)), 0);
	expect_frame(&opened, "forEach", NULL, 0);
	forged_set(shared, 16, 0);
	target_memory_forget(&opened.memory);
	assert_int_equal(name(&opened, forged_noted(shared, FORGED_BYTECODE_HEADER)), -ENOENT);
	close_code(&opened);
}

static void code_at_the_top_of_a_script_has_no_name(void **state)
{
	struct forged *forged = *state;
	uint64_t shared = forged_on_data(forged);
	struct opened opened;

	forged_set(shared, 16, 0);
	assert_int_equal(open_code(forged, &opened), 0);
	assert_int_equal(name(&opened, forged_noted(shared, FORGED_BYTECODE_HEADER)), 0);
	expect_frame(&opened, "(anonymous)", "/srv/server.js", 2);
	close_code(&opened);
}

static void frames_of_another_shape_are_not_noted(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	forged_put32(constant(forged, "v8dbg_off_fp_function"), (uint32_t)-24);
	assert_int_equal(open_code(forged, &opened), -ENOENT);
	assert_non_null(strstr(opened.why, "another version"));
	close_code(&opened);
}

static void before_there_is_a_heap_there_is_no_code(void **state)
{
	struct forged *forged = *state;
	struct opened opened;

	for (uint64_t chunk = FORGED_READ_ONLY; chunk < FORGED_BYTES; chunk += FORGED_CHUNK)
		forged_put(FORGED_BASE + chunk + 80, 0);
	assert_int_equal(open_code(forged, &opened), -ENOENT);
	close_code(&opened);
}

static void read_all(struct forged *forged, struct opened *opened, uint64_t *seed)
{
	uint64_t shared = forged_on_data(forged);

	v8_code_reader.rows(opened->state, &opened->rows);
	name(opened, forged_noted(shared, FORGED_BYTECODE_HEADER + 10));
	name(opened, forged_noted(shared, FORGED_INSTRUCTIONS + 40) | LM_FRAME_COMPILED);
	name(opened, forged_noted(shared, FORGED_INSTRUCTIONS + 40) | LM_FRAME_OPTIMIZED);
	name(opened, forged_noted(FORGED_BASE + forged_random(seed) % FORGED_BYTES, 99));
}

static void nonsense_in_it_does_no_harm(void **state)
{
	struct forged *forged = *state;

	forged_set(forged_on_data(forged), 8, forged->code);
	expect_no_harm_of_code(forged, read_all);
}

#define CODE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CODE_TEST(frames_are_noted_by_what_their_functions_share),
		CODE_TEST(a_function_has_its_name_script_and_first_line),
		CODE_TEST(a_call_has_the_line_of_its_bytecode),
		CODE_TEST(so_it_has_with_positions_of_a_later_version),
		CODE_TEST(a_call_in_code_of_bytecode_alone_has_its_line_too),
		CODE_TEST(long_bytecode_has_the_first_line_alone),
		CODE_TEST(what_is_no_function_any_more_has_no_name),
		CODE_TEST(names_are_those_of_the_moment),
		CODE_TEST(a_script_by_url_is_a_file),
		CODE_TEST(a_builtin_has_a_name_alone),
		CODE_TEST(code_at_the_top_of_a_script_has_no_name),
		CODE_TEST(frames_of_another_shape_are_not_noted),
		CODE_TEST(before_there_is_a_heap_there_is_no_code),
		CODE_TEST(nonsense_in_it_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
