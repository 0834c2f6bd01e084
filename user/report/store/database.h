/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SQLite with this program's conventions: 0 or -errno, and release at the end of the scope. */
#ifndef LEAKMON_STORE_DATABASE_H
#define LEAKMON_STORE_DATABASE_H

#include <sqlite3.h>
#include <stdint.h>

/*
 * Converts a result code to -errno: SQLITE_FULL -ENOSPC, _NOTADB and _CORRUPT -EUCLEAN, _BUSY
 * -EBUSY, _READONLY -EROFS, _CANTOPEN -ENOENT, _NOMEM -ENOMEM, anything else -EIO; OK, ROW and DONE
 * 0.
 */
int database_errno(int code);

/* Hardens a connection to an untrusted file: no code in its schema runs. Returns 0 or -errno. */
int database_distrust(sqlite3 *database);

/*
 * Returns a path that SQLite does not interpret: some names are special, unless a directory
 * precedes them. The caller frees it; NULL: out of memory.
 */
char *database_path(const char *path);

/* Runs one or several statements without parameters and results. */
int database_run(sqlite3 *database, const char *sql);

/*
 * Reads the single integer of a query. *value is untouched on failure and if there is no row
 * (-ENODATA).
 */
int database_integer(sqlite3 *database, const char *sql, int64_t *value);

/*
 * Runs a prepared statement to its end, and resets it. `types` describes the parameters: i int64_t,
 * t const char * (NULL: null; must stay unchanged until the call returns), d double, n null (no
 * argument).
 */
int database_do(sqlite3_stmt *statement, const char *types, ...);

/* Binds parameters like database_do(), for a query with rows from database_next(). */
int database_bind(sqlite3_stmt *statement, const char *types, ...);
/* Returns 1: a row; 0: no more (the statement is reset); -errno. */
int database_next(sqlite3_stmt *statement);

/*
 * Returns a column that must not be negative: sets *error to -EUCLEAN if it is, or is no integer.
 */
uint64_t database_unsigned(sqlite3_stmt *statement, int column, int *error);
/*
 * Returns a text column; NULL stays NULL. Valid until the next step. Callers that keep it cut it at
 * 64 KiB.
 */
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
