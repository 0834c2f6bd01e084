// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `leakmon threads` for node-exporter's textfile collector: dead threads of each process; and the
 * goroutines of Go programs and virtual threads of JVMs by wait location: the largest groups, and
 * all suspects.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

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

struct task_metric {
	const char *name, *help, *leaking, *leaking_help;
	const struct task_kind *kind;
	size_t place; /* offset in a census */
};

static const struct task_metric metrics[] = {
	{"goroutines", "Goroutines by where they wait.", "goroutines_leaking",
	 "Goroutines in groups that grow all the time and of which none has ended.",
	 &task_goroutines, offsetof(struct thread_census, goroutines)},
	{"virtual_threads", "Virtual threads of a JVM by where they wait.",
	 "virtual_threads_leaking",
	 "Virtual threads in groups that grow all the time and of which none has ended.",
	 &task_virtual_threads, offsetof(struct thread_census, virtual_threads)},
};

static const struct task_report *tasks_of(const struct thread_report *report, size_t process,
					  size_t place)
{
	const struct task_report *found;

	memcpy(&found, (const char *)&report->processes.items[process] + place, sizeof(found));
	return found;
}

static int group_write(FILE *out, const struct task_metric *metric,
		       const struct thread_census *census, const struct task_group *group)
{
	int error;

	process_labels(out, metric->name, census);
	prom_label(out, "state", group->state, ",");
	error = prom_place_label(out, "waits_at", metric->kind->place(&group->stack));
	if (!error)
		error = prom_place_label(out, "created_by", metric->kind->place(&group->creator));
	/* Groups with the same labels may have different stacks. */
	fprintf(out, ",group=\"%016" PRIx64 "\"} %" PRIu64 "\n", group->id, group->count);
	return error;
}

static bool is_shown(const struct task_report *report, size_t group)
{
	return group < TOP_GROUPS || trend_is_suspect(report->groups.items[group].growth.verdict);
}

static int groups_write(FILE *out, const struct task_metric *metric,
			const struct thread_report *report)
{
	int error = 0;

	prom_header(out, metric->name, "gauge", metric->help);
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct task_report *found = tasks_of(report, i, metric->place);

		for (size_t j = 0; !error && found && j < found->groups.count; j++) {
			if (is_shown(found, j))
				error = group_write(out, metric, &report->processes.items[i],
						    &found->groups.items[j]);
		}
	}
	return error;
}

static const void *goroutines_row(const void *report, size_t i)
{
	return ((const struct thread_report *)report)->processes.items[i].goroutines;
}

static const void *virtual_row(const void *report, size_t i)
{
	return ((const struct thread_report *)report)->processes.items[i].virtual_threads;
}

static const void *census_row(const void *report, size_t i)
{
	return &((const struct thread_report *)report)->processes.items[i];
}

static void series_labels(FILE *out, const void *report, size_t i)
{
	labels_write(out, census_row(report, i));
}

static void leaking_write(FILE *out, const struct task_metric *metric,
			  const struct thread_report *report)
{
	prom_header(out, metric->leaking, "gauge", metric->leaking_help);
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct task_report *found = tasks_of(report, i, metric->place);
		uint64_t sum = 0;

		if (!found || found->why)
			continue;
		for (size_t j = 0; j < found->groups.count; j++) {
			const struct task_group *group = &found->groups.items[j];

			sum += group->growth.verdict == TREND_LEAKING ? group->count : 0;
		}
		process_labels(out, metric->leaking, &report->processes.items[i]);
		fprintf(out, "} %" PRIu64 "\n", sum);
	}
}

int prom_threads_write(FILE *out, const void *data)
{
	const struct thread_report *report = data;
	const struct prom_series goroutines = {report->processes.count, goroutines_row,
					       series_labels};
	const struct prom_series virtual = {report->processes.count, virtual_row, series_labels};
	const struct prom_series censuses = {report->processes.count, census_row, series_labels};
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(metrics); i++)
		error = groups_write(out, &metrics[i], report);
	if (error)
		return error;
	prom_series_write(out, &task_report_figures, &goroutines, report);
	prom_series_write(out, &task_virtual_metrics, &virtual, report);
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
		leaking_write(out, &metrics[i], report);
	prom_series_write(out, &thread_count_figures, &censuses, report);
	prom_time_write(out, &report->time);
	prom_build_info_write(out);
	return output_finish(out);
}
