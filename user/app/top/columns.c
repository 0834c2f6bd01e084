// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/top/columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "report/family.h"
#include "report/history.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/text/text.h"
#include "process/symbol/site_label.h"

/* Contents of cells in a list: one function per kind of column. */

/* -------- fields of the row itself */
static column_format column_format_pid;

static column_format column_format_name;

static column_format column_format_place; /* "-": none */

static column_format column_format_verdict;

static column_format column_format_trend; /* a sparkline */

static column_format column_format_where; /* the allocating code, and its caller in the program */

/* The column's number in the row; "-": unknown. */
static column_format column_format_number;

static column_format column_format_few; /* the same, for values below one */

static column_format column_format_bytes; /* followed by "~" if inexact; the heading says why */

static column_format column_format_rate; /* bytes per second */

static column_format column_format_triage_rate;

static column_format column_format_age; /* seconds */

static column_format column_format_confidence; /* 0..1, as a percentage */

#define ELLIPSIS L'\u2026'

struct line {
	wchar_t *cells;
	size_t used;	/* cells */
	size_t columns; /* taken */
	size_t marks;	/* combined with the latest character */
};

/* Returns the width of a character; one outside the locale is shown as `?`. */
static size_t columns_of(uint32_t code, wchar_t *shown)
{
	int columns = wcwidth((wchar_t)code);

	*shown = columns < 0 ? L'?' : (wchar_t)code;
	return columns < 0 ? 1 : (size_t)columns;
}

/* Returns false if it no longer fits. */
static bool line_add(struct line *line, uint32_t code, size_t width)
{
	wchar_t shown;
	size_t columns = columns_of(code, &shown);

	if (line->columns + columns > width)
		return false;
	line->marks = columns ? 0 : line->marks + 1;
	/* Skip a mark with nothing to combine with, or one too many for a cell. */
	if (!columns && (!line->columns || line->marks >= CELLS_PER_COLUMN))
		return true;
	line->cells[line->used++] = shown;
	line->columns += columns;
	return true;
}

/* Removes characters until `columns` are left, or one less before a wide one. */
static void line_cut(struct line *line, size_t columns)
{
	while (line->used && line->columns > columns) {
		int width = wcwidth(line->cells[--line->used]);

		line->columns -= (size_t)MAX(width, 0);
	}
}

static void line_fill(struct line *line, size_t width)
{
	for (; line->columns < width; line->columns++)
		line->cells[line->used++] = L' ';
	line->cells[line->used] = L'\0';
}

static void line_shift(struct line *line, size_t width)
{
	size_t blanks = width - line->columns;

	wmemmove(line->cells + blanks, line->cells, line->used);
	wmemset(line->cells, L' ', blanks);
	line->used += blanks;
	line->columns = width;
}

static void line_cut_short(struct line *line, size_t width)
{
	wchar_t ellipsis;

	line_cut(line, width - 1);
	columns_of(ELLIPSIS, &ellipsis);
	line->cells[line->used++] = ellipsis;
	line->columns++;
}

void cells_fit(wchar_t *cells, const char *text, size_t width, enum cells_align align)
{
	_cleanup_free_ char *inert = text_inert(text);
	const char *at = inert ? inert : "?";
	struct line line = {0};
	size_t length;
	uint32_t code;

	line.cells = cells;
	width = MIN(width, CELLS_COLUMNS_MAX);
	while ((length = text_decode_utf8(at, &code)) && line_add(&line, code, width))
		at += length;
	if (*at && width)
		line_cut_short(&line, width);
	if (align == CELLS_RIGHT)
		line_shift(&line, width);
	line_fill(&line, width);
}

size_t cells_wrap(wchar_t *cells, const char *text, size_t width)
{
	struct line line = {0};
	size_t length, used = 0, blank_used = 0, blank_columns = 0, blank_cells = 0;
	uint32_t code;

	line.cells = cells;
	width = MIN(MAX(width, 2), CELLS_COLUMNS_MAX);
	while ((length = text_decode_utf8(text + used, &code)) && line_add(&line, code, width)) {
		used += length;
		if (code != ' ')
			continue;
		blank_used = used;
		blank_columns = line.columns;
		blank_cells = line.used;
	}
	/* But do not break so early that a long name leaves most of the line empty. */
	if (text[used] && blank_columns > width / 2) {
		used = blank_used;
		line.used = blank_cells;
		line.columns = blank_columns;
	}
	line_fill(&line, width);
	return used;
}

static void column_format_pid(const struct top_row *row, const struct top_column *column,
			      size_t width, char *text)
{
	(void)column, (void)width;
	snprintf(text, COLUMN_TEXT_SIZE, "%d", row->pid);
}

