// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A report as a page: its processes and sites with all of their series, those that are gone as
 * well, for the page shows any time of the run.
 */
#include "output/html.h"

#include <errno.h>

#include "analyze/site_trend.h"
#include "base/cleanup.h"
#include "output/page.h"
#include "output/formats.h"
#include "output/html_series.h"
#include "output/json_parts.h"
#include "output/retain.h"
#include "output/trend_parts.h"

#define NS_PER_MS UINT64_C(1000000)
/* Of each list of a retain run. */
#define RETAINED_ROWS 200

struct page {
	struct json_writer json;
	const struct report *report;
	struct html_columns columns;
	struct html_names names;
	bool *shown;		 /* by place in history.sites: the report has it */
	size_t *process_numbers; /* by place in history.processes */
	size_t process_count;
};

static const struct history_process *series_of(const struct page *page,
					       const struct report_process *process)
{
	const struct history *history = page->report->history;

	return history ? history_process_find(history, process->process->key) : NULL;
}

static void series_write(struct page *page, const struct history_process *process)
{
	struct site_trend trend;

	if (!process)
		return;
	page->process_numbers[process - page->report->history->processes.items] =
		page->process_count;
	html_series_write(&page->json, &page->columns, &process->series);
	site_trend_of_process(&trend, page->report->history, process);
	output_json_trend_fields(&page->json, "trend", &trend);
}

static void process_write(struct page *page, const struct report_process *ranked)
{
	struct json_writer *json = &page->json;
	const struct ledger *ledger = &ranked->process->ledger;

	json_open(json, NULL, '{');
	output_json_process_write(json, ranked->process);
	json_put_number(json, "outstanding_bytes", ranked->process->outstanding_bytes);
	json_put_number(json, "outstanding_count", ranked->process->outstanding_count);
	json_put_number(json, "sites_total", ranked->sites_total);
	json_put_number(json, "allocations", ledger->allocations);
	json_put_number(json, "frees", ledger->frees);
	output_json_threads_write(json, ranked);
	series_write(page, series_of(page, ranked));
	json_close(json, '}');
	page->process_count++;
}

/* One that the report does not know any more. */
static void past_process_write(struct page *page, const struct history_process *process)
{
	struct snapshot_process past = {.pid = process->pid, .exact = true, .exited = true};

	memcpy(past.comm, process->comm, sizeof(past.comm));
	json_open(&page->json, NULL, '{');
	output_json_process_write(&page->json, &past);
	json_put_number(&page->json, "outstanding_bytes", 0);
	json_put_number(&page->json, "outstanding_count", 0);
	series_write(page, process);
	json_close(&page->json, '}');
	page->process_count++;
}

static void processes_write(struct page *page)
{
	const struct report *report = page->report;

	json_open(&page->json, "processes", '[');
	for (size_t i = 0; i < report->processes.count; i++)
		process_write(page, &report->processes.items[i]);
	for (size_t i = 0; report->history && i < report->history->processes.count; i++) {
		const struct history_process *process = &report->history->processes.items[i];

		/* What had not allocated yet has no key, and came again with one. */
		if (page->process_numbers[i] == SIZE_MAX && process->key)
			past_process_write(page, process);
	}
	json_close(&page->json, ']');
}

static void numbers_write(struct json_writer *json, const struct site *site, bool has_ages)
{
	json_put_number(json, "held_bytes", site->bytes);
	json_put_number(json, "held_count", site->count);
	json_put_number(json, "allocated_bytes", site->allocated_bytes);
	json_put_number(json, "allocated_count", site->allocated_count);
	json_put_number(json, "freed_bytes", site->freed_bytes);
	json_put_number(json, "freed_count", site->freed_count);
	if (has_ages)
		json_put_number(json, "oldest_ms", site->oldest_ns / NS_PER_MS);
}

