// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/auxv.h>

#include "unit/unwind_fixture.h"

#define FRAME(n) 0x0e, (n)
#define ADVANCE(n) (0x40 | (n))
#define CFA_OF(cfa_words) LM_UNWIND_SP, cfa_words

struct expected {
	uint32_t pc;
	enum lm_unwind_kind kind;
	int cfa_words;
};

static void assert_rows(const struct unwind_table *table, const struct expected *rows, size_t count)
{
	assert_int_equal(table->base, UNWIND_CODE);
	assert_int_equal(table->count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(table->rows[i].pc, rows[i].pc);
		assert_int_equal(table->rows[i].kind, rows[i].kind);
		assert_int_equal(table->rows[i].cfa_words, rows[i].cfa_words);
	}
}

#define ASSERT_ROWS(table, ...)                                                                    \
	assert_rows(table, (const struct expected[]){__VA_ARGS__},                                 \
		    ARRAY_SIZE(((const struct expected[]){__VA_ARGS__})))

static void a_file_without_frames_has_no_rows(void **state)
{
	struct unwind_table table = {0};
	struct elf_fixture elf;

	(void)state;
	fixture_init(&elf);
	assert_int_equal(unwind_compile_own(&elf, sizeof(elf), &table), 0);
	assert_int_equal(table.count, 0);
	assert_null(unwind_table_find(&table, 0));
	unwind_table_free(&table);
}

static void an_empty_section_has_no_rows(void **state)
{
	struct unwind_table table = {0};
	struct unwind_fixture elf;

	(void)state;
	unwind_fixture_init(&elf);
	assert_int_equal(unwind_compile(&elf, &table), 0);
	assert_int_equal(table.count, 0);
	unwind_table_free(&table);
}

static void unsorted_functions_come_out_sorted(void **state)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	struct unwind_fixture elf;
	uint32_t cie;

	(void)state;
	unwind_fixture_init(&elf);
	cie = unwind_put_plain_cie(&elf);
	unwind_put_fde(&elf, cie, 0x200, 0x10, FRAME(24));
	unwind_put_fde(&elf, cie, 0x100, 0x10, ADVANCE(4), FRAME(16));
	unwind_put_fde(&elf, cie, 0x110, 0x10, FRAME(32));
	assert_int_equal(unwind_compile(&elf, &table), 0);
	ASSERT_ROWS(&table, {0x100, CFA_OF(1)}, {0x104, CFA_OF(2)}, {0x110, CFA_OF(4)},
		    {0x120, LM_UNWIND_NONE, 0}, {0x200, CFA_OF(3)}, {0x210, LM_UNWIND_NONE, 0});
}

static void of_overlapping_functions_the_first_one_wins(void **state)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	struct unwind_fixture elf;
	uint32_t cie;

	(void)state;
	unwind_fixture_init(&elf);
	cie = unwind_put_plain_cie(&elf);
	unwind_put_fde(&elf, cie, 0x100, 0x20, FRAME(16));
	unwind_put_fde(&elf, cie, 0x110, 0x20, FRAME(24), ADVANCE(0x18), FRAME(32));
	unwind_put_fde(&elf, cie, 0x110, 0x08, FRAME(40));
	unwind_put_fde(&elf, cie, 0x100, 0x10, FRAME(48));
	assert_int_equal(unwind_compile(&elf, &table), 0);
	ASSERT_ROWS(&table, {0x100, CFA_OF(2)}, {0x120, CFA_OF(3)}, {0x128, CFA_OF(4)},
		    {0x130, LM_UNWIND_NONE, 0});
}

static void functions_outside_of_the_code_are_dropped_and_those_that_leave_it_cut(void **state)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	struct unwind_fixture elf;
	uint32_t cie;

	(void)state;
	unwind_fixture_init(&elf);
	cie = unwind_put_plain_cie(&elf);
	unwind_put_fde(&elf, cie, 0 - UNWIND_CODE + 0x10, 0x10, FRAME(16));
	unwind_put_fde(&elf, cie, 0 - 0x20ull, 0x40, FRAME(24));
	unwind_put_fde(&elf, cie, UNWIND_CODE_SIZE - 8, 0x1000, FRAME(32));
	unwind_put_fde(&elf, cie, UNWIND_FRAMES - UNWIND_CODE, 0x10, FRAME(40));
	unwind_put_fde(&elf, cie, 1ull << 33, 0x10, FRAME(48));
	assert_int_equal(unwind_compile(&elf, &table), 0);
	ASSERT_ROWS(&table, {UNWIND_CODE_SIZE - 8, CFA_OF(4)},
		    {UNWIND_CODE_SIZE, LM_UNWIND_NONE, 0});
}

static void code_beyond_32_bits_is_dropped(void **state)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	struct unwind_fixture elf;
	uint32_t cie;

	(void)state;
	unwind_fixture_init(&elf);
	elf.programs[UNWIND_LOAD_CODE].p_memsz = 1ull << 40;
	cie = unwind_put_plain_cie(&elf);
	unwind_put_fde(&elf, cie, 0xfffffff0, 0x1000, FRAME(16));
	unwind_put_fde(&elf, cie, 0x100000000, 0x10, FRAME(24));
	assert_int_equal(unwind_compile(&elf, &table), 0);
	ASSERT_ROWS(&table, {0xfffffff0, CFA_OF(2)}, {0xffffffff, LM_UNWIND_NONE, 0});
}

