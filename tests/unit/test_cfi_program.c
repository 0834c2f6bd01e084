// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dwarf.h>

#include "binary/elf/cfi.h"
#include "binary/elf/elf_abi.h"
#include "unit/unwind_fixture.h"

/* One function of 64 bytes at the base, compiled by hand. */
#define SIZE 64
#define MAX_ROWS 6

struct expected {
	uint32_t pc;
	enum lm_unwind_kind kind;
	int cfa_words, fp_words;
};

struct program {
	const char *name;
	uint8_t code[24];
	size_t size;
	struct expected rows[MAX_ROWS]; /* up to the LM_UNWIND_NONE at the end */
};

#define PROGRAM(name, ...) name, {__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})
#define SP LM_UNWIND_SP
#define UNSUPPORTED LM_UNWIND_UNSUPPORTED
#define NONE                                                                                       \
	{                                                                                          \
		SIZE, LM_UNWIND_NONE, 0, 0                                                         \
	}
#define ADVANCE(n) (DW_CFA_advance_loc | (n))
#define FRAME(n) DW_CFA_def_cfa_offset, (n)
#define SAVE_FP(n) (DW_CFA_offset | 6), (n)

static const struct program programs[] = {
	{PROGRAM("no instructions", DW_CFA_nop), {{0, SP, 1, 0}, NONE}},
	{PROGRAM("push and frame pointer", ADVANCE(1), FRAME(16), SAVE_FP(2), ADVANCE(3),
		 DW_CFA_def_cfa_register, 6, ADVANCE(40), DW_CFA_def_cfa, 7, 8),
	 {{0, SP, 1, 0}, {1, SP, 2, -2}, {4, LM_UNWIND_FP, 2, -2}, {44, SP, 1, -2}, NONE}},
	{PROGRAM("all advances", DW_CFA_advance_loc1, 1, FRAME(16), DW_CFA_advance_loc2, 2, 0,
		 FRAME(24), DW_CFA_advance_loc4, 3, 0, 0, 0, FRAME(32)),
	 {{0, SP, 1, 0}, {1, SP, 2, 0}, {3, SP, 3, 0}, {6, SP, 4, 0}, NONE}},
	{PROGRAM("set_loc", DW_CFA_set_loc, 0x10, 0, 1, 0, 0, 0, 0, 0, FRAME(16)),
	 {{0, SP, 1, 0}, {16, SP, 2, 0}, NONE}},
	{PROGRAM("set_loc backwards", ADVANCE(17), DW_CFA_set_loc, 0x10, 0, 1, 0, 0, 0, 0, 0),
	 {{0, SP, 1, 0}, {17, UNSUPPORTED, 0, 0}, NONE}},
	{PROGRAM("advance of nothing", FRAME(16), ADVANCE(0), FRAME(24)), {{0, SP, 3, 0}, NONE}},
	{PROGRAM("advance beyond the end", FRAME(16), DW_CFA_advance_loc1, 200, FRAME(24),
		 ADVANCE(1)),
	 {{0, SP, 2, 0}, NONE}},
	{PROGRAM("remember and restore", FRAME(16), DW_CFA_remember_state, ADVANCE(1), FRAME(24),
		 SAVE_FP(3), ADVANCE(1), DW_CFA_restore_state),
	 {{0, SP, 2, 0}, {1, SP, 3, -3}, {2, SP, 2, 0}, NONE}},
	{PROGRAM("restore_state of nothing", ADVANCE(1), DW_CFA_restore_state),
	 {{0, SP, 1, 0}, {1, UNSUPPORTED, 0, 0}, NONE}},
	{PROGRAM("restore", SAVE_FP(2), ADVANCE(1), DW_CFA_restore | 6),
	 {{0, SP, 1, -2}, {1, SP, 1, 0}, NONE}},
	{PROGRAM("restore_extended", DW_CFA_undefined, 16, ADVANCE(1), DW_CFA_restore_extended, 16),
	 {{0, LM_UNWIND_END, 0, 0}, {1, SP, 1, 0}, NONE}},
	{PROGRAM("saves of all forms", DW_CFA_offset_extended, 6, 2, ADVANCE(1),
		 DW_CFA_offset_extended_sf, 6, 0x7d, ADVANCE(1),
		 DW_CFA_GNU_negative_offset_extended, 6, 4, ADVANCE(1), DW_CFA_same_value, 6),
	 {{0, SP, 1, -2}, {1, SP, 1, 3}, {2, SP, 1, 4}, {3, SP, 1, 0}, NONE}},
	{PROGRAM("rbp lost and found", DW_CFA_register, 6, 3, ADVANCE(1), DW_CFA_undefined, 6,
		 ADVANCE(1), DW_CFA_val_offset, 6, 2, ADVANCE(1), SAVE_FP(2), ADVANCE(1),
		 DW_CFA_val_expression, 6, 1, DW_OP_lit0),
	 {{0, UNSUPPORTED, 0, 0},
	  {1, SP, 1, 0},
	  {2, UNSUPPORTED, 0, 0},
	  {3, SP, 1, -2},
	  {4, UNSUPPORTED, 0, 0},
	  NONE}},
	{PROGRAM("other registers", DW_CFA_offset | 3, 2, DW_CFA_register, 12, 3,
		 DW_CFA_restore | 3, DW_CFA_expression, 13, 2, DW_OP_breg6, 0, DW_CFA_undefined,
		 14),
	 {{0, SP, 1, 0}, NONE}},
	{PROGRAM("rsp is the CFA", DW_CFA_val_offset, 7, 0, ADVANCE(1), DW_CFA_val_offset_sf, 7, 1),
	 {{0, SP, 1, 0}, {1, UNSUPPORTED, 0, 0}, NONE}},
	{PROGRAM("signed CFA", DW_CFA_def_cfa_sf, 6, 0x7e, ADVANCE(1), DW_CFA_def_cfa_offset_sf,
		 0x7d),
	 {{0, LM_UNWIND_FP, 2, 0}, {1, LM_UNWIND_FP, 3, 0}, NONE}},
	{PROGRAM("CFA from r10 and back", DW_CFA_def_cfa, 10, 8, ADVANCE(1),
		 DW_CFA_def_cfa_register, 7),
	 {{0, UNSUPPORTED, 0, 0}, {1, SP, 1, 0}, NONE}},
	{PROGRAM("realigned stack", DW_CFA_expression, 6, 2, DW_OP_breg6, 0, ADVANCE(1),
		 DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x58, DW_OP_deref),
	 {{0, UNSUPPORTED, 0, 0}, {1, LM_UNWIND_FP_DEREF, -5, 0}, NONE}},
	{PROGRAM("offset of an expression", DW_CFA_def_cfa_expression, 3, DW_OP_breg7, 0x8,
		 DW_OP_deref, ADVANCE(1), FRAME(16)),
	 {{0, LM_UNWIND_SP_DEREF, 1, 0}, {1, UNSUPPORTED, 0, 0}, NONE}},
	{PROGRAM("register of an expression", DW_CFA_def_cfa_expression, 1, DW_OP_lit0, ADVANCE(1),
		 DW_CFA_def_cfa_register, 7),
	 {{0, UNSUPPORTED, 0, 0}, NONE}},
	{PROGRAM("args_size", ADVANCE(1), DW_CFA_GNU_args_size, 0x80, 1), {{0, SP, 1, 0}, NONE}},
	{PROGRAM("unknown instruction", ADVANCE(9), FRAME(16), 0x3f, ADVANCE(9)),
	 {{0, SP, 1, 0}, {9, UNSUPPORTED, 0, 0}, NONE}},
	{PROGRAM("cut off", ADVANCE(9), DW_CFA_def_cfa_offset, 0x80),
	 {{0, SP, 1, 0}, {9, UNSUPPORTED, 0, 0}, NONE}},
	{PROGRAM("block beyond the end", ADVANCE(9), DW_CFA_def_cfa_expression, 0xff, 0xff, 0xff,
		 0xff, 7),
	 {{0, SP, 1, 0}, {9, UNSUPPORTED, 0, 0}, NONE}},
};

