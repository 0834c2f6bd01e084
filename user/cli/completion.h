/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The completion script for a shell, made from the tables of command_line.h. */
#ifndef LEAKMON_CLI_COMPLETION_H
#define LEAKMON_CLI_COMPLETION_H

#include <stdio.h>

#include "cli/command_line.h"

/* "bash", "fish" or "zsh": commands, options with what they are for, and what their values can be.
 * Names of processes that are offered come from targets; the shells quote them, and expand nothing.
 */
void completion_print(FILE *out, const char *shell, const struct command_table *table);

#endif
