// SPDX-License-Identifier: GPL-2.0-or-later
/* Cells of a terminal: exactly as many as there are, without control characters. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "app/top/columns.h"
#include "base/cleanup.h"

static size_t columns_of(const wchar_t *cells)
{
	size_t columns = 0;

	for (; *cells; cells++) {
		assert_true(wcwidth(*cells) >= 0);
		columns += (size_t)wcwidth(*cells);
	}
	return columns;
}

static void test_text_fills_exactly_its_columns(void **state)
{
	static const struct {
		const char *text;
		size_t width;
		enum cells_align align;
		const wchar_t *cells;
	} cases[] = {
		{"abc", 5, CELLS_LEFT, L"abc  "},
		{"abc", 5, CELLS_RIGHT, L"  abc"},
		{"abc", 3, CELLS_LEFT, L"abc"},
		{"abcd", 3, CELLS_LEFT, L"ab\u2026"},
		{"abcd", 1, CELLS_LEFT, L"\u2026"},
		{"abcd", 0, CELLS_LEFT, L""},
		{"", 2, CELLS_RIGHT, L"  "},
		/* Wide characters take two columns; half of one is never shown. */
		{"\u6f22\u5b57", 4, CELLS_LEFT, L"\u6f22\u5b57"},
		{"\u6f22\u5b57", 5, CELLS_RIGHT, L" \u6f22\u5b57"},
		{"\u6f22\u5b57\u6f22", 5, CELLS_LEFT, L"\u6f22\u5b57\u2026"},
		{"\u6f22\u5b57\u6f22", 4, CELLS_LEFT, L"\u6f22\u2026 "},
		{"\u6f22", 1, CELLS_LEFT, L"\u2026"},
		/* Accents take no column, and need a character. */
		{"e\u0301x", 3, CELLS_LEFT, L"e\u0301x "},
		{"\u0301x", 2, CELLS_LEFT, L"x "},
		/* Control characters are escaped. */
		{"\033[2J", 8, CELLS_LEFT, L"\\x1b[2J "},
		{"a\u202eb", 10, CELLS_LEFT, L"a\\u{202e}b"},
		{"\xff\xfe", 3, CELLS_LEFT, L"\ufffd\ufffd "},
		{"a\nb\tc", 11, CELLS_LEFT, L"a\\x0ab\\x09c"},
	};
	wchar_t cells[CELLS_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cells_fit(cells, cases[i].text, cases[i].width, cases[i].align);
		if (columns_of(cells) != cases[i].width)
			fail_msg("case %zu: %zu columns, `%ls`", i, columns_of(cells), cells);
		assert_int_equal(wcscmp(cells, cases[i].cells), 0);
	}
}

static void test_a_pile_of_accents_stays_within_its_cell(void **state)
{
	wchar_t cells[CELLS_SIZE];
	char text[2 + 2 * 2000] = "a";

	(void)state;
	for (size_t i = 0; i < 2000; i++)
		memcpy(text + 1 + 2 * i, "\u0301", 2);
	cells_fit(cells, text, 2, CELLS_LEFT);
	assert_int_equal(wcslen(cells), CELLS_PER_COLUMN + 1);
	assert_int_equal(columns_of(cells), 2);
}

static void test_lines_break_at_blanks_where_that_leaves_enough(void **state)
{
	static const struct {
		const char *text;
		size_t width, used;
		const wchar_t *cells;
	} cases[] = {
		{"abc def", 10, 7, L"abc def   "},  {"abcd efgh", 6, 5, L"abcd  "},
		{"a bcdefgh", 6, 6, L"a bcde"},	    {"abcdefgh", 4, 4, L"abcd"},
		{"\u6f22\u5b57", 3, 3, L"\u6f22 "}, {"", 3, 0, L"   "},
	};
	wchar_t cells[CELLS_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(cells_wrap(cells, cases[i].text, cases[i].width), cases[i].used);
		assert_int_equal(wcscmp(cells, cases[i].cells), 0);
	}
}

