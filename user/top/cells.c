// SPDX-License-Identifier: GPL-2.0-or-later
#include "top/cells.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/text.h"

#define ELLIPSIS L'\u2026'

struct line {
	wchar_t *cells;
	size_t used;	/* cells */
	size_t columns; /* taken */
	size_t marks;	/* combined with the latest character */
};

/* The columns of a character; what the locale does not know is shown as `?`. */
static size_t columns_of(uint32_t code, wchar_t *shown)
{
	int columns = wcwidth((wchar_t)code);

	*shown = columns < 0 ? L'?' : (wchar_t)code;
	return columns < 0 ? 1 : (size_t)columns;
}

/* False: it does not fit any more. */
static bool line_add(struct line *line, uint32_t code, size_t width)
{
	wchar_t shown;
	size_t columns = columns_of(code, &shown);

	if (line->columns + columns > width)
		return false;
	line->marks = columns ? 0 : line->marks + 1;
	/* Nothing to combine with, or a pile of marks that would overflow a cell. */
	if (!columns && (!line->columns || line->marks >= CELLS_PER_COLUMN))
		return true;
	line->cells[line->used++] = shown;
	line->columns += columns;
	return true;
}

/* Takes characters off until `columns` are left, or one less before a wide one. */
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
	/* Not so far back that a long name would leave most of the line empty. */
	if (text[used] && blank_columns > width / 2) {
		used = blank_used;
		line.used = blank_cells;
		line.columns = blank_columns;
	}
	line_fill(&line, width);
	return used;
}
