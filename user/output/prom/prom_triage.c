// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Triage for node-exporter's textfile collector: the number of processes with each verdict, and the
 * growth of suspects, which are few. Suspects of one name, place, kind and verdict share a series:
 * their growth is summed, and their confidence is the maximum.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "output/output.h"
#include "output/prom/prom.h"
#include "report/figures.h"
#include "report/triage_report.h"

/* Suspects per scope; the most urgent come first. */
#define TOP_SUSPECTS 20

struct suspect {
	const char *scope;
	const struct triage_entry *entry; /* the first of them, for the labels */
	double per_s, memory_per_s, confidence, memory_bytes;
	double warming_up;		     /* number of them that warm up */
	const struct task_group *goroutines; /* of the first that has any */
	uint64_t goroutine_count;	     /* of all of them */
};

struct suspects {
	struct suspect *items;
	size_t count, capacity;
};

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static const char *container_id(const struct triage_entry *entry)
{
	return container_proven_id(entry->container);
}

static bool same_series(const struct triage_entry *a, const struct triage_entry *b)
{
	return a->growth.kind == b->growth.kind &&
	       !strcmp(triage_entry_verdict(a), triage_entry_verdict(b)) &&
	       same_text(a->comm, b->comm) && same_text(a->cgroup, b->cgroup) &&
	       same_text(container_id(a), container_id(b));
}

static struct suspect *suspect_find(struct suspects *suspects, const char *scope,
				    const struct triage_entry *entry)
{
	for (size_t i = 0; i < suspects->count; i++) {
		struct suspect *suspect = &suspects->items[i];

		if (suspect->scope == scope && same_series(suspect->entry, entry))
			return suspect;
	}
	return NULL;
}

static int suspects_collect(struct suspects *suspects, const char *scope,
			    const struct triage_entries *entries)
{
	size_t before = suspects->count;

	for (size_t i = 0; i < entries->count; i++) {
		const struct triage_entry *entry = &entries->items[i];
		struct suspect *suspect;

		if (!trend_is_suspect(entry->growth.verdict))
			continue;
		suspect = suspect_find(suspects, scope, entry);
		if (!suspect && suspects->count - before == TOP_SUSPECTS)
			continue;
		if (!suspect)
			suspect = vec_push(suspects);
		if (!suspect)
			return -ENOMEM;
		if (!suspect->entry)
			*suspect = (struct suspect){.scope = scope, .entry = entry};
		suspect->per_s += entry->growth.per_s;
		suspect->memory_per_s += entry->growth.memory_per_s;
		suspect->confidence = fmax(suspect->confidence, entry->growth.confidence);
		suspect->warming_up += entry->growth.warms_up;
		if (entry->goroutines) {
			suspect->goroutine_count += entry->goroutines->count;
			if (!suspect->goroutines)
				suspect->goroutines = entry->goroutines;
		}
		if (!isnan(entry->now.values[QUANTITY_HEAP]))
			suspect->memory_bytes += entry->now.values[QUANTITY_HEAP];
	}
	return 0;
}

static void suspect_labels(FILE *out, const struct suspect *suspect)
{
	const struct triage_entry *entry = suspect->entry;

	prom_label(out, "scope", suspect->scope, "{");
	prom_label(out, "comm", entry->comm, ",");
	prom_label(out, "cgroup", entry->cgroup, ",");
	prom_container_labels(out, entry->container);
	prom_label(out, "kind", growth_kind_name(entry->growth.kind), ",");
	prom_label(out, "verdict", triage_entry_verdict(entry), ",");
}

static void suspects_write(FILE *out, const struct suspects *suspects)
{
	static const struct {
		const char *name, *help;
		size_t offset;
	} metrics[] = {
		{"suspect_growth_per_second",
		 "Growth of the kind: bytes of heap, mappings, threads, files, charged bytes.",
		 offsetof(struct suspect, per_s)},
		{"suspect_memory_growth_bytes_per_second", "Growth of anonymous memory.",
		 offsetof(struct suspect, memory_per_s)},
		{"suspect_memory_bytes", "Anonymous memory, resident and swapped out.",
		 offsetof(struct suspect, memory_bytes)},
		{"suspect_confidence_ratio", "That the growth is real and goes on.",
		 offsetof(struct suspect, confidence)},
		{"suspect_warming_up_processes",
		 "How many of them started lately, and grow slower since.",
		 offsetof(struct suspect, warming_up)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		prom_header(out, metrics[i].name, "gauge", metrics[i].help);
		for (size_t j = 0; j < suspects->count; j++) {
			const struct suspect *suspect = &suspects->items[j];
			const char *field = (const char *)suspect + metrics[i].offset;

			fprintf(out, "leakmon_%s", metrics[i].name);
			suspect_labels(out, suspect);
			fprintf(out, "} %.10g\n", *(const double *)(const void *)field);
		}
	}
}

/* Writes goroutines of suspects that are Go programs, if any. */
static int goroutines_write(FILE *out, const struct suspects *suspects)
{
	bool any = false;
	int error = 0;

	for (size_t i = 0; i < suspects->count && !error; i++) {
		const struct suspect *suspect = &suspects->items[i];

		if (!suspect->goroutines)
			continue;
		if (!any)
			prom_header(out, "suspect_goroutines", "gauge",
				    "Goroutines that become more and do not end.");
		any = true;
		fputs("leakmon_suspect_goroutines", out);
		suspect_labels(out, suspect);
		prom_label(out, "state", suspect->goroutines->state, ",");
		error = prom_place_label(out, "waits_at",
					 goroutine_place(&suspect->goroutines->stack));
		if (!error)
			error = prom_place_label(out, "created_by",
						 goroutine_place(&suspect->goroutines->creator));
		fprintf(out, "} %" PRIu64 "\n", suspect->goroutine_count);
	}
	return error;
}

/* Writes the kernel's charges to suspect groups, by parts. */
static void split_write(FILE *out, const struct suspects *suspects)
{
	prom_header(out, "suspect_group_bytes", "gauge",
		    "Memory that the kernel charges to a suspect control group, by parts.");
	for (size_t i = 0; i < suspects->count; i++) {
		const struct triage_entry *entry = suspects->items[i].entry;
		struct triage_part parts[TRIAGE_PARTS_MAX];
		size_t count = entry->split ? triage_split_parts(entry->split, parts) : 0;

		for (size_t j = 0; j < count; j++) {
			fputs("leakmon_suspect_group_bytes", out);
			prom_label(out, "cgroup", entry->cgroup, "{");
			prom_container_labels(out, entry->container);
			prom_label(out, "part", parts[j].name, ",");
			fprintf(out, "} %.10g\n", parts[j].bytes);
		}
	}
}

/*
 * Writes every verdict, even without a process: an alert needs a series before the first suspect.
 */
static void verdicts_write(FILE *out, const struct triage_report *report)
{
	const struct {
		const char *name, *help;
		const struct triage_entries *entries;
	} metrics[] = {
		{"triage_processes", "Processes by verdict.", &report->processes},
		{"triage_groups", "Containers and cgroups by verdict.", &report->groups},
	};

	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		prom_header(out, metrics[i].name, "gauge", metrics[i].help);
		for (unsigned verdict = 0; verdict < TREND_MAX_; verdict++)
			fprintf(out, "leakmon_%s{verdict=\"%s\"} %zu\n", metrics[i].name,
				trend_verdict_name(verdict), metrics[i].entries->verdicts[verdict]);
	}
}

