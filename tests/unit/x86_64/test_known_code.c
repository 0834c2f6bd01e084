// SPDX-License-Identifier: GPL-2.0-or-later
/* Code without call frame information that is known by its bytes: where C returns to Go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/unwind_fixture.h"

#define CODE_BYTES 0x18000u
#define FAR_FUNCTION 0x17000u
#define NAME_AT 11

/* From the call on; `skipped`: its length, to where C returns. */
static const struct {
	uint8_t bytes[40];
	size_t skipped;
} calls[] = {
	/* Go 1.19; as PIE */
	{{0xff, 0xd0, 0x48, 0x8b, 0x7c, 0x24, 0x30, 0x48, 0x8b, 0x77, 0x08, 0x48, 0x2b,
	  0x74, 0x24, 0x28, 0x64, 0x48, 0x89, 0x3c, 0x25, 0xf8, 0xff, 0xff, 0xff},
	 2},
	{{0xff, 0xd0, 0x48, 0xc7, 0xc1, 0xf8, 0xff, 0xff, 0xff, 0x48, 0x8b, 0x7c, 0x24, 0x30,
	  0x48, 0x8b, 0x77, 0x08, 0x48, 0x2b, 0x74, 0x24, 0x28, 0x64, 0x48, 0x89, 0x39},
	 2},
	/* Go 1.24; as PIE */
	{{0xe8, 0x7c, 0xff, 0xff, 0xff, 0x48, 0x8b, 0x7c, 0x24, 0x08, 0x48, 0x8b, 0x77, 0x08,
	  0x48, 0x2b, 0x34, 0x24, 0x64, 0x48, 0x89, 0x3c, 0x25, 0xf8, 0xff, 0xff, 0xff},
	 5},
	{{0xe8, 0x7f, 0xff, 0xff, 0xff, 0x48, 0xc7, 0xc1, 0xf8, 0xff, 0xff, 0xff, 0x48, 0x8b, 0x7c,
	  0x24, 0x08, 0x48, 0x8b, 0x77, 0x08, 0x48, 0x2b, 0x34, 0x24, 0x64, 0x48, 0x89, 0x39},
	 5},
};

struct program {
	struct unwind_fixture elf;
	uint8_t code[CODE_BYTES];
};

static struct program *program_new(const char *section)
{
	struct program *program = calloc(1, sizeof(*program));
	Elf64_Phdr *load;

	assert_non_null(program);
	unwind_fixture_init(&program->elf);
	load = &program->elf.programs[UNWIND_LOAD_CODE];
	load->p_offset = offsetof(struct program, code);
	load->p_filesz = load->p_memsz = CODE_BYTES;
	strcpy(program->elf.names + NAME_AT, section);
	program->elf.sections[UNWIND_NAMES].sh_name = NAME_AT;
	return program;
}

static void put_functions(struct program *program)
{
	uint32_t cie = unwind_put_plain_cie(&program->elf);

	unwind_put_fde(&program->elf, cie, 0x10, 0x10, 0);
	unwind_put_fde(&program->elf, cie, FAR_FUNCTION, 0x10, 0);
}

static void compile(struct program *program, struct unwind_table *table)
{
	assert_int_equal(unwind_compile_own(program, sizeof(*program), table), 0);
	free(program);
}

static void expect_by_frame_pointer(const struct unwind_table *table, size_t return_address)
{
	const struct lm_unwind_row *row = unwind_table_find(table, (uint32_t)return_address - 1);

	assert_non_null(row);
	assert_int_equal(row->kind, LM_UNWIND_FP);
	assert_int_equal(row->cfa_words, 2);
	assert_int_equal(row->fp_words, -2);
}

static size_t count_by_frame_pointer(const struct unwind_table *table)
{
	size_t count = 0;

	for (size_t i = 0; i < table->count; i++)
		count += table->rows[i].kind == LM_UNWIND_FP;
	return count;
}

static void where_c_returns_to_go_the_frame_pointer_leads_on(void **state)
{
	/* Also across the chunks in which code is read, and as the first and the last code. */
	static const size_t places[] = {0, 0x101, 0x10000 - 9, CODE_BYTES - 40};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		_cleanup_(unwind_table_free) struct unwind_table table = {0};
		struct program *program = program_new(".go.buildinfo");

		put_functions(program);
		for (size_t j = 0; j < ARRAY_SIZE(places); j++)
			memcpy(program->code + places[j], calls[i].bytes, sizeof(calls[i].bytes));
		compile(program, &table);
		assert_int_equal(count_by_frame_pointer(&table), ARRAY_SIZE(places));
		for (size_t j = 0; j < ARRAY_SIZE(places); j++)
			expect_by_frame_pointer(&table, places[j] + calls[i].skipped);
	}
}

static void what_only_looks_like_it_has_no_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		/* Another compiler's file; no other rows; each of the bytes that matter. */
		for (size_t change = 0; change < 2 + sizeof(calls[i].bytes); change++) {
			_cleanup_(unwind_table_free) struct unwind_table table = {0};
			struct program *program =
				program_new(change == 0 ? ".go.other" : ".go.buildinfo");
			size_t at = change - 2;

			if (change != 1)
				put_functions(program);
			memcpy(program->code + 0x101, calls[i].bytes, sizeof(calls[i].bytes));
			if (change >= 2)
				program->code[0x101 + at] ^= 0x80;
			compile(program, &table);
			if (change < 2)
				assert_int_equal(count_by_frame_pointer(&table), 0);
			else if (calls[i].bytes[at] == 0x8b || calls[i].bytes[at] == 0x2b)
				assert_int_equal(count_by_frame_pointer(&table), 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_c_returns_to_go_the_frame_pointer_leads_on),
		cmocka_unit_test(what_only_looks_like_it_has_no_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
