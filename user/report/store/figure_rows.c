// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/store/figure_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "report/store/recording_state.h"

#define NS_PER_S UINT64_C(1000000000)
#define NAMES_SIZE 768
_Static_assert(FIGURES_SQL_SIZE >= 2 * NAMES_SIZE, "names, and as many question marks");

/* Writes ",name" for all figures. */
static void names_write(FILE *sql, const struct figures *figures)
{
	for (size_t i = 0; i < figures->count; i++) {
		const char *column = figure_column(&figures->items[i]);

		if (column)
			fprintf(sql, ",%s", column);
	}
}

/* "snapshot,process,...": the keys, and the figures. */
static void columns_print(char names[NAMES_SIZE], const struct figure_rows *rows)
{
	FILE *sql = fmemopen(names, NAMES_SIZE, "w");

	names[0] = '\0';
	if (!sql)
		return; /* unused: no statement results */
	fputs(rows->keys, sql);
	for (size_t i = 0; i < FIGURE_PARTS_MAX && rows->parts[i]; i++)
		names_write(sql, rows->parts[i]);
	fclose(sql);
}

static void insert_print(char sql[FIGURES_SQL_SIZE], const struct figure_rows *rows)
{
	char names[NAMES_SIZE];
	int length;

	columns_print(names, rows);
	length = snprintf(sql, FIGURES_SQL_SIZE, "INSERT OR REPLACE INTO %s(%s) VALUES(?",
			  rows->table, names);
	for (const char *c = names; *c && length < FIGURES_SQL_SIZE - 4; c++) {
		if (*c == ',')
			length += sprintf(sql + length, ",?");
	}
	sprintf(sql + length, ")");
}

int figure_rows_insert(sqlite3 *database, const struct figure_rows *rows, sqlite3_stmt **statement)
{
	char sql[FIGURES_SQL_SIZE];

	insert_print(sql, rows);
	return database_errno(sqlite3_prepare_v2(database, sql, -1, statement, NULL));
}

int figure_rows_select(sqlite3 *database, const struct figure_rows *rows, sqlite3_stmt **statement)
{
	char names[NAMES_SIZE], sql[FIGURES_SQL_SIZE];

	columns_print(names, rows);
	snprintf(sql, sizeof(sql), "SELECT %s FROM %s WHERE %s=? ORDER BY %s", names, rows->table,
		 rows->of, rows->order);
	return database_errno(sqlite3_prepare_v2(database, sql, -1, statement, NULL));
}

void figures_create_sql(char sql[FIGURES_SQL_SIZE], const struct family *family)
{
	int length = snprintf(sql, FIGURES_SQL_SIZE,
			      "CREATE TABLE %s(snapshot INTEGER NOT NULL,process INTEGER NOT NULL,",
			      family->table);

	for (size_t i = 0; i < family->figures.count && length < FIGURES_SQL_SIZE; i++) {
		const struct figure *figure = &family->figures.items[i];

		if (figure_column(figure))
			length += snprintf(sql + length, (size_t)(FIGURES_SQL_SIZE - length),
					   "%s %s,", figure_column(figure),
					   figure->type == FIGURE_NOTE ? "TEXT"
					   : figure->known	       ? "INTEGER"
								       : "INTEGER NOT NULL");
	}
	if (length < FIGURES_SQL_SIZE)
		snprintf(sql + length, (size_t)(FIGURES_SQL_SIZE - length),
			 "PRIMARY KEY(snapshot,process)) WITHOUT ROWID");
}

void figures_insert_sql(char sql[FIGURES_SQL_SIZE], const struct family *family, const char *fixed)
{
	char keys[128];

	snprintf(keys, sizeof(keys), "snapshot,process%s", fixed);
	insert_print(sql, &(struct figure_rows){.table = family->table,
						.keys = keys,
						.parts = {&family->figures}});
}

