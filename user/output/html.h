/* SPDX-License-Identifier: GPL-2.0-or-later */
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
#ifndef LEAKMON_OUTPUT_HTML_H
#define LEAKMON_OUTPUT_HTML_H

#include "analyze/report.h"
#include "output/html_names.h"

/* "schema", "kind" and what made the page. */
void html_head_write(struct json_writer *json, const char *kind);
/* "time_ms", "sequence", "host", "sampled", "has_ages". */
void html_snapshot_write(struct json_writer *json, const struct report *report);
/* "ledger" and "losses": each cause that is not zero, with what to do about it. */
void html_books_write(struct json_writer *json, const struct snapshot *snapshot);
/* "id", "family", "kind", "lost", "end", "stack". */
void html_site_write(struct json_writer *json, struct html_names *names,
		     const struct report_site *site);

#endif
