// SPDX-License-Identifier: GPL-2.0-or-later
#include "top/column_formats.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <wchar.h>

#include "analyze/history.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "output/triage_format.h"

/* How many callers a call stack's row names. */
#define CALLERS_SHOWN 6

static const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void column_format_pid(const struct top_row *row, const struct top_column *column, size_t width,
		       char *text)
{
	(void)column, (void)width;
	snprintf(text, COLUMN_TEXT_SIZE, "%d", row->pid);
}

void column_format_name(const struct top_row *row, const struct top_column *column, size_t width,
			char *text)
{
	(void)column, (void)width;
	snprintf(text, COLUMN_TEXT_SIZE, "%s", row->name);
}

void column_format_place(const struct top_row *row, const struct top_column *column, size_t width,
			 char *text)
{
	(void)column, (void)width;
	snprintf(text, COLUMN_TEXT_SIZE, "%s", row->place ? row->place : "-");
}

/* The column's number in a row; one that is not known is written as such. */
static bool number_of(const struct top_row *row, const struct top_column *column, char *text,
		      double *value)
{
	*value = row->fields[column->field];
	if (isnan(*value))
		snprintf(text, COLUMN_TEXT_SIZE, "-");
	return !isnan(*value);
}

void column_format_number(const struct top_row *row, const struct top_column *column, size_t width,
			  char *text)
{
	double value;

	(void)width;
	if (number_of(row, column, text, &value))
		snprintf(text, COLUMN_TEXT_SIZE, "%.0f", value);
}

void column_format_bytes(const struct top_row *row, const struct top_column *column, size_t width,
			 char *text)
{
	double value = row->fields[column->field];
	char bytes[16] = "-";

	(void)width;
	if (!isnan(value))
		units_bytes(bytes, value, "");
	snprintf(text, COLUMN_TEXT_SIZE, "%s%s", bytes,
		 row->inexact && column->field == TOP_BYTES ? "~" : "");
}

void column_format_rate(const struct top_row *row, const struct top_column *column, size_t width,
			char *text)
{
	double value;

	(void)width;
	if (!number_of(row, column, text, &value))
		return;
	if (!value)
		snprintf(text, COLUMN_TEXT_SIZE, "0");
	else
		units_bytes(text, value, "+");
}

void column_format_triage_rate(const struct top_row *row, const struct top_column *column,
			       size_t width, char *text)
{
	double value;

	(void)width;
	if (number_of(row, column, text, &value))
		output_triage_rate(text, row->kind, value);
}

void column_format_age(const struct top_row *row, const struct top_column *column, size_t width,
		       char *text)
{
	double value;

	(void)width;
	if (number_of(row, column, text, &value))
		units_time(text, value);
}

void column_format_sure(const struct top_row *row, const struct top_column *column, size_t width,
			char *text)
{
	double value;

	(void)width;
	if (number_of(row, column, text, &value))
		snprintf(text, COLUMN_TEXT_SIZE, "%.0f %%", 100 * value);
}

void column_format_verdict(const struct top_row *row, const struct top_column *column, size_t width,
			   char *text)
{
	(void)column, (void)width;
	snprintf(text, COLUMN_TEXT_SIZE, "%s", trend_verdict_name(row->verdict));
}

/* Of the heights that fall into one column, the greatest. */
static unsigned char height_at(const struct top_row *row, size_t column, size_t columns)
{
	size_t from = column * row->spark_count / columns;
	size_t to = (column + 1) * row->spark_count / columns;
	unsigned char height = row->spark[from];

	for (size_t i = from; i < to; i++)
		height = MAX(height, row->spark[i]);
	return height;
}

void column_format_course(const struct top_row *row, const struct top_column *column, size_t width,
			  char *text)
{
	static const char plain[] = " _.:-=+*#";
	size_t columns = MIN(width, row->spark_count);
	bool blocks = wcwidth(L'\u2581') == 1;

	(void)column;
	*text = '\0';
	for (size_t i = 0; i < columns; i++) {
		unsigned char height = height_at(row, i, columns);

		if (blocks)
			text = stpcpy(text, sparkline_block(height));
		else
			text = stpcpy(text, (char[2]){plain[MIN(height, 8)]});
	}
}

static void frame_print(FILE *out, const struct frame *frame, bool with_line)
{
	if (frame->function)
		fputs(frame->function, out);
	else if (frame->module)
		fprintf(out, "[%s+0x%" PRIx64 "]", path_base(frame->module), frame->module_offset);
	else
		fprintf(out, "0x%" PRIx64, frame->address);
	if (with_line && frame->file && frame->line)
		fprintf(out, " %s:%" PRIu32, path_base(frame->file), frame->line);
}

void column_format_where(const struct top_row *row, const struct top_column *column, size_t width,
			 char *text)
{
	FILE *out = fmemopen(text, COLUMN_TEXT_SIZE, "w");

	(void)column, (void)width;
	*text = '\0';
	if (!out)
		return;
	if (row->site.family != FAMILY_HEAP && kind_name(row->site.kind))
		fprintf(out, "(%s) ", kind_name(row->site.kind));
	if (row->site.lost)
		fprintf(out, "[lost: %s]", lost_name(row->site.lost));
	for (size_t i = 0; i < row->frames.list.count && i < CALLERS_SHOWN; i++) {
		fputs(i ? " < " : "", out);
		frame_print(out, &row->frames.list.items[i], !i);
	}
	fclose(out);
	text[COLUMN_TEXT_SIZE - 1] = '\0';
}