void figures_select_sql(char sql[FIGURES_SQL_SIZE], const struct family *family, const char *fixed)
{
	char keys[128], names[NAMES_SIZE];

	snprintf(keys, sizeof(keys), "process%s", fixed);
	columns_print(names, &(struct figure_rows){.keys = keys, .parts = {&family->figures}});
	snprintf(sql, FIGURES_SQL_SIZE,
		 "SELECT %s FROM %s WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot", names,
		 family->table);
}

/* -------- writing */

/* Binds a number of the target's, possibly arbitrary, in a form that readers accept. */
static int bind_number(sqlite3_stmt *statement, int parameter, uint64_t number)
{
	return sqlite3_bind_int64(statement, parameter, (int64_t)(number & INT64_MAX));
}

static int bind_text(sqlite3_stmt *statement, int parameter, const char *text)
{
	return sqlite3_bind_text(statement, parameter, text, -1, SQLITE_TRANSIENT);
}

static int bind_id(sqlite3_stmt *statement, int parameter, uint64_t id)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, id);
	return bind_text(statement, parameter, text);
}

static int figure_bind(sqlite3_stmt *statement, int parameter, const struct figure *figure,
		       const void *row)
{
	const void *at = (const char *)row + figure->offset;
	uint64_t value = figure_value(figure, row);
	const struct timespec *time = at;

	if (!figure_is_known(figure, row) || (figure->type == FIGURE_NOTE && !*(const char *)at))
		return sqlite3_bind_null(statement, parameter);
	switch (figure->type) {
	case FIGURE_REAL:
		return sqlite3_bind_double(statement, parameter, *(const double *)at);
	case FIGURE_CHARS:
	case FIGURE_NOTE:
		return bind_text(statement, parameter, at);
	case FIGURE_TEXT:
		return bind_text(statement, parameter, *(const char *const *)at);
	case FIGURE_TIME:
		return bind_number(statement, parameter, timespec_ns(time));
	case FIGURE_NAME:
		return bind_text(statement, parameter, figure->name((unsigned)value));
	case FIGURE_ID:
		return bind_id(statement, parameter, value);
	default:
		return bind_number(statement, parameter, value);
	}
}

int figure_row_bind(sqlite3_stmt *statement, int first, const struct figure_rows *rows,
		    const void *row)
{
	int code = SQLITE_OK;

	for (size_t i = 0; i < FIGURE_PARTS_MAX && rows->parts[i]; i++) {
		const struct figures *part = rows->parts[i];

		for (size_t j = 0; j < part->count && !code; j++) {
			if (figure_column(&part->items[j]))
				code = figure_bind(statement, first++, &part->items[j], row);
		}
	}
	return database_errno(code);
}

int figures_bind(sqlite3_stmt *statement, int first, const struct family *family,
		 const void *figures)
{
	return figure_row_bind(statement, first, &(struct figure_rows){.parts = {&family->figures}},
			       figures);
}

/* -------- reading: the file is untrusted */

static double real_read(sqlite3_stmt *statement, int column, int *error)
{
	int type = sqlite3_column_type(statement, column);

	if (type != SQLITE_NULL && type != SQLITE_FLOAT && type != SQLITE_INTEGER)
		*error = -EUCLEAN;
	return type == SQLITE_NULL ? NAN : sqlite3_column_double(statement, column);
}

static unsigned name_read(const struct figure *figure, const char *text, int *error)
{
	for (unsigned i = 0; text && i < figure->names; i++) {
		const char *name = figure->name(i);

		if (name && !strcmp(name, text))
			return i;
	}
	if (!figure->lenient)
		*error = -EUCLEAN;
	return 0;
}

/* Reads a number that must be below `end`. */
static uint32_t number_below(sqlite3_stmt *statement, int column, uint64_t end, int *error)
{
	uint64_t value = database_unsigned(statement, column, error);

	if (value < end)
		return (uint32_t)value;
	*error = -EUCLEAN;
	return 0;
}