static size_t shown_width(const struct top_list *list, const size_t widths[COLUMNS_MAX])
{
	size_t width = 0;

	for (size_t i = 0; i < COLUMNS_MAX && list->columns[i].title; i++)
		width += widths[i] ? widths[i] + 1 : 0;
	return width ? width - 1 : 0;
}

static void test_columns_fit_every_screen_and_the_widest_has_all(void **state)
{
	size_t widths[COLUMNS_MAX];

	(void)state;
	for (size_t list = 0; list < TOP_LISTS_; list++) {
		for (size_t width = 1; width <= 300; width++) {
			top_columns_fit(&top_lists[list], true, width, widths);
			assert_true(shown_width(&top_lists[list], widths) <= width);
			assert_true(widths[0] > 0 || list == TOP_GROUPS);
		}
		assert_int_equal(shown_width(&top_lists[list], widths), 300);
		for (size_t i = 0; i < COLUMNS_MAX && top_lists[list].columns[i].title; i++)
			assert_true(widths[i] >= top_lists[list].columns[i].width);
	}
}

/* On a screen of that width, these columns are left. */
static void expect_columns(const struct top_list *list, bool many, size_t width,
			   const char *const *kept, size_t count)
{
	size_t widths[COLUMNS_MAX], shown = 0;

	top_columns_fit(list, many, width, widths);
	for (size_t i = 0; i < COLUMNS_MAX && list->columns[i].title; i++) {
		if (!widths[i])
			continue;
		assert_true(shown < count);
		assert_string_equal(list->columns[i].title, kept[shown]);
		shown++;
	}
	assert_int_equal(shown, count);
}

static void test_a_narrow_screen_keeps_what_matters_most(void **state)
{
	static const char *const kept[] = {"BYTES", "GROWTH/S", "VERDICT", "ALLOCATED BY"};

	(void)state;
	expect_columns(&top_lists[TOP_CALLS], false, 60, kept, ARRAY_SIZE(kept));
}

/* 80 columns have the place, shortened, and the certainty; the name is whole on every screen. */
static void test_80_columns_show_place_growth_verdict_and_course(void **state)
{
	static const char *const kept[] = {"PID",	 "COMM",    "IN",   "ANON+SWAP",
					   "GROWTH/MIN", "VERDICT", "CONF", "TREND"};
	size_t widths[COLUMNS_MAX];

	(void)state;
	expect_columns(&top_lists[TOP_TRIAGE], true, 80, kept, ARRAY_SIZE(kept));
	for (size_t width = 40; width < 200; width++) {
		top_columns_fit(&top_lists[TOP_TRIAGE], true, width, widths);
		assert_true(widths[1] >= 15);
		top_columns_fit(&top_lists[TOP_GROUPS], true, width, widths);
		assert_true(widths[2] >= 8);
	}
}

/* In a locale without them, there are neither blocks nor other characters outside it. */
static void test_plain_locales_get_plain_characters(void **state)
{
	const struct top_row row = {.spark = {0, 1, 4, 8}, .spark_count = 4};
	const struct top_column *course = &top_lists[TOP_CALLS].columns[6];
	char text[COLUMN_TEXT_SIZE];
	wchar_t cells[CELLS_SIZE];

	(void)state;
	assert_string_equal(course->title, "TREND");
	course->format(&row, course, 16, text);
	assert_string_equal(text, " \u2581\u2584\u2588");
	assert_non_null(setlocale(LC_CTYPE, "C"));
	course->format(&row, course, 16, text);
	assert_string_equal(text, " _-#");
	cells_fit(cells, "R\u00b2 too long", 4, CELLS_LEFT);
	assert_int_equal(wcscmp(cells, L"R? ?"), 0);
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_fills_exactly_its_columns),
		cmocka_unit_test(test_a_pile_of_accents_stays_within_its_cell),
		cmocka_unit_test(test_lines_break_at_blanks_where_that_leaves_enough),
		cmocka_unit_test(test_columns_fit_every_screen_and_the_widest_has_all),
		cmocka_unit_test(test_a_narrow_screen_keeps_what_matters_most),
		cmocka_unit_test(test_80_columns_show_place_growth_verdict_and_course),
		cmocka_unit_test(test_plain_locales_get_plain_characters),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