static void column_format_name(const struct top_row *row, const struct top_column *column,
			       size_t width, char *text)
{
	(void)column, (void)width;
	snprintf(text, COLUMN_TEXT_SIZE, "%s", row->name);
}

static void column_format_place(const struct top_row *row, const struct top_column *column,
				size_t width, char *text)
{
	(void)column, (void)width;
	snprintf(text, COLUMN_TEXT_SIZE, "%s", row->place ? row->place : "-");
}

/* Returns whether the column's number in a row is known; writes "-" if not. */
static bool number_of(const struct top_row *row, const struct top_column *column, char *text,
		      double *value)
{
	*value = row->fields[column->field];
	if (isnan(*value))
		snprintf(text, COLUMN_TEXT_SIZE, "-");
	return !isnan(*value);
}

static void column_format_number(const struct top_row *row, const struct top_column *column,
				 size_t width, char *text)
{
	double value;

	(void)width;
	if (number_of(row, column, text, &value))
		snprintf(text, COLUMN_TEXT_SIZE, "%.0f", value);
}

static void column_format_few(const struct top_row *row, const struct top_column *column,
			      size_t width, char *text)
{
	double value;

	(void)width;
	if (number_of(row, column, text, &value))
		snprintf(text, COLUMN_TEXT_SIZE, "%.3g", value);
}

static void column_format_bytes(const struct top_row *row, const struct top_column *column,
				size_t width, char *text)
{
	double value = row->fields[column->field];
	char bytes[16] = "-";

	(void)width;
	if (!isnan(value))
		units_bytes(bytes, value, "");
	snprintf(text, COLUMN_TEXT_SIZE, "%s%s", bytes,
		 row->inexact && column->field == TOP_BYTES ? "~" : "");
}

static void column_format_rate(const struct top_row *row, const struct top_column *column,
			       size_t width, char *text)
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

static void column_format_triage_rate(const struct top_row *row, const struct top_column *column,
				      size_t width, char *text)
{
	double value;

	(void)width;
	if (number_of(row, column, text, &value))
		text_triage_rate(text, row->kind, value);
}

static void column_format_age(const struct top_row *row, const struct top_column *column,
			      size_t width, char *text)
{
	double value;

	(void)width;
	if (number_of(row, column, text, &value))
		units_time(text, value);
}

static void column_format_confidence(const struct top_row *row, const struct top_column *column,
				     size_t width, char *text)
{
	double value;

	(void)width;
	if (number_of(row, column, text, &value))
		snprintf(text, COLUMN_TEXT_SIZE, "%.0f %%", 100 * value);
}

static void column_format_verdict(const struct top_row *row, const struct top_column *column,
				  size_t width, char *text)
{
	(void)column, (void)width;
	snprintf(text, COLUMN_TEXT_SIZE, "%s", top_row_verdict(row));
}

/* Returns the maximum of the heights within one column. */
static unsigned char height_at(const struct top_row *row, size_t column, size_t columns)
{
	size_t from = column * row->spark_count / columns;
	size_t to = (column + 1) * row->spark_count / columns;
	unsigned char height = row->spark[from];

	for (size_t i = from; i < to; i++)
		height = MAX(height, row->spark[i]);
	return height;
}

static void column_format_trend(const struct top_row *row, const struct top_column *column,
				size_t width, char *text)
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

static void column_format_where(const struct top_row *row, const struct top_column *column,
				size_t width, char *text)
{
	struct label_step steps[LABEL_STEPS_MAX];
	size_t count = site_label_steps(&row->frames, LABEL_LONG, steps);
	FILE *out = fmemopen(text, COLUMN_TEXT_SIZE, "w");

	(void)column, (void)width;
	*text = '\0';
	if (!out)
		return;
	if (kind_name(row->site.kind))
		fprintf(out, "(%s) ", kind_name(row->site.kind));
	if (row->site.lost)
		fprintf(out, "[lost: %s]", lost_name(row->site.lost));
	for (size_t i = 0; i < count; i++) {
		fputs(!i ? "" : steps[i].skips ? " < .. < " : " < ", out);
		text_step_print(out, &steps[i]);
	}
	fclose(out);
	text[COLUMN_TEXT_SIZE - 1] = '\0';
}

#define SORT_OF_TRIAGE                                                                             \
	{                                                                                          \
		{"urgency", 'u', TOP_URGENCY}, {"bytes", 'b', TOP_BYTES},                          \
			{"growth", 'g', TOP_GROWTH}, {"threads", 't', TOP_THREADS},                \
			{"files", 'o', TOP_FILES}, {"mappings", 'm', TOP_MAPPINGS},                \
			{"age", 'a', TOP_AGE},                                                     \
	}
