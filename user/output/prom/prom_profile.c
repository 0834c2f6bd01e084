// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profile for node-exporter's textfile collector: the call stacks that grow most, with processes
 * of one name combined, and the cost of the profile.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "report/profile_report.h"
#include "output/prom/prom.h"
#include "output/output.h"
#include "process/symbol/site_label.h"

#define TOP_SITES 10

/* Sites with the same call stack, in processes of the same name. */
struct series {
	const char *comm, *function;
	uint64_t id;
	enum profile_verdict verdict; /* the most severe one */
	double growth, low, high, births;
};

struct series_list {
	VEC(struct series) list;
};

static struct series *series_find(struct series_list *all, const char *comm, uint64_t id)
{
	for (size_t i = 0; i < all->list.count; i++) {
		struct series *series = &all->list.items[i];

		if (series->id == id && !strcmp(series->comm, comm))
			return series;
	}
	return NULL;
}

static int series_add(struct series_list *all, const char *comm,
		      const struct profile_report_site *site)
{
	const struct site_judgement *judgement = &site->judgement;
	struct series *series = series_find(all, comm, site->id);

	if (!series) {
		series = vec_push(&all->list);
		if (!series)
			return -ENOMEM;
		*series = (struct series){.comm = comm,
					  .function = site_label_function(&site->frames),
					  .id = site->id};
	}
	if (judgement->verdict > series->verdict)
		series->verdict = judgement->verdict;
	series->growth += judgement->growth_bytes_per_s.estimate;
	series->low += judgement->growth_bytes_per_s.low;
	series->high += judgement->growth_bytes_per_s.high;
	series->births += judgement->births_per_s.estimate;
	return 0;
}

static int by_growth(const void *left, const void *right)
{
	const struct series *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? 1 : -1;
	return a->growth < b->growth ? 1 : a->growth > b->growth ? -1 : 0;
}

static void sites_write(FILE *out, const struct series_list *all)
{
	static const struct {
		const char *name, *help;
		size_t offset;
	} metrics[] = {
		{"profile_site_growth_bytes_per_second",
		 "Blocks that come and stay untouched, by call stack.",
		 offsetof(struct series, growth)},
		{"profile_site_growth_low_bytes_per_second", "Its lower limit, of 95 %.",
		 offsetof(struct series, low)},
		{"profile_site_growth_high_bytes_per_second", "Its upper limit, of 95 %.",
		 offsetof(struct series, high)},
		{"profile_site_births_per_second", "Allocations, by call stack.",
		 offsetof(struct series, births)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		prom_header(out, metrics[i].name, "gauge", metrics[i].help);
		for (size_t j = 0; j < all->list.count && j < TOP_SITES; j++) {
			const struct series *series = &all->list.items[j];
			const char *field = (const char *)series + metrics[i].offset;
			char id[17];

			snprintf(id, sizeof(id), "%016" PRIx64, series->id);
			fprintf(out, "leakmon_%s", metrics[i].name);
			prom_label(out, "comm", series->comm, "{");
			prom_function_label(out, series->function);
			prom_label(out, "site", id, ",");
			prom_label(out, "verdict", profile_verdict_name(series->verdict), ",");
			fprintf(out, "} %.10g\n", *(const double *)(const void *)field);
		}
	}
}

static void verdicts_write(FILE *out, const struct profile_report *report)
{
	size_t counts[PROFILE_VERDICT_MAX_] = {0};

	for (size_t i = 0; i < report->processes.count; i++) {
		for (size_t j = 0; j < report->processes.items[i].sites.count; j++)
			counts[report->processes.items[i].sites.items[j].judgement.verdict]++;
	}
	prom_header(out, "profile_sites", "gauge", "Call stacks by verdict.");
	for (unsigned verdict = 0; verdict < PROFILE_VERDICT_MAX_; verdict++)
		fprintf(out, "leakmon_profile_sites{verdict=\"%s\"} %zu\n",
			profile_verdict_name(verdict), counts[verdict]);
}

static void cost_write(FILE *out, const struct profile_report *report)
{
	const struct prom_value rows[] = {
		{"profile_overhead_limit_ratio", "gauge",
		 "Share of the processes' CPU time that the profile may cost.", report->limit},
		{"profile_overhead_spent_ratio", "gauge", "Share that it has cost.", report->spent},
		{"profile_windows", "gauge", "Windows in which everything was tracked.",
		 (double)report->windows},
		{"profile_tracked_seconds", "gauge", "Their length in all.", report->tracked_s},
		{"profile_samples", "gauge", "Blocks that are followed.", (double)report->samples},
	};

	prom_values_write(out, rows, ARRAY_SIZE(rows));
	prom_monitor_write(out, report->cpu_s, report->rss_bytes, &report->time);
}

int prom_profile_write(FILE *out, const void *data)
{
	const struct profile_report *report = data;
	struct series_list all = {0};
	int error = 0;

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct profile_report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count && !error; j++)
			error = series_add(&all, process->comm, &process->sites.items[j]);
	}
	if (!error) {
		if (all.list.count)
			qsort(all.list.items, all.list.count, sizeof(*all.list.items), by_growth);
		sites_write(out, &all);
		verdicts_write(out, report);
		prom_kills_write(out, report->oom);
		prom_lost_reports_write(out, report->lost_reports);
		prom_pushed_write(out, &report->pushed);
		cost_write(out, report);
		prom_build_info_write(out);
		error = output_finish(out);
	}
	vec_free(&all.list);
	return error;
}
