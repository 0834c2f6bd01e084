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
#include "report/thread_report.h"

#define TOP_GROUPS 10

static void process_labels(FILE *out, const char *metric, const struct thread_census *census)
{
	fprintf(out, "leakmon_%s", metric);
	prom_label(out, "comm", census->comm, "{");
	fprintf(out, ",pid=\"%" PRIu32 "\"", census->pid);
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

static void totals_write(FILE *out, const struct thread_report *report)
{
	prom_header(out, "process_goroutines", "gauge", "All goroutines but the runtime's own.");
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct thread_census *census = &report->processes.items[i];

		if (!census->goroutines || census->goroutines->why)
			continue;
		process_labels(out, "process_goroutines", census);
		fprintf(out, "} %" PRIu64 "\n", census->goroutines->count);
	}
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

static void dead_write(FILE *out, const struct thread_report *report)
{
	prom_header(out, "dead_threads", "gauge", "Threads that ended and were never joined.");
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct thread_census *census = &report->processes.items[i];

		if (census->why)
			continue;
		process_labels(out, "dead_threads", census);
		fprintf(out, "} %zu\n", census->dead.count);
	}
}

int prom_threads_write(FILE *out, const void *data)
{
	const struct thread_report *report = data;
	int error = groups_write(out, report);

	if (error)
		return error;
	totals_write(out, report);
	dead_write(out, report);
	prom_time_write(out, &report->time);
	prom_build_info_write(out);
	return output_finish(out);
}
