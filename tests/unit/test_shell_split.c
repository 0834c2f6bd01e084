// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cli/shell_split.h"

struct example {
	const char *text;
	const char *words; /* each in brackets */
};

/* "[a][b c]", to be freed. */
static char *bracketed(char *const *words)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	for (; *words; words++)
		fprintf(out, "[%s]", *words);
	fclose(out);
	return text;
}

static void words_are_split_as_a_shell_does(void **state)
{
	static const struct example examples[] = {
		{"server", "[server]"},
		{"server --port 80", "[server][--port][80]"},
		{"  a\t b\nc  ", "[a][b][c]"},
		{"a 'b c' d", "[a][b c][d]"},
		{"a \"b c\" d", "[a][b c][d]"},
		{"a'b c'\"d e\"f", "[ab cd ef]"},
		{"a '' \"\"", "[a][][]"},
		{"a\\ b \\'c", "[a b]['c]"},
		{"'a\\b'", "[a\\b]"},
		{"'a\"b' \"a'b\"", "[a\"b][a'b]"},
		{"\"a\\\"b\\\\c\\$d\\`e\"", "[a\"b\\c$d`e]"},
		{"\"a\\nb\"", "[a\\nb]"},
		{"a\\\nb \"c\\\nd\"", "[ab][cd]"},
		{"a $HOME *.c # ; | ~", "[a][$HOME][*.c][#][;][|][~]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		_cleanup_free_ char *text = NULL;
		char **words = NULL;

		assert_int_equal(shell_split(examples[i].text, &words), 0);
		text = bracketed(words);
		words_free(words);
		assert_string_equal(text, examples[i].words);
	}
}

static void what_does_not_end_or_is_empty_is_refused(void **state)
{
	static const char *const texts[] = {"",	       "  ",  "'a", "a 'b", "a \"b",
					    "a \"b\\", "a\\", "\"", "\\\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char *marker[] = {NULL}, **words = marker;

		assert_int_equal(shell_split(texts[i], &words), -EINVAL);
		assert_ptr_equal(words, marker);
	}
}

static void a_copy_outlives_its_model(void **state)
{
	char first[] = "server", second[] = "-x";
	char *model[] = {first, second, NULL};
	char **copy = words_copy(model);
	_cleanup_free_ char *text = NULL;

	(void)state;
	assert_non_null(copy);
	memset(first, 'z', sizeof(first) - 1);
	memset(second, 'z', sizeof(second) - 1);
	text = bracketed(copy);
	words_free(copy);
	assert_string_equal(text, "[server][-x]");
	words_free(NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_split_as_a_shell_does),
		cmocka_unit_test(what_does_not_end_or_is_empty_is_refused),
		cmocka_unit_test(a_copy_outlives_its_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
