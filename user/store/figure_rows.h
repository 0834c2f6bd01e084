/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The figures of a family as rows of its table: what writing and reading must agree on, from the
 * descriptors of report/family.h. Internal to store/.
 */
#ifndef LEAKMON_STORE_FIGURE_ROWS_H
#define LEAKMON_STORE_FIGURE_ROWS_H

#include "report/family.h"
#include "store/database.h"

#define FIGURES_SQL_SIZE 1024

/*
 * A row is of a snapshot and a process, 0: all of them; then come the columns `fixed` (",a,b", ""),
 * then the figures. What is read begins with the process.
 */
void figures_create_sql(char sql[FIGURES_SQL_SIZE], const struct family *family);
void figures_insert_sql(char sql[FIGURES_SQL_SIZE], const struct family *family, const char *fixed);
void figures_select_sql(char sql[FIGURES_SQL_SIZE], const struct family *family, const char *fixed);

/* Binds the figures, from parameter `first` on; what is not known is null. 0 or -errno. */
int figures_bind(sqlite3_stmt *statement, int first, const struct family *family,
		 const void *figures);
/* Reads them, from column `first` on. */
void figures_read(sqlite3_stmt *statement, int first, const struct family *family, void *figures,
		  int *error);

/* Whether there is anything to write, and whether it is the same; never 0. */
bool figures_are_known(const struct family *family, const void *figures);
uint64_t figures_hash(const struct family *family, const void *figures);

/* Kinds of `losses` beside those by cause: why a process is inexact; which PID is meant. */
#define LOSS_INEXACT "inexact"
#define LOSS_INEXACT_PID "inexact_pid"

/* What stands in `ledgers` before the figures. */
#define LEDGER_COLUMNS ",state,exact,shown_bytes,shown_count"
enum process_state { PROCESS_ALIVE, PROCESS_EXITED, PROCESS_GONE };

#endif
