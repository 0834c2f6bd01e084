// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/help.h"

#include <string.h>

#ifndef LEAKMON_VERSION
#define LEAKMON_VERSION "0.1.0"
#endif

/* Width of the left column, with names and argument. */
#define NAMES_WIDTH 31

static void print_row(FILE *out, const struct option_row *row, char letter)
{
	char names[64];

	snprintf(names, sizeof(names), "%c%c%s--%s%s%s", letter ? '-' : ' ', letter ? letter : ' ',
		 letter ? ", " : "  ", row->name,
		 option_argument(row) && strncmp(option_argument(row), "[=", 2) != 0 ? " " : "",
		 option_argument(row) ? option_argument(row) : "");
	/* What is too long for its column has a line of its own. */
	if (strlen(names) > NAMES_WIDTH)
		fprintf(out, "  %s\n  %-*s %s\n", names, NAMES_WIDTH, "", row->help);
	else
		fprintf(out, "  %-*s %s\n", NAMES_WIDTH, names, row->help);
}

/* `command` is NULL for the options of all. */
static void print_rows(FILE *out, const struct option_group *group, const struct command *command)
{
	for (size_t i = 0; i < group->count; i++) {
		const struct option_row *row = &group->rows[i];

		if (!row->hidden)
			print_row(out, row, command ? option_letter(command, row) : row->letter);
	}
}

static bool shows_any(const struct option_group *group)
{
	bool any = false;

	for (size_t i = 0; i < group->count; i++)
		any |= !group->rows[i].hidden;
	return any;
}

static bool is_titled_before(const struct command *command, const struct option_use *use)
{
	for (const struct option_use *other = command->uses; other < use; other++) {
		if (shows_any(other->group) && !strcmp(other->group->title, use->group->title))
			return true;
	}
	return false;
}

/* Groups of one title stand where the first of them does. */
static void print_options(FILE *out, const struct command *command)
{
	for (const struct option_use *use = command->uses; use->group; use++) {
		if (!shows_any(use->group) || is_titled_before(command, use))
			continue;
		fprintf(out, "\n%s:\n", use->group->title);
		for (const struct option_use *same = use; same->group; same++) {
			if (!strcmp(same->group->title, use->group->title))
				print_rows(out, same->group, command);
		}
	}
	fprintf(out, "\n%s:\n", general_group.title);
	print_rows(out, &general_group, command);
}

static bool takes_bytes(const struct command *command)
{
	for (const struct option_use *use = command->uses; use->group; use++) {
		for (size_t i = 0; i < use->group->count; i++) {
			const char *argument = option_argument(&use->group->rows[i]);

			if (argument && !strcmp(argument, "BYTES"))
				return true;
		}
	}
	return false;
}

void help_print(FILE *out, const struct command *command)
{
	fprintf(out, "Usage:\n%s\n%s", command->usage, command->about);
	print_options(out, command);
	if (takes_bytes(command))
		fprintf(out, "\nBYTES may end in K, M or G (1024, 1024^2, 1024^3).\n");
	fprintf(out, "\nExamples:\n%s", command->examples);
}

void help_print_overview(FILE *out, const struct command_table *table)
{
	fprintf(out,
		"%s\nUsage:\n  leakmon [COMMAND] [OPTION...] [INTERVAL [COUNT]]\n\nCommands:\n",
		table->about);
	for (size_t i = 0; i < table->count; i++)
		fprintf(out, "  %-9s %s\n", table->commands[i]->name, table->commands[i]->summary);
	fprintf(out, "\n%s:\n", table->groups[0]->title);
	for (size_t i = 0; i < table->group_count; i++)
		print_rows(out, table->groups[i], NULL);
	fprintf(out,
		"\nExamples:\n%s"
		"\nExit codes:\n"
		"  %d  done; also after Ctrl-C, and when the process has ended\n"
		"  %d  error: the message says what, why and what to do\n"
		"  %d  wrong usage\n"
		"  %d  more outstanding than --fail-over allows\n"
		"\n`leakmon help COMMAND` describes a command and its options; see also "
		"leakmon(8).\n",
		table->examples, EXIT_OK, EXIT_ERROR, EXIT_USAGE, EXIT_LEAK);
}

void help_print_version(FILE *out)
{
	fprintf(out, "leakmon %s\n", LEAKMON_VERSION);
}
