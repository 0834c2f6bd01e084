// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/html.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/site_trend.h"
#include "base/cleanup.h"
#include "output/finish.h"
#include "output/formats.h"
#include "output/html_series.h"
#include "output/json_parts.h"
#include "output/retain.h"
#include "output/trend_parts.h"

/* The bundle holds this once; see user/html/src/page.html. */
#define PLACE_OF_DATA "LEAKMON_DATA"

__asm__(".pushsection .rodata\n"
	"page_bundle: .incbin \"user/html/report.html\"\n"
	"page_bundle_end:\n"
	".popsection\n");

extern const char page_bundle[], page_bundle_end[];

static const char *place_of_data(void)
{
	return memmem(page_bundle, (size_t)(page_bundle_end - page_bundle), PLACE_OF_DATA,
		      strlen(PLACE_OF_DATA));
}

/* Writes the page up to its data. Then comes one object by a writer of page_json(). */
static void page_begin(FILE *out)
{
	fwrite(page_bundle, 1, (size_t)(place_of_data() - page_bundle), out);
}

/* Writes the rest. 0, or -EIO when anything written to the stream failed. Flushes. */
static int page_end(FILE *out)
{
	const char *rest = place_of_data() + strlen(PLACE_OF_DATA);

	fwrite(rest, 1, (size_t)(page_bundle_end - rest), out);
	return output_finish(out);
}

#define NS_PER_MS 1000000

/* "schema", "kind" and what made the page. */
static void html_head_write(struct json_writer *json, const char *kind)
{
	json_put_number(json, "schema", 1);
	json_put_string(json, "kind", kind);
	json_put_string(json, "version", LEAKMON_VERSION);
}

/* "time_ms", "sequence", "host", "sampled", "has_ages". */
static void html_snapshot_write(struct json_writer *json, const struct report *report)
{
	const struct snapshot *snapshot = report->snapshot;

	json_put_signed(json, "time_ms",
			(int64_t)snapshot->time.tv_sec * 1000 + snapshot->time.tv_nsec / NS_PER_MS);
	json_put_number(json, "sequence", snapshot->sequence);
	json_put_string(json, "host", report->host);
	json_put_bool(json, "sampled", snapshot->sampled);
	json_put_bool(json, "has_ages", snapshot->has_ages);
}

static void loss_write(struct json_writer *json, const char *kind, const char *cause,
		       uint64_t count, const char *advice)
{
	if (!count)
		return;
	json_open(json, NULL, '{');
	json_put_string(json, "kind", kind);
	json_put_string(json, "cause", cause);
	json_put_number(json, "count", count);
	json_put_string(json, "advice", advice);
	json_close(json, '}');
}

/* "ledger" and "losses": each cause that is not zero, with what to do about it. */
static void html_books_write(struct json_writer *json, const struct snapshot *snapshot)
{
	const struct ledger *ledger = &snapshot->ledger;

	output_json_ledger_write(json, snapshot);
	if (snapshot->has_mappings)
		output_json_mapping_write(json, &snapshot->mapping);
	json_open(json, "losses", '[');
	for (size_t i = 0; i < LM_DROP_MAX_; i++)
		loss_write(json, "allocations dropped", drop_name(i), ledger->dropped[i],
			   drop_advice(i));
	for (size_t i = LM_LOST_NONE + 1; i < LM_LOST_MAX_; i++)
		loss_write(json, "allocations without a stack", lost_name(i),
			   ledger->lost_stacks[i], lost_advice(i));
	for (size_t i = LM_WALK_ROOT + 1; i < LM_WALK_MAX_; i++)
		loss_write(json, "stacks that end early", walk_end_name(i), ledger->walk_ends[i],
			   walk_end_advice(i));
	for (size_t i = 0; i < INEXACT_MAX_; i++) {
		/* The others stand above, or are said elsewhere, with their numbers. */
		if (inexact_advice(i))
			loss_write(json, "processes that are inexact", inexact_name(i),
				   snapshot_count_inexact(snapshot, i), inexact_advice(i));
	}
	json_close(json, ']');
}

/* "id", "family", "kind", "lost", "end", "stack". */
static void html_site_write(struct json_writer *json, struct html_names *names,
			    const struct report_site *site)
{
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, site->id);
	json_put_string(json, "id", id);
	json_put_string(json, "family", family_name(site->site->family));
	json_put_string(json, "kind", kind_name(site->site->kind));
	json_put_string(json, "lost", site->site->lost ? lost_name(site->site->lost) : NULL);
	if (site->site->end != LM_WALK_ROOT)
		json_put_string(json, "end", walk_end_name(site->site->end));
	html_stack_write(json, names, site);
}

/*
 * A report as a page: its processes and sites with all of their series, those that are gone as
 * well, for the page shows any time of the run.
 */

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

/*
 * A difference as a page: both totals over time, and every call stack before and after. The page
 * groups them itself, so they are compared one by one here, whatever --by says.
 */

static void side_of_diff_write(struct json_writer *json, const char *key, const char *name,
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

static void diff_trend_write(struct json_writer *json, const char *key, const struct report *report,
			     const struct report_site *site)
{
	struct site_trend trend;

	if (!site || !site->series)
		return;
	site_trend_of(&trend, report->history, site->series);
	output_json_trend_fields(json, key, &trend);
}

static void diff_row_write(struct json_writer *json, struct html_names *names,
			   const struct diff *diff, const struct diff_row *row)
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
		diff_trend_write(json, "trend_before", diff->before, row->earlier);
	if (row->site != row->earlier)
		diff_trend_write(json, "trend", diff->after, row->site);
	json_close(json, '}');
}

static void diff_data_write(struct json_writer *json, struct html_names *names,
			    const struct diff *diff, const struct diff *by_site)
{
	json_open(json, NULL, '{');
	html_head_write(json, "diff");
	json_put_string(json, "by", diff_group_name(diff->by));
	json_put_bool(json, "same_run", diff->same_run);
	json_put_bool(json, "unrelated", diff->unrelated);
	side_of_diff_write(json, "before", diff->before_name, diff->before_label, diff->before);
	side_of_diff_write(json, "after", diff->after_name, diff->after_label, diff->after);
	json_open(json, "sites", '[');
	for (size_t i = 0; i < by_site->rows.count; i++)
		diff_row_write(json, names, diff, &by_site->rows.items[i]);
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
	diff_data_write(&json, &names, diff, &by_site);
	return names.failed ? -ENOMEM : page_end(out);
}

/* A run of `leakmon retain` as a page of its own. */

int retain_html_write(FILE *out, const struct retain_report *report)
{
	struct json_writer json = page_json(out);

	page_begin(out);
	json_open(&json, NULL, '{');
	html_head_write(&json, "retention");
	json_open(&json, "retention", '[');
	retain_json_object(&json, report);
	json_close(&json, ']');
	json_close(&json, '}');
	return page_end(out);
}