static uint64_t id_read(sqlite3_stmt *statement, int column, int *error)
{
	const char *text = database_text(statement, column);

	if (!text)
		*error = -EUCLEAN;
	return text ? strtoull(text, NULL, 16) : 0;
}

static uint64_t value_read(sqlite3_stmt *statement, int column, const struct figure *figure,
			   int *error)
{
	switch (figure->type) {
	case FIGURE_PID:
		return number_below(statement, column, (uint64_t)INT32_MAX + 1, error);
	case FIGURE_INDEX:
		return number_below(statement, column, UINT32_MAX, error);
	case FIGURE_FLAG:
		return database_unsigned(statement, column, error) != 0;
	case FIGURE_NAME:
		return name_read(figure, database_text(statement, column), error);
	case FIGURE_ID:
		return id_read(statement, column, error);
	default:
		return database_unsigned(statement, column, error);
	}
}

static void integer_put(void *at, enum figure_type type, uint64_t value)
{
	if (type == FIGURE_FLAG)
		*(bool *)at = value;
	else if (type == FIGURE_NUMBER || type == FIGURE_ID)
		*(uint64_t *)at = value;
	else
		*(uint32_t *)at = (uint32_t)value;
}

static struct timespec time_read(sqlite3_stmt *statement, int column, int *error)
{
	uint64_t time_ns = database_unsigned(statement, column, error);

	return (struct timespec){.tv_sec = (time_t)(time_ns / NS_PER_S),
				 .tv_nsec = (long)(time_ns % NS_PER_S)};
}

static void figure_read(sqlite3_stmt *statement, int column, const struct figure *figure, void *row,
			struct intern *strings, int *error)
{
	void *at = (char *)row + figure->offset;
	const char *text;

	if (figure->known && sqlite3_column_type(statement, column) == SQLITE_NULL)
		return;
	if (figure->known)
		*((bool *)row + figure->known) = true;
	switch (figure->type) {
	case FIGURE_REAL:
		*(double *)at = real_read(statement, column, error);
		break;
	case FIGURE_CHARS:
	case FIGURE_NOTE:
		text = database_text(statement, column);
		snprintf(at, figure->size, "%s", text ? text : "");
		break;
	case FIGURE_TEXT:
		*(const char **)at = recording_text_into(strings, statement, column, error);
		break;
	case FIGURE_TIME:
		*(struct timespec *)at = time_read(statement, column, error);
		break;
	default:
		integer_put(at, figure->type, value_read(statement, column, figure, error));
	}
}

void figure_row_read(sqlite3_stmt *statement, int first, const struct figure_rows *rows, void *row,
		     struct intern *strings, int *error)
{
	for (size_t i = 0; i < FIGURE_PARTS_MAX && rows->parts[i]; i++) {
		const struct figures *part = rows->parts[i];

		for (size_t j = 0; j < part->count; j++) {
			if (figure_column(&part->items[j]))
				figure_read(statement, first++, &part->items[j], row, strings,
					    error);
		}
	}
}

void figures_read(sqlite3_stmt *statement, int first, const struct family *family, void *figures,
		  int *error)
{
	figure_row_read(statement, first, &(struct figure_rows){.parts = {&family->figures}},
			figures, NULL, error);
}

bool figures_are_known(const struct family *family, const void *figures)
{
	for (size_t i = 0; i < family->figures.count; i++) {
		if (family->figures.items[i].type != FIGURE_NOTE &&
		    figure_is_known(&family->figures.items[i], figures))
			return true;
	}
	return false;
}

uint64_t figures_hash(const struct family *family, const void *figures)
{
	uint64_t hash = family->figures.count;

	for (size_t i = 0; i < family->figures.count; i++) {
		const struct figure *figure = &family->figures.items[i];
		const char *text = (const char *)figures + figure->offset;

		hash = hash_mix(hash ^
				(figure->type == FIGURE_NOTE ? intern_hash(text)
							     : figure_value(figure, figures)));
		hash = hash_mix(hash ^ figure_is_known(figure, figures)) + i;
	}
	return hash | 1;
}