#define SORT_OF_TRACKED                                                                            \
	{                                                                                          \
		{"bytes", 'b', TOP_BYTES}, {"count", 'c', TOP_COUNT}, {"growth", 'g', TOP_GROWTH}, \
			{"integral", 'i', TOP_INTEGRAL}, {"age", 'a', TOP_AGE},                    \
	}
/* A name keeps its width: the place shrinks first, down to this. */
#define PLACE_LEAST 8
#define COLUMNS_OF_TRIAGE(place_drop)                                                              \
	{"IN", 12, true, CELLS_LEFT, place_drop, 0, column_format_place, .least = PLACE_LEAST},    \
		{"ANON+SWAP", 10, false, CELLS_RIGHT, 3, TOP_BYTES, column_format_bytes},          \
		{"GROWTH/MIN", 14, false, CELLS_RIGHT, 2, TOP_GROWTH, column_format_triage_rate,   \
		 .least = 11},                                                                     \
		{"THREADS", 7, false, CELLS_RIGHT, 8, TOP_THREADS, column_format_number},          \
		{"FILES", 6, false, CELLS_RIGHT, 9, TOP_FILES, column_format_number},              \
		{"MAPS", 6, false, CELLS_RIGHT, 10, TOP_MAPPINGS, column_format_number},           \
		{"VERDICT", 9, false, CELLS_LEFT, 1, 0, column_format_verdict},                    \
		{"CONF", 5, false, CELLS_RIGHT, 5, TOP_CONFIDENCE, column_format_confidence},      \
		{"TREND", 16, false, CELLS_LEFT, 4, 0, column_format_trend, .least = 8},

const struct top_list top_lists[TOP_LISTS_] = {
	[TOP_TRIAGE] =
		{
			"Processes",
			"no process is seen yet",
			{{"PID", 7, false, CELLS_RIGHT, 0, 0, column_format_pid},
			 {"COMM", 15, true, CELLS_LEFT, 0, 0, column_format_name},
			 COLUMNS_OF_TRIAGE(7)},
			SORT_OF_TRIAGE,
		},
	[TOP_GROUPS] =
		{
			"Containers and cgroups",
			"no container or cgroup is seen yet",
			{{"PROCS", 7, false, CELLS_RIGHT, 6, TOP_PROCESSES, column_format_number},
			 {"WHAT", 11, false, CELLS_LEFT, 11, 0, column_format_name},
			 COLUMNS_OF_TRIAGE(0)},
			SORT_OF_TRIAGE,
		},
	[TOP_TARGETS] =
		{
			"Tracked processes",
			"no process has allocated anything yet",
			{
				{"PID", 7, false, CELLS_RIGHT, 0, 0, column_format_pid},
				{"COMM", 15, false, CELLS_LEFT, 0, 0, column_format_name},
				{"IN", 8, true, CELLS_LEFT, 9, 0, column_format_place},
				{"BYTES", 11, false, CELLS_RIGHT, 2, TOP_BYTES,
				 column_format_bytes},
				{"BLOCKS", 9, false, CELLS_RIGHT, 5, TOP_COUNT,
				 column_format_number},
				{"STACKS", 6, false, CELLS_RIGHT, 7, TOP_SITES,
				 column_format_number},
				{"GROWTH/S", 11, false, CELLS_RIGHT, 3, TOP_GROWTH,
				 column_format_rate},
				{"VERDICT", 9, false, CELLS_LEFT, 1, 0, column_format_verdict},
				{"CONF", 5, false, CELLS_RIGHT, 6, TOP_CONFIDENCE,
				 column_format_confidence},
				{"TREND", 24, false, CELLS_LEFT, 4, 0, column_format_trend},
			},
			SORT_OF_TRACKED,
		},
	[TOP_CALLS] =
		{
			"Call stacks",
			"no native memory is outstanding",
			{
				{"BYTES", 11, false, CELLS_RIGHT, 0, TOP_BYTES,
				 column_format_bytes},
				{"COUNT", 8, false, CELLS_RIGHT, 3, TOP_COUNT,
				 column_format_number},
				{"GROWTH/S", 11, false, CELLS_RIGHT, 2, TOP_GROWTH,
				 column_format_rate},
				{"OLDEST", 8, false, CELLS_RIGHT, 5, TOP_AGE, column_format_age},
				{"BYTES·S", 10, false, CELLS_RIGHT, 7, TOP_INTEGRAL,
				 column_format_bytes},
				{"VERDICT", 9, false, CELLS_LEFT, 1, 0, column_format_verdict},
				{"TREND", 16, false, CELLS_LEFT, 4, 0, column_format_trend},
				{"PID", 7, false, CELLS_RIGHT, 6, 0, column_format_pid, true},
				{"ALLOCATED BY", 24, true, CELLS_LEFT, 0, 0, column_format_where},
			},
			SORT_OF_TRACKED,
		},
	[TOP_PROFILE] =
		{
			"Profile",
			"no window has seen an allocation yet",
			{
				{"GROWTH/S", 11, false, CELLS_RIGHT, 0, TOP_GROWTH,
				 column_format_rate},
				{"AT LEAST", 11, false, CELLS_RIGHT, 2, TOP_LEAST,
				 column_format_rate},
				{"BLOCKS/S", 9, false, CELLS_RIGHT, 5, TOP_BIRTHS,
				 column_format_few},
				{"STAY", 6, false, CELLS_RIGHT, 3, TOP_UNTOUCHED,
				 column_format_confidence},
				{"FOR", 8, false, CELLS_RIGHT, 4, TOP_AGE, column_format_age},
				{"VERDICT", 9, false, CELLS_LEFT, 1, 0, column_format_verdict},
				{"ALLOCATED BY", 24, true, CELLS_LEFT, 0, 0, column_format_where},
			},
			{{"urgency", 'u', TOP_URGENCY},
			 {"growth", 'g', TOP_GROWTH},
			 {"count", 'c', TOP_BIRTHS},
			 {"age", 'a', TOP_AGE}},
		},
};

