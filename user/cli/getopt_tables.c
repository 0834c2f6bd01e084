// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/getopt_tables.h"

#include <string.h>

/* getopt's value of row i; above any letter. */
#define ROW_VALUE(i) ((int)(i) + 256)

/* "[=K]" may be left out. */
static int argument_kind(const char *argument)
{
	if (!argument)
		return no_argument;
	return strncmp(argument, "[=", 2) ? required_argument : optional_argument;
}

static void getopt_table_add(struct getopt_tables *tables, size_t *count, size_t i)
{
	const struct option_row *row = &option_rows[i];

	for (size_t j = 0; j < *count; j++) {
		if (!strcmp(tables->longs[j].name, row->name))
			return;
	}
	tables->longs[(*count)++] = (struct option){
		.name = row->name,
		.has_arg = argument_kind(row->argument),
		.val = ROW_VALUE(i),
	};
}

void getopt_tables_fill(struct getopt_tables *tables, unsigned bits)
{
	/* '-': words that are no options come in their order. ':': a missing value is told apart.
	 */
	char *letter = stpcpy(tables->letters, "-:");
	size_t count = 0;

	for (int own = 1; own >= 0; own--) {
		for (size_t i = 0; i < option_row_count; i++) {
			if (own == !!(option_rows[i].subcommands & bits))
				getopt_table_add(tables, &count, i);
		}
	}
	tables->longs[count] = (struct option){0};
	for (size_t i = 0; i < option_row_count; i++) {
		if (!option_rows[i].letter)
			continue;
		*letter++ = option_rows[i].letter;
		if (option_rows[i].argument)
			*letter++ = ':';
	}
	*letter = '\0';
}

const struct option_row *getopt_row(const struct subcommand *subcommand, int value)
{
	const struct option_row *other = NULL;

	if (value >= ROW_VALUE(0) && value < ROW_VALUE(option_row_count))
		return &option_rows[value - ROW_VALUE(0)];
	for (size_t i = 0; i < option_row_count && value; i++) {
		if (option_rows[i].letter != value)
			continue;
		if (option_rows[i].subcommands & subcommand->bit)
			return &option_rows[i];
		other = &option_rows[i];
	}
	return other;
}
