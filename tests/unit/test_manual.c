// SPDX-License-Identifier: GPL-2.0-or-later
/* The option table, --help and the manual page speak of the same options and subcommands. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/help.h"
#include "cli/option_table.h"

static char *file_read(const char *path)
{
	char *text = NULL;
	size_t size = 0;
	_cleanup_fclose_ FILE *file = fopen(path, "r");

	if (!file)
		fail_msg("%s cannot be read: run this where the Makefile is", path);
	assert_true(getdelim(&text, &size, '\0', file) > 0);
	return text;
}

/* Whether `text` has `words` with no letter of a longer name behind it. */
static bool has_word(const char *text, const char *words)
{
	size_t length = strlen(words);

	for (const char *at = text; (at = strstr(at, words)); at++) {
		if (!isalnum((unsigned char)at[length]) && at[length] != '-')
			return true;
	}
	return false;
}

static void manual_describes_every_option(void **state)
{
	_cleanup_free_ char *manual = file_read("user/man/leakmon.8");
	unsigned missing = 0;

	(void)state;
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		char entry[96];

		if (row->group == GROUP_HIDDEN)
			continue;
		if (row->letter)
			snprintf(entry, sizeof(entry), ".It Fl %c , Fl -%s", row->letter,
				 row->name);
		else
			snprintf(entry, sizeof(entry), ".It Fl -%s", row->name);
		if (has_word(manual, entry))
			continue;
		print_error("leakmon.8 has no `%s`\n", entry);
		missing++;
	}
	assert_int_equal(missing, 0);
}

static bool is_option(const char *name, size_t length)
{
	for (size_t i = 0; i < option_row_count; i++) {
		if (strlen(option_rows[i].name) == length &&
		    !strncmp(option_rows[i].name, name, length))
			return true;
	}
	return false;
}

static void manual_describes_no_other_option(void **state)
{
	_cleanup_free_ char *manual = file_read("user/man/leakmon.8");

	(void)state;
	for (const char *at = manual; (at = strstr(at, "Fl -")); at++) {
		const char *name = at + strlen("Fl -");
		size_t length = strcspn(name, " \n");

		if (length && !is_option(name, length)) /* "Fl -" alone is `--` */
			fail_msg("leakmon.8 speaks of --%.*s", (int)length, name);
	}
}

static void manual_and_synopsis_name_every_subcommand(void **state)
{
	_cleanup_free_ char *manual = file_read("user/man/leakmon.8");
	char *synopsis = strstr(manual, ".Sh SYNOPSIS");
	char *description = strstr(manual, ".Sh DESCRIPTION");

	(void)state;
	assert_true(synopsis && description);
	for (size_t i = 0; i < subcommand_count; i++) {
		char words[32];

		snprintf(words, sizeof(words), "Cm %s", subcommands[i].name);
		assert_true(has_word(description, words));
		*description = '\0';
		if (!has_word(synopsis, words))
			fail_msg("the synopsis lacks %s", subcommands[i].name);
		*description = '.';
	}
}

/* Both ways: what it takes is there, what it does not take is not. */
static void help_lists_exactly_the_options_of_its_subcommand(void **state)
{
	(void)state;
	for (size_t i = 0; i < subcommand_count; i++) {
		_cleanup_free_ char *help = NULL;
		size_t size;
		FILE *out = open_memstream(&help, &size);

		help_print(out, &subcommands[i]);
		fclose(out);
		assert_non_null(strstr(help, "\nExamples:\n  leakmon"));
		for (size_t j = 0; j < option_row_count; j++) {
			const struct option_row *row = &option_rows[j];
			bool taken = row->subcommands & subcommands[i].bit;
			char line[256];

			snprintf(line, sizeof(line), "%s\n", row->help);
			if (!!strstr(help, line) != (taken && row->group != GROUP_HIDDEN))
				fail_msg("leakmon %s --help and --%s", subcommands[i].name,
					 row->name);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(manual_describes_every_option),
		cmocka_unit_test(manual_describes_no_other_option),
		cmocka_unit_test(manual_and_synopsis_name_every_subcommand),
		cmocka_unit_test(help_lists_exactly_the_options_of_its_subcommand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
