// SPDX-License-Identifier: GPL-2.0-or-later
/* The manual page speaks of the same commands and options as their table. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "app/command/command.h"
#include "base/cleanup.h"

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

/* Returns whether `text` has `words`, not followed by a letter of a longer name. */
static bool has_word(const char *text, const char *words)
{
	size_t length = strlen(words);

	for (const char *at = text; (at = strstr(at, words)); at++) {
		if (!isalnum((unsigned char)at[length]) && at[length] != '-')
			return true;
	}
	return false;
}

/* The text from one line of the manual to another, which must exist. The caller frees it. */
static char *part_of(const char *manual, const char *from, const char *to)
{
	const char *begin = strstr(manual, from),
		   *end = begin ? strstr(begin + strlen(from), to) : NULL;

	if (!end)
		fail_msg("leakmon.8 lacks `%s` before `%s`", from, to);
	return strndup(begin, (size_t)(end - begin));
}

/* The subsection of a command. */
static char *command_part_of(const char *manual, const struct command *command)
{
	_cleanup_free_ char *all = part_of(manual, ".Sh COMMANDS\n", ".Sh OPTIONS\n");
	char heading[64], *begin, *end;

	snprintf(heading, sizeof(heading), "\n.Ss %s\n", command->name);
	begin = strstr(all, heading);
	if (!begin)
		fail_msg("leakmon.8 does not describe `%s`", command->name);
	end = strstr(begin + strlen(heading), "\n.Ss ");
	return strndup(begin, end ? (size_t)(end - begin) + 1 : strlen(begin));
}

/* Whether `part` has an entry for a row as a command knows it; `command` is NULL for all. */
static bool has_entry(const char *part, const struct option_row *row, const struct command *command)
{
	char entry[96], letter = command ? option_letter(command, row) : row->letter;

	if (letter)
		snprintf(entry, sizeof(entry), "\n.It Fl %c , Fl -%s", letter, row->name);
	else
		snprintf(entry, sizeof(entry), "\n.It Fl -%s", row->name);
	return has_word(part, entry);
}

/* Whether a line of `part` that begins with .Fl, a list of options, names it. */
static bool is_listed(const char *part, const char *name)
{
	char word[64];

	snprintf(word, sizeof(word), " -%s", name);
	for (const char *line = part; (line = strstr(line, "\n.Fl -")); line++) {
		_cleanup_free_ char *one = strndup(line + 1, strcspn(line + 1, "\n"));

		if (has_word(one, word))
			return true;
	}
	return false;
}

/* In its command's section, or among the shared options: with its letter. */
static void manual_describes_every_option_of_each_command(void **state)
{
	_cleanup_free_ char *manual = file_read("user/man/leakmon.8");
	_cleanup_free_ char *shared = part_of(manual, ".Sh OPTIONS\n", ".Sh RECORDINGS\n");
	unsigned missing = 0;

	(void)state;
	for (size_t i = 0; i < commands.count; i++) {
		const struct command *command = commands.commands[i];
		_cleanup_free_ char *part = command_part_of(manual, command);

		for (const struct option_use *use = command->uses; use->group; use++) {
			for (size_t j = 0; j < use->group->count; j++) {
				const struct option_row *row = &use->group->rows[j];

				if (row->hidden || has_entry(part, row, command) ||
				    (has_entry(shared, row, NULL) && is_listed(part, row->name)))
					continue;
				print_error("leakmon.8, %s: no --%s\n", command->name, row->name);
				missing++;
			}
		}
	}
	for (size_t i = 0; i < general_group.count; i++)
		missing += !general_group.rows[i].hidden &&
			   !has_entry(shared, &general_group.rows[i], NULL);
	assert_int_equal(missing, 0);
}

static bool takes(const struct command *command, const char *name, size_t length)
{
	for (const struct option_use *use = command->uses; use->group; use++) {
		for (size_t i = 0; i < use->group->count; i++) {
			const char *other = use->group->rows[i].name;

			if (strlen(other) == length && !strncmp(other, name, length))
				return true;
		}
	}
	return false;
}

static bool is_option(const char *name, size_t length)
{
	for (size_t i = 0; i < general_group.count; i++) {
		const char *other = general_group.rows[i].name;

		if (strlen(other) == length && !strncmp(other, name, length))
			return true;
	}
	for (size_t i = 0; i < commands.count; i++) {
		if (takes(commands.commands[i], name, length))
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

/* The lists of "Takes" and "Also takes". */
static void manual_gives_no_command_an_option_that_it_does_not_take(void **state)
{
	_cleanup_free_ char *manual = file_read("user/man/leakmon.8");

	(void)state;
	for (size_t i = 0; i < commands.count; i++) {
		const struct command *command = commands.commands[i];
		_cleanup_free_ char *part = command_part_of(manual, command);
		char *list = strstr(part, "akes\n.Fl -");
		unsigned named = 0;

		for (char *at = list; at && (at = strstr(at, " -")); at++, named++) {
			size_t length = strcspn(at + 2, " \n");

			if (!takes(command, at + 2, length))
				fail_msg("leakmon.8, %s: --%.*s", command->name, (int)length,
					 at + 2);
		}
		assert_true(!list || named >= 5);
		for (char *at = part; (at = strstr(at, "\n.It Fl ")); at++) {
			const char *name = strstr(at, "Fl -") + strlen("Fl -");

			if (!takes(command, name, strcspn(name, " \n")))
				fail_msg("leakmon.8, %s: %.24s", command->name, at + 1);
		}
	}
}

static void manual_and_synopsis_name_every_command(void **state)
{
	_cleanup_free_ char *manual = file_read("user/man/leakmon.8");
	_cleanup_free_ char *synopsis = part_of(manual, ".Sh SYNOPSIS\n", ".Sh DESCRIPTION\n");

	(void)state;
	for (size_t i = 0; i < commands.count; i++) {
		_cleanup_free_ char *part = command_part_of(manual, commands.commands[i]);
		char words[32];

		snprintf(words, sizeof(words), "Cm %s", commands.commands[i]->name);
		assert_true(has_word(part, words));
		if (!has_word(synopsis, words) && !has_word(synopsis, words + strlen("Cm ")))
			fail_msg("the synopsis lacks %s", commands.commands[i]->name);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(manual_describes_every_option_of_each_command),
		cmocka_unit_test(manual_describes_no_other_option),
		cmocka_unit_test(manual_gives_no_command_an_option_that_it_does_not_take),
		cmocka_unit_test(manual_and_synopsis_name_every_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
