// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of code that no record describes: stubs of linkers, and returns from signal handlers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "unit/unwind_fixture.h"

#define NOP 0xd503201fu
#define BTI_C 0xd503245fu
#define STP_X16_X30 0xa9bf7bf0u /* stp x16, x30, [sp, #-16]! */
#define AUTIA1716 0xd503219fu
#define BR_X16 0xd61f0200u
#define BR_X17 0xd61f0220u
/* Words of stubs of glibc 2.36, with three different operands. */
#define ADRP_X16_A 0xb0000bd0u
#define ADRP_X16_B 0x90000bd0u
#define LDR_X17_A 0xf9400211u
#define LDR_X17_B 0xf947fe11u
#define ADD_X16_A 0x91000210u
#define ADD_X16_B 0x913fe210u
#define MOV_X8_139 0xd2801168u
#define SVC 0xd4000001u

#define CODE_AT 2048 /* in the bytes of the frames */
#define ALONE (LM_UNWIND_SP | LM_RETURN_ALONE)

struct expected {
	uint32_t pc, kind;
	int cfa_words, fp_words;
};

static void compile_words(const uint32_t *words, size_t size, struct unwind_table *table)
{
	struct unwind_fixture elf;

	unwind_fixture_init(&elf);
	elf.header.e_machine = EM_AARCH64;
	memcpy(elf.frames + CODE_AT, words, size);
	elf.programs[UNWIND_LOAD_CODE].p_offset = offsetof(struct unwind_fixture, frames) + CODE_AT;
	elf.programs[UNWIND_LOAD_CODE].p_filesz = size;
	assert_int_equal(unwind_compile_own(&elf, sizeof(elf), table), 0);
}

static void assert_rows(const struct unwind_table *table, const struct expected *rows, size_t count)
{
	assert_int_equal(table->count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(table->rows[i].pc, rows[i].pc);
		assert_int_equal(table->rows[i].kind, rows[i].kind);
		assert_int_equal(table->rows[i].cfa_words, rows[i].cfa_words);
		assert_int_equal(table->rows[i].fp_words, rows[i].fp_words);
	}
}

#define ASSERT_ROWS(table, ...)                                                                    \
	assert_rows(table, (const struct expected[]){__VA_ARGS__},                                 \
		    ARRAY_SIZE(((const struct expected[]){__VA_ARGS__})))

/* The forms of binutils 2.40 and lld. */
static void a_linkage_table_keeps_the_return_address_in_x30(void **state)
{
	static const uint32_t words[] = {
		NOP,	STP_X16_X30, ADRP_X16_B, LDR_X17_B,  ADD_X16_B, BR_X17,
		NOP,	NOP,	     NOP,	 ADRP_X16_A, LDR_X17_A, ADD_X16_A,
		BR_X17, ADRP_X16_B,  LDR_X17_B,	 ADD_X16_B,  BR_X17,	NOP,
	};
	_cleanup_(unwind_table_free) struct unwind_table table = {0};

	(void)state;
	compile_words(words, sizeof(words), &table);
	ASSERT_ROWS(&table, {4, LM_UNWIND_SP, 0, 0}, {8, ALONE, 2, -1}, {24, LM_UNWIND_NONE, 0, 0},
		    {36, LM_UNWIND_SP, 0, 0}, {68, LM_UNWIND_NONE, 0, 0});
}

/* ld -z pac-plt, -z force-bti: each stub is two instructions longer. */
static void landing_pads_and_signatures_belong_to_the_stub(void **state)
{
	static const uint32_t words[] = {
		BTI_C,	    STP_X16_X30, ADRP_X16_B, LDR_X17_B, ADD_X16_B, BR_X17, NOP,
		NOP,	    BTI_C,	 ADRP_X16_A, LDR_X17_A, ADD_X16_A, BR_X17, NOP,
		ADRP_X16_A, LDR_X17_A,	 ADD_X16_A,  AUTIA1716, BR_X17,	   NOP,
	};
	_cleanup_(unwind_table_free) struct unwind_table table = {0};

	(void)state;
	compile_words(words, sizeof(words), &table);
	ASSERT_ROWS(&table, {4, LM_UNWIND_SP, 0, 0}, {8, ALONE, 2, -1}, {24, LM_UNWIND_NONE, 0, 0},
		    {32, LM_UNWIND_SP, 0, 0}, {52, LM_UNWIND_NONE, 0, 0}, {56, LM_UNWIND_SP, 0, 0},
		    {76, LM_UNWIND_NONE, 0, 0});
}

