/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the option table means to getopt_long(3). */
#ifndef LEAKMON_CLI_GETOPT_TABLES_H
#define LEAKMON_CLI_GETOPT_TABLES_H

#include <getopt.h>

#include "cli/option_table.h"

struct getopt_tables {
	struct option longs[OPTION_ROWS_MAX + 1];
	char letters[2 + 2 * OPTION_ROWS_MAX + 1];
};

/*
 * The options of subcommands with one of these bits come first; others are known, to be refused by
 * name.
 */
void getopt_tables_fill(struct getopt_tables *tables, unsigned bits);

/* The row that a value of getopt stands for, or NULL: the subcommand's own before another's. */
const struct option_row *getopt_row(const struct subcommand *subcommand, int value);

#endif
