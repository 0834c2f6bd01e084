/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The completion script for a shell, made from the tables of command_line.h. */
#ifndef LEAKMON_CLI_COMPLETION_H
#define LEAKMON_CLI_COMPLETION_H

#include <stdio.h>

#include "cli/command_line.h"

/*
 * For bash, with or without the bash-completion package: commands, options, and what values of
 * options can be. Names of processes that it offers come from targets: it quotes them, and expands
 * nothing.
 */
void completion_print(FILE *out, const struct command_table *table);

#endif
