/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures as rows of a table: the common part of writing and reading, from the descriptors of
 * report/figures.h. Internal to store/.
 */
#ifndef LEAKMON_STORE_FIGURE_ROWS_H
#define LEAKMON_STORE_FIGURE_ROWS_H

#include "process/symbol/intern.h"
#include "report/family.h"
#include "report/store/database.h"

#define FIGURE_PARTS_MAX 3

/* A table: columns that are bound and read one by one, followed by those of the figures. */
struct figure_rows {
	const char *table, *keys; /* "profile,process" */
	const char *of;		  /* the column that selects rows to read */
	const char *order;	  /* sort order for reading */
	const struct figures *parts[FIGURE_PARTS_MAX];
};

int figure_rows_insert(sqlite3 *database, const struct figure_rows *rows, sqlite3_stmt **statement);
/* Prepares a query with one parameter, of the column `of`. Returns 0 or -errno. */
int figure_rows_select(sqlite3 *database, const struct figure_rows *rows, sqlite3_stmt **statement);

/*
 * Binds all figures of a row, from parameter `first` on; unknown ones are null. Returns 0 or
 * -errno.
 */
int figure_row_bind(sqlite3_stmt *statement, int first, const struct figure_rows *rows,
		    const void *row);
/*
 * Reads figures, from column `first` on; texts go into `strings`, NULL: no texts. The file is
 * untrusted: invalid values set *error to -EUCLEAN.
 */
void figure_row_read(sqlite3_stmt *statement, int first, const struct figure_rows *rows, void *row,
		     struct intern *strings, int *error);

/* The figures of a family. */
#define FIGURES_SQL_SIZE 2048

/*
 * Write the statements. A row is of a snapshot and a process, 0: all of them; then come the columns
 * `fixed` (",a,b", ""), then the figures. Rows read begin with the process.
 */
void figures_create_sql(char sql[FIGURES_SQL_SIZE], const struct family *family);
void figures_insert_sql(char sql[FIGURES_SQL_SIZE], const struct family *family, const char *fixed);
void figures_select_sql(char sql[FIGURES_SQL_SIZE], const struct family *family, const char *fixed);

int figures_bind(sqlite3_stmt *statement, int first, const struct family *family,
		 const void *figures);
void figures_read(sqlite3_stmt *statement, int first, const struct family *family, void *figures,
		  int *error);

/* Return whether there is anything to write; and a hash for comparison, never 0. */
bool figures_are_known(const struct family *family, const void *figures);
uint64_t figures_hash(const struct family *family, const void *figures);

/* Kinds of `losses` other than those by cause: why a process is inexact; the PID concerned. */
#define LOSS_INEXACT "inexact"
#define LOSS_INEXACT_PID "inexact_pid"

/* Columns of `ledgers` before the figures. */
#define LEDGER_COLUMNS ",state,exact,shown_bytes,shown_count"
enum process_state { PROCESS_ALIVE, PROCESS_EXITED, PROCESS_GONE };

#endif
