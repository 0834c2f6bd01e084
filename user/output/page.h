/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The HTML page: one file that needs nothing else, with a place for a JSON object. Its sources are
 * in user/html/src/; report.html, which is embedded here, is made of them by `make html-bundle`.
 */
#ifndef LEAKMON_OUTPUT_PAGE_H
#define LEAKMON_OUTPUT_PAGE_H

#include <stdio.h>

#include "output/json_writer.h"

/* Writes the page up to its data. Then comes one object by a writer of page_json(). */
void page_begin(FILE *out);
/* Writes the rest. 0, or -EIO when anything written to the stream failed. Flushes. */
int page_end(FILE *out);

/* A writer of what lies inside a <script> element and is shown to people. */
static inline struct json_writer page_json(FILE *out)
{
	return (struct json_writer){.out = out, .embedded = true};
}

#endif
