/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text as it fills columns of a terminal, whatever a target calls itself. */
#ifndef LEAKMON_TOP_COLUMNS_H
#define LEAKMON_TOP_COLUMNS_H

#include <stddef.h>
#include <wchar.h>

#include "app/top/row.h"

/* A column holds one character and what combines with it: this many at most. */
#define CELLS_PER_COLUMN 4
#define CELLS_COLUMNS_MAX 512
#define CELLS_SIZE (CELLS_COLUMNS_MAX * CELLS_PER_COLUMN + 1)

enum cells_align { CELLS_LEFT, CELLS_RIGHT };

/*
 * Untrusted UTF-8 as exactly `width` columns (at most CELLS_COLUMNS_MAX), as wcwidth(3) counts
 * them: made inert (base/text.h), filled up with blanks, or cut with an ellipsis at its end. What
 * the locale has no character for becomes `?`. `cells` has room for CELLS_SIZE; NUL-terminated.
 */
void cells_fit(wchar_t *cells, const char *text, size_t width, enum cells_align align);

/*
 * The same of the first line that fits into `width` columns, without an ellipsis; blanks are where
 * lines break best. Returns how many bytes of `text`, which is inert already, are in it; 0 only for
 * "".
 */
size_t cells_wrap(wchar_t *cells, const char *text, size_t width);

/* The lists of `leakmon top` and their columns: one table each. */

#define COLUMN_TEXT_SIZE 2048
#define COLUMNS_MAX 12

struct top_column;

/* Fills text (of COLUMN_TEXT_SIZE), untrusted, for at most `width` columns. */
typedef void column_format(const struct top_row *row, const struct top_column *column, size_t width,
			   char *text);

struct top_column {
	const char *title;
	size_t width; /* the one that takes what is left: the least it needs */
	bool takes_rest;
	enum cells_align align;
	unsigned char drop; /* the highest goes first when the screen is narrow; 0: never */
	enum top_field field;
	column_format *format;
	bool of_many; /* only where rows are of several processes */
	size_t least; /* it may shrink to, before another one is dropped; 0: it may not */
};

struct top_sort {
	const char *name;
	char key; /* that chooses it */
	enum top_field field;
};

struct top_list {
	const char *title;
	const char *empty; /* what to say when there is no row */
	struct top_column columns[COLUMNS_MAX];
	struct top_sort sorts[8]; /* the default first */
};

enum top_screen {
	TOP_TRIAGE,  /* processes of the machine */
	TOP_GROUPS,  /* its containers and cgroups */
	TOP_TARGETS, /* processes that are tracked */
	TOP_CALLS,   /* their call stacks */
	TOP_PROFILE, /* call stacks of one that is profiled */
	TOP_LISTS_,
	TOP_STACK = TOP_LISTS_, /* one of them, a page */
	TOP_SCREENS_,
};

extern const struct top_list top_lists[TOP_LISTS_];

/* The width of each column on a screen of `width`, 0: not shown. Between two is a blank. `many`:
 * rows are of several processes. */
void top_columns_fit(const struct top_list *list, bool many, size_t width,
		     size_t widths[COLUMNS_MAX]);

#endif
