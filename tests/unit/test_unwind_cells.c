// SPDX-License-Identifier: GPL-2.0-or-later
/* Does the kernel's search agree with a plain one over the rows? */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "own_registers.h"
#include "process/unwind/row_sets.h"
#include "unit/unwind_fixture.h"

#define PAGE (1u << LM_UNWIND_PAGE_SHIFT)
#define SAMPLES 200000

/* Returns the end of the last indexed page: addresses after it belong to the last row. */
static uint32_t last_reached(const struct unwind_table *table)
{
	return table->rows[table->count - 1].pc | (PAGE - 1);
}

/* The search that bpf/unwind_rows.bpf.h makes: NULL if no row covers pc. */
static const struct lm_unwind_row *cells_find(const struct unwind_cells *cells, uint32_t pc)
{
	uint32_t page = (pc >> LM_UNWIND_PAGE_SHIFT) + 1, low, high;

	if (!cells->count)
		return NULL;
	page = MIN(page, cells->items[0].pc); /* after the last row: it reaches to the end */
	low = cells->items[page].pc;
	high = cells->items[page + 1].pc + 1;
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (cells->items[middle].pc <= pc)
			low = middle;
		else
			high = middle;
	}
	return cells->items[low].pc <= pc ? &cells->items[low] : NULL;
}

static void assert_agree(const struct unwind_table *table, const struct unwind_cells *cells,
			 uint32_t pc)
{
	const struct lm_unwind_row *expected = unwind_table_find(table, pc);
	const struct lm_unwind_row *found = cells_find(cells, pc);

	if (!expected != !found || (found && memcmp(expected, found, sizeof(*found)) != 0))
		fail_msg("pc %#x: %s expected (pc %#x), %s found (pc %#x)", pc,
			 expected ? "a row" : "none", expected ? expected->pc : 0,
			 found ? "a row" : "none", found ? found->pc : 0);
}

static void assert_agree_around(const struct unwind_table *table, const struct unwind_cells *cells,
				uint32_t pc)
{
	assert_agree(table, cells, pc);
	if (pc > 0)
		assert_agree(table, cells, pc - 1);
	if (pc < UINT32_MAX)
		assert_agree(table, cells, pc + 1);
}

/* Checks every row's boundary, every page's, and random addresses, also after the end. */
static void assert_agree_everywhere(const struct unwind_table *table,
				    const struct unwind_cells *cells)
{
	uint64_t random = 0x9e3779b97f4a7c15, end = (uint64_t)last_reached(table) + 4 * PAGE;

	for (size_t i = 0; i < table->count; i++)
		assert_agree_around(table, cells, table->rows[i].pc);
	for (uint64_t pc = 0; pc <= MIN(end, UINT32_MAX); pc += PAGE)
		assert_agree_around(table, cells, (uint32_t)pc);
	for (size_t i = 0; i < SAMPLES; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		assert_agree(table, cells, (uint32_t)(random % end));
	}
	assert_agree(table, cells, UINT32_MAX);
}

/* Steps of the kernel's search over one page's rows (ROW_SEARCH_STEPS in unwind_rows.bpf.h). */
#define SEARCH_STEPS 13

/* Each page's cell is that of the row that covers its first byte, or of the module's first row. */
static void assert_index(const struct unwind_table *table, const struct unwind_cells *cells)
{
	uint32_t pages = cells->items[0].pc, first_row = pages + 2;

	for (uint32_t page = 0; page <= pages; page++) {
		const struct lm_unwind_row *row =
			unwind_table_find(table, page << LM_UNWIND_PAGE_SHIFT);
		uint32_t cell = cells->items[1 + page].pc;

		assert_int_equal(cell, first_row + (row ? (uint32_t)(row - table->rows) : 0));
		if (page > 0)
			assert_true(cell + 1 - cells->items[page].pc <= 1u << SEARCH_STEPS);
	}
}

static void check(const struct unwind_table *table)
{
	_cleanup_(unwind_cells_free) struct unwind_cells cells = {0};
	uint32_t pages = (table->rows[table->count - 1].pc >> LM_UNWIND_PAGE_SHIFT) + 1;

	assert_int_equal(unwind_cells_build(table, &cells), 0);
	assert_int_equal(cells.items[0].pc, pages);
	assert_int_equal(cells.count, 2 + pages + table->count);
	assert_index(table, &cells);
	assert_agree_everywhere(table, &cells);
}

static void cells_of_a_real_file_find_what_its_table_finds(void **state)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	_cleanup_(elf_file_close) struct elf_file file = {0};

	assert_int_equal(unwind_compile_path(*state, &file, &table), 0);
	assert_true(table.count > 100);
	check(&table);
}

