/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a page's data that several kinds of pages have. Internal to output/. */
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
/* "pid", "comm", "exe", "container", "exact", "exited". */
void html_process_write(struct json_writer *json, const struct snapshot_process *process);
/* "id", "family", "kind", "lost", "end", "stack". */
void html_site_write(struct json_writer *json, struct html_names *names,
		     const struct report_site *site);

#endif
