// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/store/database.h"

#include <errno.h>
#include <stdarg.h>

#include "base/cleanup.h"

int database_errno(int code)
{
	static const struct {
		int code, error;
	} errors[] = {
		{SQLITE_OK, 0},
		{SQLITE_ROW, 0},
		{SQLITE_DONE, 0},
		{SQLITE_FULL, -ENOSPC},
		{SQLITE_NOTADB, -EUCLEAN},
		{SQLITE_CORRUPT, -EUCLEAN},
		{SQLITE_BUSY, -EBUSY},
		{SQLITE_LOCKED, -EBUSY},
		{SQLITE_READONLY, -EROFS},
		{SQLITE_CANTOPEN, -ENOENT},
		{SQLITE_NOMEM, -ENOMEM},
		{SQLITE_INTERRUPT, -EINTR},
		{SQLITE_TOOBIG, -EUCLEAN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		if (errors[i].code == (code & 0xff))
			return errors[i].error;
	}
	return -EIO;
}

/* The file's author wrote its schema, too: none of it may run. */
int database_distrust(sqlite3 *database)
{
	static const int switches[][2] = {
		{SQLITE_DBCONFIG_DEFENSIVE, 1},	      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},  {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
		{SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0}, {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
	};
	/* No virtual tables. */
	int code = sqlite3_drop_modules(database, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(switches) && !code; i++)
		code = sqlite3_db_config(database, switches[i][0], switches[i][1], NULL);
	/* A diagnosis is the longest text, and text of the schema may be a column's value. */
	sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 2 << 20);
	sqlite3_limit(database, SQLITE_LIMIT_SQL_LENGTH, 64 << 10);
	sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(database, SQLITE_LIMIT_EXPR_DEPTH, 32);
	sqlite3_busy_timeout(database, 2000);
	return code ? -EIO
		    : database_run(database, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
					     "PRAGMA ignore_check_constraints=ON");
}

char *database_path(const char *path)
{
	char *plain;

	return asprintf(&plain, "%s%s", *path == '/' ? "" : "./", path) < 0 ? NULL : plain;
}

int database_run(sqlite3 *database, const char *sql)
{
	return database_errno(sqlite3_exec(database, sql, NULL, NULL, NULL));
}

int database_integer(sqlite3 *database, const char *sql, int64_t *value)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);

	if (code)
		return database_errno(code);
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		*value = sqlite3_column_int64(statement, 0);
	return code == SQLITE_DONE ? -ENODATA : database_errno(code);
}

static int bind_all(sqlite3_stmt *statement, const char *types, va_list arguments)
{
	int code = SQLITE_OK;

	for (int i = 1; *types && !code; i++, types++) {
		if (*types == 'i')
			code = sqlite3_bind_int64(statement, i, va_arg(arguments, int64_t));
		else if (*types == 't')
			code = sqlite3_bind_text(statement, i, va_arg(arguments, const char *), -1,
						 SQLITE_STATIC);
		else if (*types == 'd')
			code = sqlite3_bind_double(statement, i, va_arg(arguments, double));
		else
			code = sqlite3_bind_null(statement, i);
	}
	return database_errno(code);
}

int database_bind(sqlite3_stmt *statement, const char *types, ...)
{
	va_list arguments;
	int error;

	va_start(arguments, types);
	error = bind_all(statement, types, arguments);
	va_end(arguments);
	return error;
}

int database_next(sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);

	if (code == SQLITE_ROW)
		return 1;
	sqlite3_reset(statement);
	return database_errno(code);
}

int database_do(sqlite3_stmt *statement, const char *types, ...)
{
	va_list arguments;
	int error, more;

	va_start(arguments, types);
	error = bind_all(statement, types, arguments);
	va_end(arguments);
	if (error)
		return error;
	while ((more = database_next(statement)) > 0)
		;
	/* Texts were borrowed. */
	sqlite3_clear_bindings(statement);
	return more;
}

uint64_t database_unsigned(sqlite3_stmt *statement, int column, int *error)
{
	int64_t value = sqlite3_column_int64(statement, column);

	if (sqlite3_column_type(statement, column) != SQLITE_INTEGER || value < 0) {
		*error = -EUCLEAN;
		return 0;
	}
	return (uint64_t)value;
}

const char *database_text(sqlite3_stmt *statement, int column)
{
	return (const char *)sqlite3_column_text(statement, column);
}
