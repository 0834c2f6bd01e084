// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/figure_rows.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "symbol/intern.h"

#define NAMES_SIZE 512
_Static_assert(FIGURES_SQL_SIZE >= 2 * NAMES_SIZE, "names, and as many question marks");

/* What is counted by cause stands in `losses`. */
static bool has_column(const struct figure *figure)
{
	return !figure->causes;
}

/* "snapshot,process,...": `before`, and the figures. */
static void names_print(char names[NAMES_SIZE], const struct family *family, const char *before)
{
	int length = snprintf(names, NAMES_SIZE, "%s", before);

	for (size_t i = 0; i < family->figure_count && length < NAMES_SIZE; i++) {
		if (has_column(&family->figures[i]))
			length += snprintf(names + length, (size_t)(NAMES_SIZE - length), ",%s",
					   figure_column(&family->figures[i]));
	}
}

void figures_create_sql(char sql[FIGURES_SQL_SIZE], const struct family *family)
{
	int length = snprintf(sql, FIGURES_SQL_SIZE,
			      "CREATE TABLE %s(snapshot INTEGER NOT NULL,process INTEGER NOT NULL,",
			      family->table);

	for (size_t i = 0; i < family->figure_count && length < FIGURES_SQL_SIZE; i++) {
		const struct figure *figure = &family->figures[i];

		if (has_column(figure))
			length += snprintf(sql + length, (size_t)(FIGURES_SQL_SIZE - length),
					   "%s %s,", figure_column(figure),
					   figure->type == FIGURE_TEXT ? "TEXT"
					   : figure->known	       ? "INTEGER"
								       : "INTEGER NOT NULL");
	}
	if (length < FIGURES_SQL_SIZE)
		snprintf(sql + length, (size_t)(FIGURES_SQL_SIZE - length),
			 "PRIMARY KEY(snapshot,process)) WITHOUT ROWID");
}

void figures_insert_sql(char sql[FIGURES_SQL_SIZE], const struct family *family, const char *fixed)
{
	char before[NAMES_SIZE], names[NAMES_SIZE], values[NAMES_SIZE] = "", *at = values;

	snprintf(before, sizeof(before), "snapshot,process%s", fixed);
	names_print(names, family, before);
	for (const char *c = strchr(names, ','); c; c = strchr(c + 1, ','))
		at = stpcpy(at, ",?");
	snprintf(sql, FIGURES_SQL_SIZE, "INSERT OR REPLACE INTO %s(%s) VALUES(?%s)", family->table,
		 names, values);
}

void figures_select_sql(char sql[FIGURES_SQL_SIZE], const struct family *family, const char *fixed)
{
	char before[NAMES_SIZE], names[NAMES_SIZE];

	snprintf(before, sizeof(before), "process%s", fixed);
	names_print(names, family, before);
	snprintf(sql, FIGURES_SQL_SIZE,
		 "SELECT %s FROM %s WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot", names,
		 family->table);
}

static int figure_bind(sqlite3_stmt *statement, int parameter, const struct figure *figure,
		       const void *figures)
{
	const char *text = (const char *)figures + figure->offset;

	if (!figure_is_known(figure, figures) || (figure->type == FIGURE_TEXT && !*text))
		return sqlite3_bind_null(statement, parameter);
	if (figure->type == FIGURE_TEXT)
		return sqlite3_bind_text(statement, parameter, text, -1, SQLITE_TRANSIENT);
	return sqlite3_bind_int64(statement, parameter, (int64_t)figure_value(figure, figures));
}

int figures_bind(sqlite3_stmt *statement, int first, const struct family *family,
		 const void *figures)
{
	int code = SQLITE_OK;

	for (size_t i = 0; i < family->figure_count && !code; i++) {
		if (has_column(&family->figures[i]))
			code = figure_bind(statement, first++, &family->figures[i], figures);
	}
	return database_errno(code);
}

static void figure_read(sqlite3_stmt *statement, int column, const struct figure *figure,
			char *figures, int *error)
{
	void *at = figures + figure->offset;
	const char *text;

	if (figure->type == FIGURE_TEXT) {
		text = database_text(statement, column);
		snprintf(at, FIGURE_TEXT_SIZE, "%s", text ? text : "");
		return;
	}
	if (figure->known && sqlite3_column_type(statement, column) == SQLITE_NULL)
		return;
	if (figure->known)
		*(bool *)(figures + figure->known) = true;
	if (figure->type == FIGURE_FLAG)
		*(bool *)at = database_unsigned(statement, column, error) != 0;
	else
		*(uint64_t *)at = database_unsigned(statement, column, error);
}

void figures_read(sqlite3_stmt *statement, int first, const struct family *family, void *figures,
		  int *error)
{
	for (size_t i = 0; i < family->figure_count; i++) {
		if (has_column(&family->figures[i]))
			figure_read(statement, first++, &family->figures[i], figures, error);
	}
}

bool figures_are_known(const struct family *family, const void *figures)
{
	for (size_t i = 0; i < family->figure_count; i++) {
		if (family->figures[i].type != FIGURE_TEXT &&
		    figure_is_known(&family->figures[i], figures))
			return true;
	}
	return false;
}

uint64_t figures_hash(const struct family *family, const void *figures)
{
	uint64_t hash = family->figure_count;

	for (size_t i = 0; i < family->figure_count; i++) {
		const struct figure *figure = &family->figures[i];
		const char *text = (const char *)figures + figure->offset;

		hash = hash_mix(hash ^
				(figure->type == FIGURE_TEXT ? intern_hash(text)
							     : figure_value(figure, figures)));
		hash = hash_mix(hash ^ figure_is_known(figure, figures)) + i;
	}
	return hash | 1;
}
