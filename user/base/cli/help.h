/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output of --help, --version and --completion, from the tables of command_line.h. */
#ifndef LEAKMON_CLI_HELP_H
#define LEAKMON_CLI_HELP_H

#include <stdio.h>

#include "base/cli/command_line.h"

/* One page: the commands with a line each, how targets are named, and examples. */
void help_print_overview(FILE *out, const struct command_table *table);
/* A command: its own options, and examples; `all`: also those that it folds. */
void help_print(FILE *out, const struct command *command, bool all);
void help_print_version(FILE *out);

/*
 * The completion script for a shell, "bash", "fish" or "zsh": commands, options with their help,
 * and the values they can have. Names of processes that are offered come from targets; the shells
 * quote them, and expand nothing.
 */
void completion_print(FILE *out, const char *shell, const struct command_table *table);

#endif
