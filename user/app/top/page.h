/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of several lines, to scroll through. All of it is inert. */
#ifndef LEAKMON_TOP_PAGE_H
#define LEAKMON_TOP_PAGE_H

#include "app/top/row.h"
#include "base/vec.h"

struct top_page {
	char *text;	   /* lines end in newlines; owned; NULL: none */
	size_t width;	   /* width for which it is wrapped */
	VEC(size_t) lines; /* where each begins, wrapped */
};

void top_page_free(struct top_page *page);

/* The following functions replace the page. `row` NULL: the call stack holds nothing any more. */
void top_page_stack(struct top_page *page, const struct top_row *row,
		    const struct top_row *process);
void top_page_help(struct top_page *page);
/*
 * The page below a list: the frames of a call stack, or the evidence of a row, and its classes if
 * they were counted (else NULL).
 */
void top_page_preview(struct top_page *page, const struct top_row *row,
		      const struct top_row *process, const char *classes);
/* Shows raw text, such as messages. */
void top_page_raw(struct top_page *page, const char *text);

/* Wraps the page for a screen, unless it already is. Returns the number of lines. */
size_t top_page_wrap(struct top_page *page, size_t width);

#endif
