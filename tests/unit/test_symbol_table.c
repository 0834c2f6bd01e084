// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>

#include "base/cleanup.h"
#include "binary/elf/symbol_table.h"

/* Consumes the list, as a real one would be freed after the table is built. */
static struct symbol_table build(const struct elf_symbol *list, size_t count)
{
	_cleanup_(elf_symbols_free) struct elf_symbols symbols = {0};
	struct symbol_table table;

	for (size_t i = 0; i < count; i++) {
		struct elf_symbol *symbol = vec_push(&symbols.list);

		assert_non_null(symbol);
		*symbol = list[i];
	}
	assert_int_equal(symbol_table_build(&symbols, &table), 0);
	return table;
}

static const char *name_at(const struct symbol_table *table, uint64_t address)
{
	const struct symbol *symbol = symbol_table_find(table, address);

	return symbol ? table->names + symbol->name : "-";
}

static void an_address_belongs_to_the_function_that_holds_it(void **state)
{
	static const struct elf_symbol list[] = {
		{.value = 0x300, .size = 0, .name = "unsized", .type = STT_FUNC},
		{.value = 0x100, .size = 0x10, .name = "first", .type = STT_FUNC},
		{.value = 0x200, .size = 0x80, .name = "outer", .type = STT_FUNC},
		{.value = 0x220, .size = 0x10, .name = "inner", .type = STT_FUNC},
		{.value = 0x400, .size = 0, .limit = 0x410, .name = "last", .type = STT_FUNC},
	};
	static const struct {
		uint64_t address;
		const char *name;
	} cases[] = {
		{0, "-"},	    {0xff, "-"},	{0x100, "first"}, {0x10f, "first"},
		{0x110, "-"},	    {0x1ff, "-"},	{0x21f, "outer"}, {0x220, "inner"},
		{0x22f, "inner"},   {0x230, "outer"},	{0x27f, "outer"}, {0x280, "-"},
		{0x300, "unsized"}, {0x3ff, "unsized"}, {0x400, "last"},  {0x40f, "last"},
		{0x410, "-"},	    {UINT64_MAX, "-"},
	};
	_cleanup_(symbol_table_free) struct symbol_table table = build(list, ARRAY_SIZE(list));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(name_at(&table, cases[i].address), cases[i].name);
}

static void an_empty_table_knows_nothing(void **state)
{
	_cleanup_(symbol_table_free) struct symbol_table table = build(NULL, 0);

	(void)state;
	assert_int_equal(table.count, 0);
	assert_string_equal(name_at(&table, 0x100), "-");
}

#define AT_ONE(name_, binding_, size_)                                                             \
	{                                                                                          \
		.value = 0x100, .size = (size_), .name = (name_), .binding = (binding_)            \
	}

static void of_several_names_at_one_address_the_best_stays(void **state)
{
	static const struct {
		struct elf_symbol worse, better;
	} cases[] = {
		{AT_ONE("a", STB_WEAK, 8), AT_ONE("__b", STB_GLOBAL, 0)},
		{AT_ONE("a", STB_LOCAL, 8), AT_ONE("__b", STB_WEAK, 0)},
		{AT_ONE("a", STB_GLOBAL, 0), AT_ONE("__b", STB_GLOBAL, 8)},
		{AT_ONE("__libc_malloc", STB_GLOBAL, 8), AT_ONE("malloc", STB_GLOBAL, 8)},
		{AT_ONE("__GI___print", STB_LOCAL, 8), AT_ONE("__print", STB_LOCAL, 8)},
		{AT_ONE("b", STB_LOCAL, 8), AT_ONE("a", STB_LOCAL, 8)},
		{AT_ONE("a", STB_LOCAL, 8), AT_ONE("b", STB_GNU_UNIQUE, 8)},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (int swap = 0; swap < 2; swap++) {
			struct elf_symbol list[] = {cases[i].worse, cases[i].better};
			struct symbol_table table;

			if (swap)
				list[0] = cases[i].better, list[1] = cases[i].worse;
			table = build(list, 2);
			assert_int_equal(table.count, 1);
			assert_string_equal(name_at(&table, 0x100), cases[i].better.name);
			symbol_table_free(&table);
		}
	}
}

static void symbol_versions_are_no_part_of_a_name(void **state)
{
	static const struct elf_symbol list[] = {
		{.value = 0x100, .size = 8, .name = "memcpy@@GLIBC_2.14"},
		{.value = 0x200, .size = 8, .name = "memcpy@GLIBC_2.2.5"},
		{.value = 0x300, .size = 8, .name = "@odd"},
	};
	_cleanup_(symbol_table_free) struct symbol_table table = build(list, ARRAY_SIZE(list));

	(void)state;
	assert_string_equal(name_at(&table, 0x100), "memcpy");
	assert_string_equal(name_at(&table, 0x200), "memcpy");
	assert_string_equal(name_at(&table, 0x300), "@odd");
}

static void a_size_beyond_32_bits_reaches_at_least_to_4_gib_and_never_wraps(void **state)
{
	static const struct elf_symbol list[] = {
		{.value = UINT64_MAX - 0x10, .size = UINT64_MAX, .name = "wrapping"},
		{.value = 0x1000, .size = (1ull << 32) + 1, .name = "huge"},
	};
	_cleanup_(symbol_table_free) struct symbol_table table = build(list, ARRAY_SIZE(list));

	(void)state;
	assert_string_equal(name_at(&table, 0x1000 + 0xfffffffeull), "huge");
	assert_string_equal(name_at(&table, UINT64_MAX), "wrapping");
	assert_string_equal(name_at(&table, 0xfff), "-");
}

static void an_endless_name_is_cut(void **state)
{
	_cleanup_free_ char *name = malloc(100001);
	struct elf_symbol symbol = {.value = 0x100, .size = 8, .name = name};
	struct symbol_table table;

	(void)state;
	assert_non_null(name);
	memset(name, 'x', 100000);
	name[100000] = '\0';
	table = build(&symbol, 1);
	assert_int_equal(strlen(name_at(&table, 0x100)), 4096);
	symbol_table_free(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_belongs_to_the_function_that_holds_it),
		cmocka_unit_test(an_empty_table_knows_nothing),
		cmocka_unit_test(of_several_names_at_one_address_the_best_stays),
		cmocka_unit_test(symbol_versions_are_no_part_of_a_name),
		cmocka_unit_test(a_size_beyond_32_bits_reaches_at_least_to_4_gib_and_never_wraps),
		cmocka_unit_test(an_endless_name_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
