/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output of --help, --version and --completion, from the tables of command_line.h. */
#ifndef LEAKMON_CLI_HELP_H
#define LEAKMON_CLI_HELP_H

#include <stdio.h>

#include "base/cli/command_line.h"

/* Prints one page: the commands with a line each, how to name targets, and examples. */
void help_print_overview(FILE *out, const struct command_table *table);
/* Prints a command's options and examples; `all`: including folded groups. */
void help_print(FILE *out, const struct command *command, bool all);
void help_print_version(FILE *out);

/*
 * Prints the completion script for "bash", "fish" or "zsh": commands, options with their help, and
 * their possible values. Process names offered come from targets; the scripts quote them, and
 * expand nothing.
 */
void completion_print(FILE *out, const char *shell, const struct command_table *table);

#endif
