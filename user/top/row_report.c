// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of a report: its processes, and the call stacks of all of them. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyze/history.h"
#include "analyze/site_trend.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "proc/container.h"
#include "top/row.h"

#define NS_PER_S 1e9

static struct top_row *row_new(struct top_rows *rows)
{
	struct top_row *row = vec_push(&rows->list);

	for (size_t i = 0; row && i < TOP_FIELD_MAX_; i++)
		row->fields[i] = NAN;
	return row;
}

static void put_trend(struct top_row *row, const struct site_trend *trend)
{
	char evidence[EVIDENCE_SIZE];

	row->verdict = trend->verdict;
	if (trend->verdict == TREND_TOO_EARLY)
		return;
	row->fields[TOP_GROWTH] = site_trend_growth(trend);
	row->fields[TOP_SURE] = trend_is_suspect(trend->verdict) ? trend->trend.confidence : NAN;
	row->evidence = strdup(site_trend_evidence(trend, evidence));
}

static void put_series(struct top_row *row, const struct report *report,
		       const struct history_series *series)
{
	row->fields[TOP_INTEGRAL] = series->integral_byte_s;
	row->spark_count = history_heights(report->history, series, TOP_SPARK_POINTS, row->spark);
}

/* The family is in it: each counts its sites from 0. */
static uint64_t site_identity(lm_process_key process, const struct site *site)
{
	return hash_mix(process ^ hash_mix((uint64_t)site->family << 32 | site->index));
}

static int frames_copy(struct frames *copy, const struct frames *frames)
{
	if (!frames->list.count)
		return 0;
	copy->list.items = calloc(frames->list.count, sizeof(*copy->list.items));
	if (!copy->list.items)
		return -ENOMEM;
	memcpy(copy->list.items, frames->list.items,
	       frames->list.count * sizeof(*copy->list.items));
	copy->list.count = copy->list.capacity = frames->list.count;
	return 0;
}

static int site_row(const struct report *report, const struct snapshot_process *process,
		    const struct report_site *ranked, bool judged, struct top_rows *rows)
{
	const struct site *site = ranked->site;
	struct top_row *row = row_new(rows);
	struct site_trend trend;

	if (!row)
		return -ENOMEM;
	row->identity = site_identity(process->key, site);
	row->process = process->key;
	row->pid = (pid_t)process->pid;
	row->inexact = !process->exact;
	row->site = *site;
	row->site.addresses = NULL;
	row->site.depth = 0;
	row->has_ages = report->snapshot->has_ages;
	row->fields[TOP_BYTES] = (double)site->bytes;
	row->fields[TOP_COUNT] = (double)site->count;
	if (row->has_ages)
		row->fields[TOP_AGE] = (double)site->oldest_ns / NS_PER_S;
	if (ranked->series) {
		put_series(row, report, &ranked->series->series);
		if (judged) {
			site_trend_of(&trend, report->history, ranked->series);
			put_trend(row, &trend);
		}
	}
	return frames_copy(&row->frames, &ranked->frames);
}

/* NAMESPACE/POD/NAME, as far as they are known; else the container's id. */
static char *container_text(const struct container *container)
{
	char *text = NULL;
	int length;

	if (container->pod)
		length = asprintf(&text, "%s/%s%s%s",
				  container->namespace ? container->namespace : "?", container->pod,
				  container->name ? "/" : "",
				  container->name ? container->name : "");
	else if (container->name)
		length = asprintf(&text, "%s", container->name);
	else
		length = asprintf(&text, "%.12s", container->id);
	return length < 0 ? NULL : text;
}

static int process_row(const struct report *report, const struct report_process *ranked,
		       struct top_rows *rows)
{
	const struct snapshot_process *process = ranked->process;
	const struct history_process *series =
		report->history ? history_process_find(report->history, process->key) : NULL;
	struct top_row *row = row_new(rows);
	struct site_trend trend;

	if (!row)
		return -ENOMEM;
	row->identity = row->process = process->key;
	row->pid = (pid_t)process->pid;
	row->inexact = !process->exact;
	row->fields[TOP_BYTES] = (double)process->outstanding_bytes;
	row->fields[TOP_COUNT] = (double)process->outstanding_count;
	row->fields[TOP_SITES] = (double)ranked->sites_total;
	if (series) {
		put_series(row, report, &series->series);
		site_trend_of_process(&trend, report->history, series);
		put_trend(row, &trend);
	}
	if (asprintf(&row->name, "%s%s", process->comm, process->exited ? " (ended)" : "") < 0)
		row->name = NULL;
	if (process->container)
		row->place = container_text(process->container);
	return row->name && (row->place || !process->container) ? 0 : -ENOMEM;
}

int top_rows_of_report(const struct report *report, size_t trends, struct top_rows *processes,
		       struct top_rows *sites)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count && !error; i++) {
		const struct report_process *ranked = &report->processes.items[i];

		error = process_row(report, ranked, processes);
		for (size_t j = 0; j < ranked->sites.count && !error; j++)
			error = site_row(report, ranked->process, &ranked->sites.items[j],
					 j < trends, sites);
	}
	return error;
}