/* Writes memory of the machine that belongs to no process; unknown parts are omitted. */
static void machine_write(FILE *out, const struct triage_machine *machine)
{
	prom_header(out, "machine_bytes", "gauge",
		    "Memory of the machine that is no process's, by parts.");
	for (size_t i = 0; i < MACHINE_DYING_GROUPS; i++) {
		if (isnan(machine->parts[i].now))
			continue;
		fprintf(out, "leakmon_machine_bytes{part=\"%s\"} %.10g\n", triage_machine_name(i),
			machine->parts[i].now);
	}
	prom_header(out, "machine_growth_bytes_per_second", "gauge",
		    "Growth of such a part, where it is more than chance.");
	for (size_t i = 0; i < MACHINE_DYING_GROUPS; i++) {
		if (trend_is_suspect(machine->parts[i].verdict))
			fprintf(out,
				"leakmon_machine_growth_bytes_per_second{part=\"%s\","
				"verdict=\"%s\"} %.10g\n",
				triage_machine_name(i),
				trend_verdict_name(machine->parts[i].verdict),
				machine->parts[i].per_s);
	}
	if (isnan(machine->parts[MACHINE_DYING_GROUPS].now))
		return;
	prom_header(out, "dying_cgroups", "gauge",
		    "Control groups that were removed, and that memory still holds.");
	fprintf(out, "leakmon_dying_cgroups %.10g\n", machine->parts[MACHINE_DYING_GROUPS].now);
}

static const void *limit_row(const void *report, size_t i)
{
	return ((const struct triage_report *)report)->limits.items[i].limit;
}

static void limit_labels(FILE *out, const void *report, size_t i)
{
	const struct triage_limit *near = &((const struct triage_report *)report)->limits.items[i];

	prom_label(out, "kind", limit_kind_name(near->limit->kind), "{");
	prom_label(out, "cgroup", near->limit->path, ",");
	prom_container_labels(out, near->container);
}

/* Writes the few limits that are near; a missing series means not near. */
static void limits_write(FILE *out, const struct triage_report *report)
{
	const struct prom_series series = {report->limits.count, limit_row, limit_labels};

	prom_series_write(out, &triage_limit_figures, &series, report);
}

static void shed_write(FILE *out, const struct triage_report *report)
{
	const struct {
		const char *name;
		bool shed;
	} rows[] = {
		{"mappings", report->shed_mappings},
		{"files", report->shed_files},
		{"polls", report->stretch > 1},
	};

	prom_header(out, "shed", "gauge", "1 for what is left out to keep to the budget.");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		fprintf(out, "leakmon_shed{what=\"%s\"} %d\n", rows[i].name, rows[i].shed);
}

static void cost_write(FILE *out, const struct triage_report *report)
{
	prom_figures_write(out, &triage_cost_figures, report);
	prom_monitor_write(out, report->cpu_s, report->resident_bytes, &report->time);
}

int prom_triage_write(FILE *out, const void *data)
{
	const struct triage_report *report = data;
	struct suspects suspects = {0};
	int error = suspects_collect(&suspects, "process", &report->processes);

	if (!error)
		error = suspects_collect(&suspects, "group", &report->groups);
	if (!error) {
		suspects_write(out, &suspects);
		split_write(out, &suspects);
		error = goroutines_write(out, &suspects);
	}
	if (!error) {
		verdicts_write(out, report);
		limits_write(out, report);
		if (report->machine)
			machine_write(out, report->machine);
		prom_kills_write(out, report->oom);
		prom_lost_reports_write(out, report->lost_reports);
		prom_pushed_write(out, &report->pushed);
		shed_write(out, report);
		cost_write(out, report);
		prom_build_info_write(out);
		error = output_finish(out);
	}
	vec_free(&suspects);
	return error;
}
