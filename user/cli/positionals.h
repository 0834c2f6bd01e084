/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of the command line that are no options: INTERVAL, COUNT, files. */
#ifndef LEAKMON_CLI_POSITIONALS_H
#define LEAKMON_CLI_POSITIONALS_H

#include "cli/option_table.h"

/* Takes a word for what comes next; *taken counts them. 0, or -EINVAL after a message. */
int positional_read(struct options *options, const struct subcommand *subcommand, unsigned *taken,
		    const char *word);

#endif
