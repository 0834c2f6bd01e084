/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a run of `leakmon retain`, row by row. Internal to store/. */
#ifndef LEAKMON_STORE_RETAIN_ROWS_H
#define LEAKMON_STORE_RETAIN_ROWS_H

#include "retain/result.h"
#include "store/recording_state.h"

struct retain_reader {
	struct recording *recording;
	struct retain_result *result;
	struct hash sites; /* of a stack's number -> place in sites, plus 1 */
	int error;	   /* of any row up to now */
};

struct retain_table {
	const char *sql;  /* of a run's rows; one parameter: its number */
	const char *what; /* for a message that they are damaged */
	void (*read)(struct retain_reader *reader, sqlite3_stmt *row);
	const char *sql_of_2; /* for a recording of schema 2; NULL: the same */
};

/* In the order in which they must be read. */
#define RETAIN_TABLES 7
extern const struct retain_table retain_tables[RETAIN_TABLES];

/* An interned copy of a text, cut at RECORDING_TEXT_MAX; NULL: null, or no memory (error). */
const char *retain_row_text(struct retain_reader *reader, sqlite3_stmt *row, int column);

#endif
