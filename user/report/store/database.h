/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SQLite with this house's conventions: 0 or -errno, and released at the end of the scope. */
#ifndef LEAKMON_STORE_DATABASE_H
#define LEAKMON_STORE_DATABASE_H

#include <sqlite3.h>
#include <stdint.h>

/*
 * A result code as -errno: SQLITE_FULL -ENOSPC, _NOTADB and _CORRUPT -EUCLEAN, _BUSY -EBUSY,
 * _READONLY -EROFS, _CANTOPEN -ENOENT, _NOMEM -ENOMEM, anything else -EIO; OK, ROW and DONE 0.
 */
int database_errno(int code);

/*
 * For a file that anybody may have made: nothing that its schema says is run. 0 or -errno.
 */
int database_distrust(sqlite3 *database);

/* SQLite gives some names a meaning: with a directory before it, a name is a name. To be freed by
 * the caller; NULL: out of memory. */
char *database_path(const char *path);

/* One or several statements without parameters and results. */
int database_run(sqlite3 *database, const char *sql);

/* The one integer that a query gives. *value is untouched on failure and when there is no row
 * (-ENODATA). */
int database_integer(sqlite3 *database, const char *sql, int64_t *value);

/*
 * Runs a prepared statement to its end, and makes it ready for the next time. The parameters are
 * given by `types`: i int64_t, t const char * (NULL: null; must stay as it is until the call
 * returns), d double, n null (no argument).
 */
int database_do(sqlite3_stmt *statement, const char *types, ...);

/* Binds as above, for a query with rows from database_next(). */
int database_bind(sqlite3_stmt *statement, const char *types, ...);
/* 1: a row; 0: no more (the statement is ready for the next time); -errno. */
int database_next(sqlite3_stmt *statement);

/* A column that must not be negative: *error becomes -EUCLEAN if it is, or is no integer. */
uint64_t database_unsigned(sqlite3_stmt *statement, int column, int *error);
/* NULL stays NULL. Good until the next step. Cut at 64 KiB by whoever keeps it. */
const char *database_text(sqlite3_stmt *statement, int column);

static inline void statement_cleanup(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}
static inline void database_cleanup(sqlite3 **database)
{
	sqlite3_close(*database);
}
#define _cleanup_statement_ __attribute__((cleanup(statement_cleanup)))
#define _cleanup_database_ __attribute__((cleanup(database_cleanup)))

#endif
