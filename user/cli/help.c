// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/help.h"

#include <string.h>

#ifndef LEAKMON_VERSION
#define LEAKMON_VERSION "0.1.0"
#endif

/* Width of the left column, with names and argument. */
#define NAMES_WIDTH 31

static void print_row(FILE *out, const struct option_row *row, unsigned subcommand)
{
	char names[64], letter = option_letter(row, subcommand);

	snprintf(names, sizeof(names), "%c%c%s--%s%s%s", letter ? '-' : ' ', letter ? letter : ' ',
		 letter ? ", " : "  ", row->name,
		 row->argument && strncmp(row->argument, "[=", 2) != 0 ? " " : "",
		 row->argument ? row->argument : "");
	/* What is too long for its column has a line of its own. */
	if (strlen(names) > NAMES_WIDTH)
		fprintf(out, "  %s\n  %-*s %s\n", names, NAMES_WIDTH, "", row->help);
	else
		fprintf(out, "  %-*s %s\n", NAMES_WIDTH, names, row->help);
}

static void print_group(FILE *out, enum option_group group, unsigned subcommand)
{
	bool titled = false;

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->group != group || !(row->subcommands & subcommand))
			continue;
		if (!titled)
			fprintf(out, "\n%s:\n", option_group_titles[group]);
		titled = true;
		print_row(out, row, subcommand);
	}
}

void help_print(FILE *out, const struct subcommand *subcommand)
{
	fprintf(out, "Usage:\n%s\n%s", subcommand->usage, subcommand->about);
	for (enum option_group group = 0; group < GROUP_HIDDEN; group++)
		print_group(out, group, subcommand->bit);
	if (subcommand->bit & FOR_WATCH)
		fprintf(out, "\nBYTES may end in K, M or G (1024, 1024^2, 1024^3).\n");
	fprintf(out,
		"\nExit codes:\n"
		"  %d  done; also after Ctrl-C, and when the process has ended\n"
		"  %d  error: the message says what, why and what to do\n"
		"  %d  wrong usage\n",
		EXIT_OK, EXIT_ERROR, EXIT_USAGE);
	if (subcommand->bit & (FOR_WATCH | FOR_DIFF))
		fprintf(out, "  %d  more outstanding than --fail-over allows\n", EXIT_LEAK);
	fprintf(out, "\nExamples:\n%s", subcommand->examples);
}

void help_print_version(FILE *out)
{
	fprintf(out, "leakmon %s\n", LEAKMON_VERSION);
}
