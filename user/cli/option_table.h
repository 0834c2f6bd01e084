/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of all subcommands, one row each. Parsing, --help and completion walk this table. */
#ifndef LEAKMON_CLI_OPTION_TABLE_H
#define LEAKMON_CLI_OPTION_TABLE_H

#include "cli/options.h"
#include "cli/subcommands.h"

enum option_group {
	GROUP_TARGET,
	GROUP_TRIAGE,
	GROUP_COUNTED,
	GROUP_PROBES,
	GROUP_OUTPUT,
	GROUP_GENERAL,
	GROUP_HIDDEN, /* for our own build and benchmark: parsed, not shown */
	GROUP_MAX_,
};

/* What some options ask for in place of a run. */
enum option_show { SHOW_HELP = 1, SHOW_VERSION, SHOW_COMPLETION };

struct option_row {
	const char *name;     /* long, without dashes */
	char letter;	      /* 0: none */
	const char *argument; /* as --help shows it; NULL: the option takes none */
	const char *help;
	/*
	 * Puts what `text` says into options (at `offset`, where it has one field). 0; one of enum
	 * option_show: showing that is all there is to do; -EINVAL: not of the right form;
	 * -ERANGE: outside minimum..maximum; -ENOMEM. On failure options are untouched.
	 */
	int (*parse)(struct options *options, const struct option_row *row, const char *text);
	const char *expects; /* "give ...", completes the message for -EINVAL */
	size_t offset;
	uint64_t minimum, maximum;
	enum option_group group;
	unsigned subcommands;
};

/*
 * At most OPTION_ROWS_MAX of them. Two rows may share a name or a letter when they are for
 * different subcommands (record's -o FILE, watch's -o MS): the first row that the subcommand takes
 * has it.
 */
#define OPTION_ROWS_MAX 64
extern const struct option_row option_rows[];
extern const size_t option_row_count;
extern const char *const option_group_titles[GROUP_MAX_];

/* The letter by which subcommands with one of these bits know the row; 0: none. */
char option_letter(const struct option_row *row, unsigned bits);

/* The entry of the first row with this name, which must exist, in an array in row order. */
bool *option_given(bool given[OPTION_ROWS_MAX], const char *name);

#endif
