/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The HTML page: one file that needs nothing else, with a place for a JSON object. Its sources are
 * in user/html/src/; report.html, which is embedded here, is made of them by `make html-bundle`.
 */
#ifndef LEAKMON_OUTPUT_HTML_H
#define LEAKMON_OUTPUT_HTML_H

#include <stdio.h>

#include "analyze/report.h"
#include "output/html_names.h"
#include "output/json_writer.h"

/* A writer of what lies inside a <script> element and is shown to people. */
static inline struct json_writer page_json(FILE *out)
{
	return (struct json_writer){.out = out, .embedded = true};
}

/*
 * What a page is told, as one JSON object; user/html/src/model.js reads it. Internal to output/.
 *
 *	kind		"report" or "diff"
 *	times, sequences, labels	the columns, html_series.h; of a diff, in before and after
 *	processes[]	who, what is held, threads as in JSON; first, bytes, counts: a series; trend
 *	sites[]		process (its place), stack, held_*, allocated_*, freed_*, a series, trend;
 *			of a diff before_* and trend_before instead of a series; those that hold
 *			nothing any more are there, too
 *	ledger, mappings, losses[]	the books, and each cause of a loss with what to do about it
 *	frames[], strings[]	each once: a stack is numbers of frames, a frame numbers of strings
 *
 * Below are parts that several kinds of pages have.
 */

#endif
