// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "binary/elf/cfi.h"

static const struct lm_unwind_row one = {.kind = LM_UNWIND_SP, .cfa_words = 1};
static const struct lm_unwind_row two = {.kind = LM_UNWIND_SP, .cfa_words = 2};

struct row {
	uint32_t pc;
	enum lm_unwind_kind kind;
	int cfa_words;
};

static void assert_rows(struct row_builder *builder, const struct row *rows, size_t count)
{
	assert_int_equal(row_builder_finish(builder), 0);
	assert_int_equal(builder->rows.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(builder->rows.items[i].pc, rows[i].pc);
		assert_int_equal(builder->rows.items[i].kind, rows[i].kind);
		assert_int_equal(builder->rows.items[i].cfa_words, rows[i].cfa_words);
	}
	vec_free(&builder->rows);
}

#define ASSERT_ROWS(builder, ...)                                                                  \
	assert_rows(builder, (const struct row[]){__VA_ARGS__},                                    \
		    ARRAY_SIZE(((const struct row[]){__VA_ARGS__})))

static void nothing_stays_nothing(void **state)
{
	struct row_builder builder = {.base = 0x1000};

	(void)state;
	assert_int_equal(row_builder_add(&builder, 0x1010, 0x1010, one), 0);
	assert_rows(&builder, NULL, 0);
}

static void gaps_and_the_end_become_none_rows(void **state)
{
	struct row_builder builder = {.base = 0x1000};

	(void)state;
	assert_int_equal(row_builder_add(&builder, 0x1010, 0x1020, one), 0);
	assert_int_equal(row_builder_add(&builder, 0x1020, 0x1030, two), 0);
	assert_int_equal(row_builder_add(&builder, 0x1031, 0x1040, one), 0);
	ASSERT_ROWS(&builder, {0x10, LM_UNWIND_SP, 1}, {0x20, LM_UNWIND_SP, 2},
		    {0x30, LM_UNWIND_NONE, 0}, {0x31, LM_UNWIND_SP, 1}, {0x40, LM_UNWIND_NONE, 0});
}

static void equal_neighbours_become_one_row(void **state)
{
	struct row_builder builder = {.base = 0x1000};

	(void)state;
	assert_int_equal(row_builder_add(&builder, 0x1010, 0x1020, one), 0);
	assert_int_equal(row_builder_add(&builder, 0x1020, 0x1030, one), 0);
	ASSERT_ROWS(&builder, {0x10, LM_UNWIND_SP, 1}, {0x30, LM_UNWIND_NONE, 0});
}

static void what_came_first_wins(void **state)
{
	struct row_builder builder = {.base = 0x1000};

	(void)state;
	assert_int_equal(row_builder_add(&builder, 0x1010, 0x1020, one), 0);
	assert_int_equal(row_builder_add(&builder, 0x1010, 0x1018, two), 0);
	assert_int_equal(row_builder_add(&builder, 0x1018, 0x1028, two), 0);
	ASSERT_ROWS(&builder, {0x10, LM_UNWIND_SP, 1}, {0x20, LM_UNWIND_SP, 2},
		    {0x28, LM_UNWIND_NONE, 0});
}

static void the_number_of_rows_is_capped(void **state)
{
	struct row_builder builder = {.base = 0x1000};
	uint64_t at = 0x1000;

	(void)state;
	for (uint32_t i = 0; i < UNWIND_MAX_ROWS; i++, at++)
		if (row_builder_add(&builder, at, at + 1, i % 2 ? one : two))
			fail();
	assert_int_equal(builder.rows.count, UNWIND_MAX_ROWS);
	assert_int_equal(row_builder_add(&builder, at, at + 1, one), 0);
	assert_int_equal(row_builder_add(&builder, at + 1, at + 2, two), -EFBIG);
	assert_int_equal(row_builder_finish(&builder), -EFBIG);
	vec_free(&builder.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_stays_nothing),
		cmocka_unit_test(gaps_and_the_end_become_none_rows),
		cmocka_unit_test(equal_neighbours_become_one_row),
		cmocka_unit_test(what_came_first_wins),
		cmocka_unit_test(the_number_of_rows_is_capped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
