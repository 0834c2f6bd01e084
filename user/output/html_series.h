/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Series of a page. A page has as many columns as a screen can show; a column that stands for
 * several snapshots shows the most that was held in them. The first and the last are always exact.
 */
#ifndef LEAKMON_OUTPUT_HTML_SERIES_H
#define LEAKMON_OUTPUT_HTML_SERIES_H

#include "analyze/history.h"
#include "output/json_writer.h"

struct html_columns {
	const struct history *history;
	size_t count;
};

/* `history` may be NULL: no column. */
struct html_columns html_columns_of(const struct history *history);

/* "times": milliseconds, "sequences": both the first one and then differences; "labels": pairs of
 * a column and a text. Of a column's snapshots, the last one's. */
void html_columns_write(struct json_writer *json, const struct html_columns *columns);

/*
 * "first": a column; "bytes" and "counts" from there on, the first value and then differences.
 * What does not change until the end is left out.
 */
void html_series_write(struct json_writer *json, const struct html_columns *columns,
		       const struct history_series *series);

#endif
