// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A difference as a page: both totals over time, and every call stack before and after. The page
 * groups them itself, so they are compared one by one here, whatever --by says.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "output/page.h"
#include "output/formats.h"
#include "output/html.h"
#include "output/html_series.h"
#include "output/json_parts.h"
#include "output/trend_parts.h"

static void side_write(struct json_writer *json, const char *key, const char *name,
		       const char *label, const struct report *report)
{
	struct html_columns columns = html_columns_of(report->history);
	const struct history *history = report->history;

	json_open(json, key, '{');
	json_put_string(json, "recording", name);
	json_put_string(json, "label", label);
	html_snapshot_write(json, report);
	html_books_write(json, report->snapshot);
	html_columns_write(json, &columns);
	json_open(json, "processes", '[');
	for (size_t i = 0; i < report->processes.count; i++) {
		json_open(json, NULL, '{');
		output_json_process_write(json, report->processes.items[i].process);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "series", '[');
	for (size_t i = 0; history && i < history->processes.count; i++) {
		json_open(json, NULL, '{');
		html_series_write(json, &columns, &history->processes.items[i].series);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void trend_write(struct json_writer *json, const char *key, const struct report *report,
			const struct report_site *site)
{
	struct site_trend trend;

	if (!site || !site->series)
		return;
	site_trend_of(&trend, report->history, site->series);
	output_json_trend_fields(json, key, &trend);
}

static void row_write(struct json_writer *json, struct html_names *names, const struct diff *diff,
		      const struct diff_row *row)
{
	json_open(json, NULL, '{');
	json_put_string(json, "comm", row->comm);
	html_site_write(json, names, row->site);
	json_put_number(json, "before_bytes", row->before.bytes);
	json_put_number(json, "before_count", row->before.count);
	json_put_number(json, "held_bytes", row->after.bytes);
	json_put_number(json, "held_count", row->after.count);
	/* Of one run, the earlier trend is the beginning of the later one. */
	if (!diff->same_run)
		trend_write(json, "trend_before", diff->before, row->earlier);
	if (row->site != row->earlier)
		trend_write(json, "trend", diff->after, row->site);
	json_close(json, '}');
}

static void data_write(struct json_writer *json, struct html_names *names, const struct diff *diff,
		       const struct diff *by_site)
{
	json_open(json, NULL, '{');
	html_head_write(json, "diff");
	json_put_string(json, "by", diff_group_name(diff->by));
	json_put_bool(json, "same_run", diff->same_run);
	json_put_bool(json, "unrelated", diff->unrelated);
	side_write(json, "before", diff->before_name, diff->before_label, diff->before);
	side_write(json, "after", diff->after_name, diff->after_label, diff->after);
	json_open(json, "sites", '[');
	for (size_t i = 0; i < by_site->rows.count; i++)
		row_write(json, names, diff, &by_site->rows.items[i]);
	json_close(json, ']');
	output_json_diff_dead_write(json, diff);
	html_names_write(json, names);
	json_close(json, '}');
}

int output_html_diff_write(FILE *out, const struct diff *diff)
{
	_cleanup_(diff_free) struct diff by_site = {0};
	_cleanup_(html_names_free) struct html_names names = {0};
	struct json_writer json = page_json(out);
	int error = diff_build(&by_site, diff->before, diff->after, DIFF_BY_SITE, SORT_BYTES);

	if (error)
		return error;
	page_begin(out);
	data_write(&json, &names, diff, &by_site);
	return names.failed ? -ENOMEM : page_end(out);
}
