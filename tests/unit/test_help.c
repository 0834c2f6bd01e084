// SPDX-License-Identifier: GPL-2.0-or-later
/* The help pages, byte by byte: tests/golden/help.txt, and help_COMMAND.txt for each command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cli/help.h"
#include "unit/golden.h"
#include "unit/options_fixture.h"

#define COLUMNS_MAX 100

/* Returns the help page of a command; NULL: of all commands. The caller frees it. */
static char *page_of(const struct command *command, bool all)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	if (command)
		help_print(out, command, all);
	else
		help_print_overview(out, &commands);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void the_page_of_leakmon_is_as_committed(void **state)
{
	_cleanup_free_ char *page = page_of(NULL, false);

	(void)state;
	golden_check("tests/golden/help.txt", page);
}

static void the_page_of_each_command_is_as_committed(void **state)
{
	(void)state;
	for (size_t i = 0; i < commands.count; i++) {
		_cleanup_free_ char *page = page_of(commands.commands[i], false);
		char path[64];

		snprintf(path, sizeof(path), "tests/golden/help_%s.txt",
			 commands.commands[i]->name);
		golden_check(path, page);
	}
}

static void the_page_of_triage_shows_what_escalation_tracks_when_all_is_asked_for(void **state)
{
	_cleanup_free_ char *page = page_of(&command_triage, false);
	_cleanup_free_ char *all = page_of(&command_triage, true);

	(void)state;
	golden_check("tests/golden/help_triage_all.txt", all);
	assert_null(strstr(page, "--sample-rate"));
	assert_non_null(strstr(page, "`leakmon triage --help --all`"));
	assert_null(strstr(all, "--help --all"));
}

static unsigned count_lines(const char *text)
{
	unsigned lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* On a terminal of 50 rows. */
static void the_page_of_leakmon_names_every_command_with_a_line_and_fits_a_screen(void **state)
{
	_cleanup_free_ char *page = page_of(NULL, false);

	(void)state;
	assert_in_range(count_lines(page), 20, 50);
	for (size_t i = 0; i < commands.count; i++) {
		char line[128];

		snprintf(line, sizeof(line), "\n  %-9s %s\n", commands.commands[i]->name,
			 commands.commands[i]->summary);
		assert_non_null(strstr(page, line));
		assert_in_range(strlen(line), 0, 82);
	}
}

static void no_line_is_wider_than_100_columns(void **state)
{
	(void)state;
	for (size_t i = 0; i <= commands.count; i++) {
		_cleanup_free_ char *page =
			page_of(i < commands.count ? commands.commands[i] : NULL, true);
		char *rest = page, *line;

		while ((line = strsep(&rest, "\n")))
			assert_in_range(strlen(line), 0, COLUMNS_MAX);
	}
}

/* Both ways: a command's own options are listed, others are not. */
static void each_page_lists_exactly_the_options_of_its_command(void **state)
{
	(void)state;
	for (size_t i = 0; i < commands.count; i++) {
		const struct command *command = commands.commands[i];
		_cleanup_free_ char *page = page_of(command, true);
		char *options = strstr(page, command->about) + strlen(command->about);
		unsigned expected = general_group.count - 2, shown = 0; /* two are hidden */

		assert_non_null(strstr(page, "\nExamples:\n  leakmon"));
		*strstr(options, "\nExamples:") = '\0';
		for (const struct option_use *use = command->uses; use->group; use++) {
			for (size_t j = 0; j < use->group->count; j++) {
				const struct option_row *row = &use->group->rows[j];
				char name[64];

				snprintf(name, sizeof(name), "%c --%s",
					 option_letter(command, row) ? ',' : ' ', row->name);
				assert_int_equal(!strstr(options, name), row->hidden);
				expected += !row->hidden;
			}
		}
		for (const char *at = options; (at = strstr(at, "--")); at += 2)
			shown += at - options >= 7 && at[-7] == '\n' && at[-6] == ' ';
		assert_int_equal(shown, expected);
	}
}

static void completion_names_every_command(void **state)
{
	_cleanup_free_ char *script = NULL;
	size_t size;
	FILE *out = open_memstream(&script, &size);

	(void)state;
	completion_print(out, "bash", &commands);
	fclose(out);
	for (size_t i = 0; i < commands.count; i++) {
		char line[64];

		snprintf(line, sizeof(line), "\n\t%s) echo \"--", commands.commands[i]->name);
		assert_non_null(strstr(script, line));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_page_of_leakmon_is_as_committed),
		cmocka_unit_test(the_page_of_each_command_is_as_committed),
		cmocka_unit_test(
			the_page_of_triage_shows_what_escalation_tracks_when_all_is_asked_for),
		cmocka_unit_test(
			the_page_of_leakmon_names_every_command_with_a_line_and_fits_a_screen),
		cmocka_unit_test(no_line_is_wider_than_100_columns),
		cmocka_unit_test(each_page_lists_exactly_the_options_of_its_command),
		cmocka_unit_test(completion_names_every_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