static void assert_row(const char *name, const struct lm_unwind_row *row,
		       const struct expected *expected)
{
	if (row->pc != expected->pc || row->kind != expected->kind ||
	    row->cfa_words != expected->cfa_words || row->fp_words != expected->fp_words)
		fail_msg("%s: at %u kind %u cfa %d fp %d", name, row->pc, row->kind, row->cfa_words,
			 row->fp_words);
}

static void every_instruction_follows_the_dwarf_standard(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		_cleanup_(unwind_table_free) struct unwind_table table = {0};
		struct unwind_fixture elf;

		unwind_fixture_init(&elf);
		unwind_put_code(&elf, unwind_put_plain_cie(&elf), 0, SIZE, programs[i].code,
				programs[i].size);
		assert_int_equal(unwind_compile(&elf, &table), 0);
		assert_true(table.count > 0);
		for (size_t k = 0; k < table.count; k++)
			assert_row(programs[i].name, &table.rows[k], &programs[i].rows[k]);
		assert_int_equal(table.rows[table.count - 1].pc, SIZE);
	}
}

static void the_alignments_of_the_cie_scale_advances_and_offsets(void **state)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	struct unwind_fixture elf;
	uint32_t cie;

	(void)state;
	unwind_fixture_init(&elf);
	cie = unwind_put_cie(&elf, UNWIND_CIE_HEAD, 'z', 'R', 0, 4, 0x70, 16, 1, 0, DW_CFA_def_cfa,
			     7, 8, DW_CFA_offset_extended_sf, 16, 0);
	unwind_put_fde(&elf, cie, 0, SIZE, ADVANCE(2), DW_CFA_undefined, 16, ADVANCE(1),
		       DW_CFA_def_cfa_offset_sf, 0x7f, DW_CFA_restore | 16);
	assert_int_equal(unwind_compile(&elf, &table), 0);
	assert_int_equal(table.count, 4);
	assert_row("return address at the CFA", &table.rows[0],
		   &(struct expected){0, UNSUPPORTED, 0, 0});
	assert_row("two times four", &table.rows[1], &(struct expected){8, LM_UNWIND_END, 0, 0});
	assert_row("three times four", &table.rows[2], &(struct expected){12, UNSUPPORTED, 0, 0});
}

