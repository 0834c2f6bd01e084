// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `leakmon threads` for node-exporter's textfile collector: dead threads of each process, and the
 * goroutines of Go programs by where they wait: the greatest groups, and all that are suspect.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "output/output.h"
#include "output/prom/prom.h"
#include "report/figures.h"
#include "report/thread_report.h"

#define TOP_GROUPS 10

static void labels_write(FILE *out, const struct thread_census *census)
{
	prom_label(out, "comm", census->comm, "{");
	fprintf(out, ",pid=\"%" PRIu32 "\"", census->pid);
}

static void process_labels(FILE *out, const char *metric, const struct thread_census *census)
{
	fprintf(out, "leakmon_%s", metric);
	labels_write(out, census);
}

int prom_place_label(FILE *out, const char *key, const struct frame *frame)
{
	_cleanup_free_ char *text = NULL;
	int length = 0;

	if (frame && frame->function && frame->file)
		length = asprintf(&text, "%s %s:%" PRIu32, frame->function,
				  text_path_base(frame->file), frame->line);
	if (length < 0) {
		text = NULL;
		return -ENOMEM;
	}
	prom_label(out, key, text ? text : frame ? frame->function : NULL, ",");
	return 0;
}

static int group_write(FILE *out, const struct thread_census *census,
		       const struct goroutine_group *group)
{
	int error;

	process_labels(out, "goroutines", census);
	prom_label(out, "state", group->state, ",");
	error = prom_place_label(out, "waits_at", goroutine_place(&group->stack));
	if (!error)
		error = prom_place_label(out, "created_by", goroutine_place(&group->creator));
	/* Groups with the same labels differ in how they came there. */
	fprintf(out, ",group=\"%016" PRIx64 "\"} %" PRIu64 "\n", group->id, group->count);
	return error;
}

static bool is_shown(const struct goroutine_report *report, size_t group)
{
	return group < TOP_GROUPS || trend_is_suspect(report->groups.items[group].growth.verdict);
}

static int groups_write(FILE *out, const struct thread_report *report)
{
	int error = 0;

	prom_header(out, "goroutines", "gauge", "Goroutines by where they wait.");
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct thread_census *census = &report->processes.items[i];
		const struct goroutine_report *found = census->goroutines;

		for (size_t j = 0; !error && found && j < found->groups.count; j++) {
			if (is_shown(found, j))
				error = group_write(out, census, &found->groups.items[j]);
		}
	}
	return error;
}

static const void *goroutines_row(const void *report, size_t i)
{
	return ((const struct thread_report *)report)->processes.items[i].goroutines;
}

static const void *census_row(const void *report, size_t i)
{
	return &((const struct thread_report *)report)->processes.items[i];
}

static void series_labels(FILE *out, const void *report, size_t i)
{
	labels_write(out, census_row(report, i));
}

static void leaking_write(FILE *out, const struct thread_report *report)
{
	prom_header(out, "goroutines_leaking", "gauge",
		    "Goroutines in groups that grow all the time and of which none has ended.");
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct thread_census *census = &report->processes.items[i];
		uint64_t sum = 0;

		if (!census->goroutines || census->goroutines->why)
			continue;
		for (size_t j = 0; j < census->goroutines->groups.count; j++) {
			const struct goroutine_group *group = &census->goroutines->groups.items[j];

			sum += group->growth.verdict == TREND_LEAKING ? group->count : 0;
		}
		process_labels(out, "goroutines_leaking", census);
		fprintf(out, "} %" PRIu64 "\n", sum);
	}
}

int prom_threads_write(FILE *out, const void *data)
{
	const struct thread_report *report = data;
	const struct prom_series goroutines = {report->processes.count, goroutines_row,
					       series_labels};
	const struct prom_series censuses = {report->processes.count, census_row, series_labels};
	int error = groups_write(out, report);

	if (error)
		return error;
	prom_series_write(out, &goroutine_report_figures, &goroutines, report);
	leaking_write(out, report);
	prom_series_write(out, &thread_count_figures, &censuses, report);
	prom_time_write(out, &report->time);
	prom_build_info_write(out);
	return output_finish(out);
}