/* Rows at these addresses, distinguished by their CFA. */
static void check_made(const uint32_t *pcs, size_t count)
{
	struct lm_unwind_row rows[16] = {{0}};
	const struct unwind_table table = {.rows = rows, .count = count};

	assert_true(count <= ARRAY_SIZE(rows));
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct lm_unwind_row){
			.pc = pcs[i], .cfa_words = (__s16)(i + 1), .kind = LM_UNWIND_SP};
	check(&table);
}

#define check_rows_at(...)                                                                         \
	check_made((const uint32_t[]){__VA_ARGS__}, ARRAY_SIZE(((const uint32_t[]){__VA_ARGS__})))

static void one_row_is_found_wherever_it_starts(void **state)
{
	(void)state;
	check_rows_at(0);
	check_rows_at(1);
	check_rows_at(PAGE - 1);
	check_rows_at(PAGE);
	check_rows_at(PAGE + 1);
	check_rows_at(3 * PAGE - 1);
	check_rows_at(1000 * PAGE + 7);
}

static void rows_that_touch_page_boundaries_are_found(void **state)
{
	(void)state;
	check_rows_at(0, PAGE, 2 * PAGE);
	check_rows_at(PAGE - 1, PAGE, PAGE + 1);
	check_rows_at(0, PAGE - 1, 2 * PAGE - 1, 2 * PAGE);
	check_rows_at(1, 2, 3, PAGE - 2, PAGE - 1, PAGE, PAGE + 1, PAGE + 2, 2 * PAGE - 1);
}

static void pages_without_a_row_of_their_own_belong_to_the_row_before(void **state)
{
	(void)state;
	check_rows_at(5, 10 * PAGE + 5, 10 * PAGE + 6, 500 * PAGE);
	check_rows_at(7 * PAGE + 1, 7 * PAGE + 2, 900 * PAGE - 1);
	check_rows_at(0, 4000 * PAGE);
}

/* The kernel's search takes 13 steps at most: as many rows as a page has bytes are within that. */
static void a_page_full_of_rows_is_found(void **state)
{
	_cleanup_free_ struct lm_unwind_row *rows = calloc(3 * PAGE, sizeof(*rows));
	const struct unwind_table table = {.rows = rows, .count = 3 * PAGE};

	(void)state;
	assert_non_null(rows);
	for (uint32_t i = 0; i < 3 * PAGE; i++)
		rows[i] = (struct lm_unwind_row){
			.pc = i, .cfa_words = (__s16)i, .kind = LM_UNWIND_FP};
	check(&table);
}

static void the_highest_address_has_a_cell(void **state)
{
	_cleanup_(unwind_cells_free) struct unwind_cells cells = {0};
	struct lm_unwind_row rows[] = {{.pc = 0}, {.pc = UINT32_MAX, .kind = LM_UNWIND_SP}};
	const struct unwind_table table = {.rows = rows, .count = 2};

	(void)state;
	assert_int_equal(unwind_cells_build(&table, &cells), 0);
	assert_int_equal(cells.items[0].pc, 1u << (32 - LM_UNWIND_PAGE_SHIFT));
	assert_agree_around(&table, &cells, UINT32_MAX);
	assert_agree_around(&table, &cells, UINT32_MAX - PAGE);
	assert_agree_around(&table, &cells, 0x80000000);
	assert_agree_around(&table, &cells, 0);
}

static void an_empty_table_has_no_cells(void **state)
{
	const struct unwind_table table = {0};
	struct unwind_cells cells = {.count = 99};

	(void)state;
	assert_int_equal(unwind_cells_build(&table, &cells), -ENOENT);
	assert_int_equal(cells.count, 99);
	assert_null(cells_find(&(struct unwind_cells){0}, 0));
}

#define FILE_TEST_AS(name, path)                                                                   \
	{                                                                                          \
		"cells_of_a_real_file_find_what_its_table_finds: " name,                           \
			cells_of_a_real_file_find_what_its_table_finds, NULL, NULL, path           \
	}
#define FILE_TEST(path) FILE_TEST_AS(path, path)

int main(void)
{
	Dl_info library = {0};
	int found = dladdr(unwind_cells_build, &library);
	const struct CMUnitTest tests[] = {
		FILE_TEST_AS("the library under test", found ? (char *)library.dli_fname : ""),
		FILE_TEST(OWN_LOADER),
		FILE_TEST(OWN_LIBRARIES "libc.so.6"),
		FILE_TEST(OWN_LIBRARIES "libstdc++.so.6"),
		FILE_TEST(OWN_LIBRARIES "libm.so.6"),
		cmocka_unit_test(one_row_is_found_wherever_it_starts),
		cmocka_unit_test(rows_that_touch_page_boundaries_are_found),
		cmocka_unit_test(pages_without_a_row_of_their_own_belong_to_the_row_before),
		cmocka_unit_test(a_page_full_of_rows_is_found),
		cmocka_unit_test(the_highest_address_has_a_cell),
		cmocka_unit_test(an_empty_table_has_no_cells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
