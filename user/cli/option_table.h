/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The subcommands and their options: one row each. Parsing and --help both walk these tables. */
#ifndef LEAKMON_CLI_OPTION_TABLE_H
#define LEAKMON_CLI_OPTION_TABLE_H

#include "cli/options.h"

/*
 * Who takes an option: bits of option_row.subcommands, of which subcommand.bit has one or more.
 * FOR_WATCH is for whatever collects, FOR_PRINT for what prints reports while it does.
 */
enum {
	FOR_WATCH = 1,
	FOR_DOCTOR = 2,
	FOR_RETAIN = 256,
	FOR_THREADS = 512,
	FOR_ALL = FOR_WATCH | FOR_DOCTOR | FOR_RETAIN | FOR_THREADS,
	FOR_PRINT = 4,
	FOR_RECORD = 8,
	FOR_REPORT = 16,
	FOR_DIFF = 32,
	FOR_TOP = 1024,
	FOR_FILES = FOR_REPORT | FOR_DIFF,
};

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
	uint64_t interval_ns; /* unless INTERVAL is given; 0: 5 s */
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

/* The default comes first. */
extern const struct subcommand subcommands[];
extern const size_t subcommand_count;
/* NULL if there is none of that name. */
const struct subcommand *subcommand_find(const char *name);

#endif
