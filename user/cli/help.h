/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What --help and --version print, from the option table; at most 100 columns. */
#ifndef LEAKMON_CLI_HELP_H
#define LEAKMON_CLI_HELP_H

#include <stdio.h>

#include "cli/option_table.h"

void help_print(FILE *out, const struct subcommand *subcommand);
void help_print_version(FILE *out);

#endif