/* Returns the width of the shown columns, with blanks between them. */
static size_t width_of(const struct top_list *list, const size_t widths[COLUMNS_MAX])
{
	size_t sum = 0;

	for (size_t i = 0; i < COLUMNS_MAX && list->columns[i].title; i++)
		sum += widths[i] ? widths[i] + 1 : 0;
	return sum ? sum - 1 : 0;
}

/* Returns the least important shown column that may be dropped, or COLUMNS_MAX. */
static size_t least_of(const struct top_list *list, const size_t widths[COLUMNS_MAX])
{
	size_t least = COLUMNS_MAX;

	for (size_t i = 0; i < COLUMNS_MAX && list->columns[i].title; i++) {
		if (widths[i] && list->columns[i].drop &&
		    (least == COLUMNS_MAX || list->columns[i].drop > list->columns[least].drop))
			least = i;
	}
	return least;
}

/* Returns by how much the shown columns may shrink. */
static size_t slack_of(const struct top_list *list, const size_t widths[COLUMNS_MAX])
{
	size_t sum = 0;

	for (size_t i = 0; i < COLUMNS_MAX && list->columns[i].title; i++) {
		if (widths[i] && list->columns[i].least)
			sum += widths[i] - list->columns[i].least;
	}
	return sum;
}

static void shrink(const struct top_list *list, size_t width, size_t widths[COLUMNS_MAX])
{
	for (size_t i = 0; i < COLUMNS_MAX && list->columns[i].title; i++) {
		size_t needed = width_of(list, widths), least = list->columns[i].least;

		if (widths[i] && least && needed > width)
			widths[i] -= MIN(widths[i] - least, needed - width);
	}
}

/* Gives spare width to the columns that take it, or shrinks columns from the last on. */
static void settle(const struct top_list *list, size_t width, size_t widths[COLUMNS_MAX])
{
	size_t needed, takers = 0;

	shrink(list, width, widths);
	needed = width_of(list, widths);
	for (size_t i = 0; i < COLUMNS_MAX && list->columns[i].title; i++)
		takers += list->columns[i].takes_rest && widths[i];
	for (size_t i = 0; i < COLUMNS_MAX && list->columns[i].title && needed < width; i++) {
		size_t rest;

		if (!list->columns[i].takes_rest || !widths[i])
			continue;
		rest = (width - needed) / takers--;
		widths[i] += rest;
		needed += rest;
	}
	for (size_t i = COLUMNS_MAX; i-- > 0 && needed > width;) {
		size_t cut = MIN(widths[i], needed - width);

		widths[i] -= cut;
		needed = width_of(list, widths);
	}
}

void top_columns_fit(const struct top_list *list, bool many, size_t width,
		     size_t widths[COLUMNS_MAX])
{
	size_t least;

	for (size_t i = 0; i < COLUMNS_MAX; i++) {
		const struct top_column *column = &list->columns[i];

		widths[i] = column->title && (many || !column->of_many) ? column->width : 0;
	}
	while (width_of(list, widths) > width + slack_of(list, widths) &&
	       (least = least_of(list, widths)) != COLUMNS_MAX)
		widths[least] = 0;
	settle(list, width, widths);
}