static void functions_of_a_broken_cie_are_unsupported(void **state)
{
	static const uint8_t codes[][2] = {
		{0x3f, 0}, {ADVANCE(1), 0}, {DW_CFA_restore | 6, 0}, {DW_CFA_nop, DW_CFA_offset}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		_cleanup_(unwind_table_free) struct unwind_table table = {0};
		struct unwind_fixture elf;
		uint32_t cie;

		unwind_fixture_init(&elf);
		cie = unwind_put_cie(&elf, UNWIND_CIE_PLAIN, UNWIND_CIE_RULES, codes[i][0],
				     codes[i][1]);
		unwind_put_fde(&elf, cie, 0, SIZE, ADVANCE(1), FRAME(16));
		assert_int_equal(unwind_compile(&elf, &table), 0);
		assert_int_equal(table.count, 2);
		assert_row("broken", &table.rows[0], &(struct expected){0, UNSUPPORTED, 0, 0});
	}
}

static void states_are_remembered_64_deep(void **state)
{
	uint8_t code[2 * 65];

	(void)state;
	for (size_t depth = 64; depth <= 65; depth++) {
		_cleanup_(unwind_table_free) struct unwind_table table = {0};
		struct unwind_fixture elf;

		unwind_fixture_init(&elf);
		memset(code, DW_CFA_remember_state, depth);
		memset(code + depth, DW_CFA_restore_state, depth);
		unwind_put_code(&elf, unwind_put_plain_cie(&elf), 0, SIZE, code, 2 * depth);
		assert_int_equal(unwind_compile(&elf, &table), 0);
		assert_int_equal(table.rows[0].kind, depth == 64 ? SP : UNSUPPORTED);
	}
}

static void code_alignments_that_overflow_are_unsupported(void **state)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	struct unwind_fixture elf;
	uint32_t cie;

	(void)state;
	unwind_fixture_init(&elf);
	cie = unwind_put_cie(&elf, UNWIND_CIE_HEAD, 'z', 'R', 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			     0xff, 0xff, 0xff, 0x01, 0x78, 16, 1, 0, UNWIND_CIE_RULES);
	unwind_put_fde(&elf, cie, 0, SIZE, ADVANCE(2), FRAME(16));
	assert_int_equal(unwind_compile(&elf, &table), 0);
	assert_int_equal(table.count, 2);
	assert_int_equal(table.rows[0].kind, UNSUPPORTED);
}

/* DW_CFA_AARCH64_negate_ra_state is one: it marks the return address as signed. */
static void an_opcode_moves_nothing_where_the_abi_excludes_it(void **state)
{
	static const uint8_t bytes[] = {0x2d, ADVANCE(4), FRAME(16), DW_CFA_offset | 30, 2};
	static const struct lm_frame_abi frame = {.return_words = 0};
	struct elf_abi abi = {.cfi = {.sp = 31, .fp = 29, .return_column = 30, .frame = &frame}};
	struct eh_section section = {.abi = &abi, .bytes = (uint8_t *)bytes, .size = sizeof(bytes)};
	struct eh_cie cie = {.code_alignment = 1, .data_alignment = -8};
	struct eh_fde fde = {.start = 0x1000, .end = 0x1000 + SIZE, .code = {0, sizeof(bytes)}};
	struct cfa_rules initial = {.cfa = CFA_SP};

	(void)state;
	for (int known = 0; known < 2; known++) {
		struct row_builder builder = {.base = 0x1000};

		abi.cfi.no_effect = known ? 0x2d : 0;
		assert_int_equal(cfi_run_fde(&section, &cie, &fde, &initial, &builder), 0);
		assert_row("first", &builder.rows.items[0],
			   &(struct expected){0, known ? SP : UNSUPPORTED, 0, 0});
		if (known)
			assert_row("saved", &builder.rows.items[1],
				   &(struct expected){4, SP | LM_RETURN_ALONE, 2, -2});
		vec_free(&builder.rows);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_instruction_follows_the_dwarf_standard),
		cmocka_unit_test(the_alignments_of_the_cie_scale_advances_and_offsets),
		cmocka_unit_test(functions_of_a_broken_cie_are_unsupported),
		cmocka_unit_test(states_are_remembered_64_deep),
		cmocka_unit_test(code_alignments_that_overflow_are_unsupported),
		cmocka_unit_test(an_opcode_moves_nothing_where_the_abi_excludes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