static void a_veneer_is_a_stub_and_other_addresses_are_not(void **state)
{
	static const uint32_t words[] = {
		ADRP_X16_A, ADD_X16_A, BR_X16, NOP,    ADRP_X16_A, LDR_X17_A, NOP,
		ADD_X16_A,  BR_X17,    NOP,    BR_X17, ADRP_X16_A, ADD_X16_A,
	};
	_cleanup_(unwind_table_free) struct unwind_table table = {0};

	(void)state;
	compile_words(words, sizeof(words), &table);
	ASSERT_ROWS(&table, {0, LM_UNWIND_SP, 0, 0}, {12, LM_UNWIND_NONE, 0, 0});
}

/* The caller's address is looked up one instruction before the code that it returns to. */
static void a_return_from_a_handler_is_a_signal_frame(void **state)
{
	static const uint32_t words[] = {NOP, NOP, MOV_X8_139, SVC, NOP, MOV_X8_139, NOP, SVC};
	_cleanup_(unwind_table_free) struct unwind_table table = {0};

	(void)state;
	compile_words(words, sizeof(words), &table);
	ASSERT_ROWS(&table, {4, LM_UNWIND_SIGNAL, 0, 0}, {16, LM_UNWIND_NONE, 0, 0});
}

/* Stubs and a handler's return, moved over the whole of two readings of the file. */
static void code_across_the_edge_of_a_reading_is_found_once(void **state)
{
	enum { WORDS = 3 * 16384 };
	const size_t size = sizeof(struct unwind_fixture) + WORDS * 4ull;
	struct unwind_fixture *elf = calloc(1, size);
	uint32_t *code = (uint32_t *)(elf + 1);

	(void)state;
	assert_non_null(elf);
	for (uint32_t edge = 16384 - 24; edge < 16384 + 8; edge++) {
		static const uint32_t words[] = {
			STP_X16_X30, ADRP_X16_B, LDR_X17_B, ADD_X16_B, BR_X17,
			NOP,	     MOV_X8_139, SVC,	    NOP,
		};
		_cleanup_(unwind_table_free) struct unwind_table table = {0};

		unwind_fixture_init(elf);
		elf->header.e_machine = EM_AARCH64;
		elf->programs[UNWIND_LOAD_CODE].p_offset = sizeof(*elf);
		elf->programs[UNWIND_LOAD_CODE].p_filesz = WORDS * 4ull;
		elf->programs[UNWIND_LOAD_CODE].p_memsz = WORDS * 4ull;
		for (size_t i = 0; i < WORDS; i++)
			code[i] = NOP;
		memcpy(code + edge, words, sizeof(words));
		assert_int_equal(unwind_compile_own(elf, size, &table), 0);
		ASSERT_ROWS(&table, {edge * 4, LM_UNWIND_SP, 0, 0}, {edge * 4 + 4, ALONE, 2, -1},
			    {edge * 4 + 20, LM_UNWIND_SIGNAL, 0, 0},
			    {edge * 4 + 32, LM_UNWIND_NONE, 0, 0});
	}
	free(elf);
}

/* This program's own, as the linker on the build machine wrote it; on arm64 itself, the vdso
 * too. */
static void what_this_program_calls_through_has_rows(void **state)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	_cleanup_(elf_file_close) struct elf_file file = {0};
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	bool found = false;

	(void)state;
	assert_int_equal(elf_file_open(fd, &machine_abi, &file), 0);
	assert_int_equal(unwind_table_compile(&file, &table), 0);
	assert_int_equal(elf_sections_read(&file, &sections), 0);
	for (size_t i = 0; i < sections.list.count; i++) {
		const struct elf_section *section = &sections.list.items[i];

		if (strcmp(section->name, ".plt") != 0)
			continue;
		found = true;
		assert_true(section->size > 32 + 16);
		for (uint64_t at = 32; at + 16 <= section->size; at += 4) {
			const struct lm_unwind_row *row = unwind_table_find(
				&table, (uint32_t)(section->address + at - table.base));

			assert_non_null(row);
			assert_int_equal(row->kind, LM_UNWIND_SP);
			assert_int_equal(row->cfa_words, 0);
		}
	}
	assert_true(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_linkage_table_keeps_the_return_address_in_x30),
		cmocka_unit_test(landing_pads_and_signatures_belong_to_the_stub),
		cmocka_unit_test(a_veneer_is_a_stub_and_other_addresses_are_not),
		cmocka_unit_test(a_return_from_a_handler_is_a_signal_frame),
		cmocka_unit_test(code_across_the_edge_of_a_reading_is_found_once),
		cmocka_unit_test(what_this_program_calls_through_has_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