static void site_write(struct page *page, size_t process, const struct report_site *site)
{
	struct json_writer *json = &page->json;

	json_open(json, NULL, '{');
	json_put_number(json, "process", process);
	html_site_write(json, &page->names, site);
	numbers_write(json, site->site, page->report->snapshot->has_ages);
	if (site->series) {
		page->shown[site->series - page->report->history->sites.items] = true;
		html_series_write(json, &page->columns, &site->series->series);
		output_json_trend_write(json, page->report, site);
	}
	json_close(json, '}');
}

/* Held something once, and holds nothing now. */
static void past_site_write(struct page *page, const struct history_site *past)
{
	const struct history_series *series = &past->series;
	struct history_point last =
		history_point_at(series, page->report->history->times.count - 1);
	struct site site = {.allocated_bytes = last.allocated_bytes,
			    .allocated_count = last.allocated_count,
			    .freed_bytes = last.freed_bytes,
			    .freed_count = last.freed_count,
			    .lost = past->lost,
			    .family = past->family,
			    .kind = past->kind};
	struct report_site ranked = {
		.site = &site, .id = past->id, .frames = past->frames, .series = past};

	/* Those that hold something fell to --top. */
	if (!last.bytes && !last.count)
		site_write(page, page->process_numbers[past->process_index], &ranked);
}

static void sites_write(struct page *page)
{
	const struct report *report = page->report;

	json_open(&page->json, "sites", '[');
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++)
			site_write(page, i, &process->sites.items[j]);
	}
	for (size_t i = 0; report->history && i < report->history->sites.count; i++) {
		if (!page->shown[i])
			past_site_write(page, &report->history->sites.items[i]);
	}
	json_close(&page->json, ']');
}

static void cost_write(struct json_writer *json, const struct report_cost *cost)
{
	if (!cost->rss_bytes)
		return;
	json_open(json, "cost", '{');
	json_put_real(json, "cpu_s", cost->cpu_s);
	json_put_number(json, "rss_bytes", cost->rss_bytes);
	json_close(json, '}');
}

/* The page shows the greatest of everything; all of it is in the recording. */
static void retention_write(struct json_writer *json, const struct report *report)
{
	if (!report->retained_count)
		return;
	json_open(json, "retention", '[');
	for (size_t i = 0; i < report->retained_count; i++)
		retain_json_object(json, &(struct retain_report){.result = &report->retained[i],
								 .top = RETAINED_ROWS});
	json_close(json, ']');
}

static void data_write(struct page *page)
{
	struct json_writer *json = &page->json;

	json_open(json, NULL, '{');
	html_head_write(json, "report");
	html_snapshot_write(json, page->report);
	html_books_write(json, page->report->snapshot);
	cost_write(json, &page->report->cost);
	html_columns_write(json, &page->columns);
	processes_write(page);
	sites_write(page);
	retention_write(json, page->report);
	html_names_write(json, &page->names);
	json_close(json, '}');
}

static int page_prepare(struct page *page)
{
	const struct history *history = page->report->history;
	size_t processes = history ? history->processes.count : 0;
	size_t sites = history ? history->sites.count : 0;

	page->columns = html_columns_of(history);
	page->shown = calloc(sites + 1, sizeof(*page->shown));
	page->process_numbers = malloc((processes + 1) * sizeof(*page->process_numbers));
	if (!page->shown || !page->process_numbers)
		return -ENOMEM;
	for (size_t i = 0; i < processes; i++)
		page->process_numbers[i] = SIZE_MAX;
	return 0;
}

static void page_free(struct page *page)
{
	free(page->shown);
	free(page->process_numbers);
	html_names_free(&page->names);
}

int output_html_write(FILE *out, const struct report *report)
{
	_cleanup_(page_free) struct page page = {.json = page_json(out), .report = report};
	int error = page_prepare(&page);

	if (error)
		return error;
	page_begin(out);
	data_write(&page);
	return page.names.failed ? -ENOMEM : page_end(out);
}
