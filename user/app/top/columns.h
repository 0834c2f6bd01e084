/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text fitted into columns of a terminal, safe for untrusted names. */
#ifndef LEAKMON_TOP_COLUMNS_H
#define LEAKMON_TOP_COLUMNS_H

#include <stddef.h>
#include <wchar.h>

#include "app/top/row.h"

/* Characters per column: one and its combining marks. */
#define CELLS_PER_COLUMN 4
#define CELLS_COLUMNS_MAX 512
#define CELLS_SIZE (CELLS_COLUMNS_MAX * CELLS_PER_COLUMN + 1)

enum cells_align { CELLS_LEFT, CELLS_RIGHT };

/*
 * Fits untrusted UTF-8 into exactly `width` columns (at most CELLS_COLUMNS_MAX), as wcwidth(3)
 * counts them: makes it inert (base/text.h) and pads it with blanks, or cuts it with an ellipsis.
 * Characters outside the locale become `?`. `cells` has room for CELLS_SIZE; NUL-terminated.
 */
void cells_fit(wchar_t *cells, const char *text, size_t width, enum cells_align align);

/*
 * Fits the first line of a text into `width` columns, without an ellipsis, preferably broken at a
 * blank. Returns the number of bytes of `text` in it, which must be inert; 0 only for "".
 */
size_t cells_wrap(wchar_t *cells, const char *text, size_t width);

/* The lists of `leakmon top` and their columns, one table each. */

#define COLUMN_TEXT_SIZE 2048
#define COLUMNS_MAX 12

struct top_column;

/* Fills text (of COLUMN_TEXT_SIZE), untrusted, for at most `width` columns. */
typedef void column_format(const struct top_row *row, const struct top_column *column, size_t width,
			   char *text);

struct top_column {
	const char *title;
	size_t width; /* for a column that takes the rest: its minimum */
	bool takes_rest;
	enum cells_align align;
	unsigned char drop; /* the highest is dropped first on a narrow screen; 0: never */
	enum top_field field;
	column_format *format;
	bool of_many; /* shown only with rows of several processes */
	size_t least; /* width to which it shrinks before another is dropped; 0: fixed */
};

struct top_sort {
	const char *name;
	char key; /* to choose it */
	enum top_field field;
};

struct top_list {
	const char *title;
	const char *empty; /* text for an empty list */
	struct top_column columns[COLUMNS_MAX];
	struct top_sort sorts[8]; /* the default first */
};

enum top_screen {
	TOP_TRIAGE,  /* processes of the machine */
	TOP_GROUPS,  /* its containers and cgroups */
	TOP_TARGETS, /* tracked processes */
	TOP_CALLS,   /* their call stacks */
	TOP_PROFILE, /* call stacks of a profiled process */
	TOP_LISTS_,
	TOP_STACK = TOP_LISTS_, /* one call stack, as a page */
	TOP_SCREENS_,
};

extern const struct top_list top_lists[TOP_LISTS_];

/*
 * Computes the width of each column on a screen of `width`; 0: not shown. A blank separates two
 * columns. `many`: rows belong to several processes.
 */
void top_columns_fit(const struct top_list *list, bool many, size_t width,
		     size_t widths[COLUMNS_MAX]);

#endif
