/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The subcommands, one row each: what --help says of them, and which options they take. */
#ifndef LEAKMON_CLI_SUBCOMMANDS_H
#define LEAKMON_CLI_SUBCOMMANDS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Who takes an option: bits of option_row.subcommands (option_table.h), of which subcommand.bit
 * has one or more.
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

struct subcommand {
	const char *name;
	unsigned bit;
	const char *usage; /* lines */
	const char *about;
	const char *examples;
	uint64_t interval_ns; /* unless INTERVAL is given; 0: 5 s */
};

/* The default comes first. */
extern const struct subcommand subcommands[];
extern const size_t subcommand_count;
/* NULL if there is none of that name. */
const struct subcommand *subcommand_find(const char *name);

#endif