static void rows_count_from_the_lowest_page(void **state)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	struct unwind_fixture elf;

	(void)state;
	unwind_fixture_init(&elf);
	elf.programs[UNWIND_LOAD_CODE].p_vaddr += 0x1234;
	unwind_put_fde(&elf, unwind_put_plain_cie(&elf), 0x1300, 0x10, FRAME(16));
	assert_int_equal(unwind_compile(&elf, &table), 0);
	assert_int_equal(table.base, UNWIND_CODE + 0x1000);
	assert_int_equal(table.rows[0].pc, 0x300);
}

static void without_section_headers_the_rows_are_the_same(void **state)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	struct unwind_fixture elf;

	(void)state;
	unwind_fixture_init(&elf);
	elf.header.e_shoff = 0;
	unwind_put_fde(&elf, unwind_put_plain_cie(&elf), 0, 0x10, FRAME(16));
	assert_int_equal(unwind_compile(&elf, &table), 0);
	ASSERT_ROWS(&table, {0, CFA_OF(2)}, {0x10, LM_UNWIND_NONE, 0});
}

static void broken_frames_are_an_error_and_leave_the_table_alone(void **state)
{
	struct unwind_table table = {.count = 77};
	struct unwind_fixture elf;

	(void)state;
	unwind_fixture_init(&elf);
	unwind_put_fde(&elf, unwind_put_plain_cie(&elf), 0, 0x10, FRAME(16));
	unwind_put_u32(&elf, 5);
	assert_int_equal(unwind_compile(&elf, &table), -EBADMSG);
	assert_int_equal(table.count, 77);
}

static void find_gives_the_row_that_covers_an_address(void **state)
{
	struct lm_unwind_row rows[] = {{.pc = 0x10}, {.pc = 0x20}, {.pc = 0x21}};
	const struct unwind_table table = {.rows = rows, .count = ARRAY_SIZE(rows)};

	(void)state;
	assert_null(unwind_table_find(&table, 0));
	assert_null(unwind_table_find(&table, 0xf));
	assert_ptr_equal(unwind_table_find(&table, 0x10), &rows[0]);
	assert_ptr_equal(unwind_table_find(&table, 0x1f), &rows[0]);
	assert_ptr_equal(unwind_table_find(&table, 0x20), &rows[1]);
	assert_ptr_equal(unwind_table_find(&table, 0x21), &rows[2]);
	assert_ptr_equal(unwind_table_find(&table, UINT32_MAX), &rows[2]);
}

/* The kernel's own shared object, as mapped. */
static void the_vdso_has_rows(void **state)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	const Elf64_Ehdr *vdso = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);

	(void)state;
	if (!vdso)
		skip();
	assert_int_equal(
		unwind_compile_own(vdso, vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize,
				   &table),
		0);
	assert_int_equal(table.base, 0);
	assert_true(table.count > 2);
	assert_int_equal(table.rows[0].kind, LM_UNWIND_SP);
}

/* A case that would take a quadratic compiler hours. */
static void a_long_cie_is_run_once_and_covered_functions_never(void **state)
{
	const size_t nops = 1 << 20, functions = 100000, record = 4 + 4 + 8 + 8 + 1 + 3;
	static const uint8_t head[] = {UNWIND_CIE_PLAIN, UNWIND_CIE_RULES};
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	size_t frames = 4 + sizeof(head) + nops + functions * record;
	_cleanup_free_ struct unwind_fixture *elf = calloc(1, sizeof(*elf) + frames);
	uint8_t *at;

	(void)state;
	unwind_fixture_init(elf);
	at = elf->frames;
	*(uint32_t *)at = (uint32_t)(sizeof(head) + nops);
	memcpy(at + 4, head, sizeof(head));
	at += 4 + sizeof(head) + nops;
	for (size_t i = 0; i < functions; i++, at += record) {
		uint64_t range[2] = {UNWIND_CODE, 0x100 + i % 2};
		uint32_t words[2] = {(uint32_t)record - 4, (uint32_t)(at + 4 - elf->frames)};

		memcpy(at, words, sizeof(words));
		memcpy(at + 8, range, sizeof(range));
	}
	elf->sections[UNWIND_EH_FRAME].sh_size = frames;
	assert_int_equal(unwind_compile_bytes(elf, sizeof(*elf) + frames, &table), 0);
	ASSERT_ROWS(&table, {0, CFA_OF(1)}, {0x101, LM_UNWIND_NONE, 0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_without_frames_has_no_rows),
		cmocka_unit_test(an_empty_section_has_no_rows),
		cmocka_unit_test(unsorted_functions_come_out_sorted),
		cmocka_unit_test(of_overlapping_functions_the_first_one_wins),
		cmocka_unit_test(
			functions_outside_of_the_code_are_dropped_and_those_that_leave_it_cut),
		cmocka_unit_test(code_beyond_32_bits_is_dropped),
		cmocka_unit_test(rows_count_from_the_lowest_page),
		cmocka_unit_test(without_section_headers_the_rows_are_the_same),
		cmocka_unit_test(broken_frames_are_an_error_and_leave_the_table_alone),
		cmocka_unit_test(find_gives_the_row_that_covers_an_address),
		cmocka_unit_test(the_vdso_has_rows),
		cmocka_unit_test(a_long_cie_is_run_once_and_covered_functions_never),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
