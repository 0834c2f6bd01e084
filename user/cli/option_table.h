/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The subcommands and their options: one row each. Parsing and --help both walk these tables. */
#ifndef LEAKMON_CLI_OPTION_TABLE_H
#define LEAKMON_CLI_OPTION_TABLE_H

#include "cli/options.h"

/* Bits of option_row.subcommands, in the order of the rows in `subcommands`. */
enum { FOR_WATCH = 1, FOR_DOCTOR = 2, FOR_ALL = FOR_WATCH | FOR_DOCTOR };

enum option_group {
	GROUP_TARGET,
	GROUP_COUNTED,
	GROUP_PROBES,
	GROUP_OUTPUT,
	GROUP_GENERAL,
	GROUP_HIDDEN, /* for our own benchmark: parsed, not shown */
	GROUP_MAX_,
};

struct option_row {
	const char *name;     /* long, without dashes */
	char letter;	      /* 0: none */
	const char *argument; /* as --help shows it; NULL: the option takes none */
	const char *help;
	/*
	 * Puts what `text` says into options (at `offset`, where it has one field). 0; 1: the
	 * option was all there is to do (--help); -EINVAL: not of the right form; -ERANGE:
	 * outside minimum..maximum; -ENOMEM. On failure options are untouched.
	 */
	int (*parse)(struct options *options, const struct option_row *row, const char *text);
	const char *expects; /* "give ...", completes the message for -EINVAL */
	size_t offset;
	uint64_t minimum, maximum;
	enum option_group group;
	unsigned subcommands;
};

struct subcommand {
	const char *name;
	unsigned bit;
	const char *usage; /* lines */
	const char *about;
	const char *examples;
};

/* At most OPTION_ROWS_MAX of them. */
#define OPTION_ROWS_MAX 64
extern const struct option_row option_rows[];
extern const size_t option_row_count;
extern const char *const option_group_titles[GROUP_MAX_];

/* The default comes first. */
extern const struct subcommand subcommands[];
extern const size_t subcommand_count;
/* NULL if there is none of that name. */
const struct subcommand *subcommand_find(const char *name);

#endif
