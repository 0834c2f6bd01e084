// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `leakmon memory` for node-exporter's textfile collector: of the greatest programs, processes of
 * one name and container together, how their resident memory splits; and, from the second reading
 * on, how many processes got which verdict.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "output/prom/prom.h"
#include "output/output.h"
#include "report/memory_report.h"

/* Programs; each has a series for every group. */
#define TOP_PROGRAMS 10

struct program {
	const struct memory_process *first; /* for the labels */
	uint64_t processes, rss, trimmable, page_tables, own;
	uint64_t groups[GROUP_RESIDENT_END];
	int64_t growth[GROUP_MAX_];
};

struct programs {
	VEC(struct program) list;
	uint64_t verdicts[MEMORY_VERDICT_MAX_];
	bool has_conclusions;
};

static const char *container_of(const struct memory_process *process)
{
	const char *id = container_proven_id(process->container);

	return id ? id : "";
}

static struct program *find_or_add(struct programs *programs, const struct memory_process *process)
{
	struct program *program;

	for (size_t i = 0; i < programs->list.count; i++) {
		program = &programs->list.items[i];
		if (!strcmp(program->first->comm, process->comm) &&
		    !strcmp(container_of(program->first), container_of(process)))
			return program;
	}
	program = vec_push(&programs->list);
	if (program)
		program->first = process;
	return program;
}

static int add(struct programs *programs, const struct memory_process *process)
{
	struct program *program = find_or_add(programs, process);

	if (!program)
		return -ENOMEM;
	program->processes++;
	program->rss += process->sum.rss;
	program->trimmable += memory_trimmable(process);
	program->page_tables += process->parts[MEMORY_PAGE_TABLES].resident;
	program->own += memory_own(process);
	for (size_t i = 0; i < GROUP_RESIDENT_END; i++)
		program->groups[i] += memory_group_resident(process, i);
	if (!process->has_conclusion)
		return 0;
	programs->has_conclusions = true;
	programs->verdicts[process->conclusion.verdict]++;
	for (size_t i = 0; i < GROUP_MAX_; i++)
		program->growth[i] += process->conclusion.growth.groups[i];
	return 0;
}

static int by_rss(const void *left_pointer, const void *right_pointer)
{
	const struct program *left = left_pointer, *right = right_pointer;

	if (left->rss != right->rss)
		return left->rss > right->rss ? -1 : 1;
	return left->first->pid - right->first->pid;
}

static void labels_write(FILE *out, const char *metric, const struct program *program)
{
	fprintf(out, "leakmon_%s", metric);
	prom_label(out, "comm", program->first->comm, "{");
	prom_container_labels(out, program->first->container);
}

static void sums_write(FILE *out, const struct programs *programs)
{
	static const struct {
		const char *name, *help;
		size_t offset;
	} metrics[] = {
		{"memory_rss_bytes", "Resident memory, as the kernel counts it.",
		 offsetof(struct program, rss)},
		{"memory_trimmable_bytes", "Free inside malloc, and could be given back.",
		 offsetof(struct program, trimmable)},
		{"memory_page_table_bytes", "Page tables, which are no part of resident memory.",
		 offsetof(struct program, page_tables)},
		{"memory_private_bytes", "Resident memory that no other process has.",
		 offsetof(struct program, own)},
		{"memory_processes", "Processes that these are the sums of.",
		 offsetof(struct program, processes)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		prom_header(out, metrics[i].name, "gauge", metrics[i].help);
		for (size_t j = 0; j < programs->list.count; j++) {
			const struct program *program = &programs->list.items[j];
			const char *field = (const char *)program + metrics[i].offset;

			labels_write(out, metrics[i].name, program);
			fprintf(out, "} %" PRIu64 "\n", *(const uint64_t *)(const void *)field);
		}
	}
}

static void groups_write(FILE *out, const struct programs *programs)
{
	prom_header(out, "memory_bytes", "gauge", "Resident memory by what it is used for.");
	for (size_t i = 0; i < programs->list.count; i++) {
		for (size_t group = 0; group < GROUP_RESIDENT_END; group++) {
			labels_write(out, "memory_bytes", &programs->list.items[i]);
			prom_label(out, "part", memory_group_name(group), ",");
			fprintf(out, "} %" PRIu64 "\n", programs->list.items[i].groups[group]);
		}
	}
}

static void growth_write(FILE *out, const struct programs *programs)
{
	if (!programs->has_conclusions)
		return;
	prom_header(out, "memory_growth_bytes", "gauge",
		    "Growth since the first reading: resident, in swap, page tables, unshared.");
	for (size_t i = 0; i < programs->list.count; i++) {
		for (size_t group = 0; group < GROUP_MAX_; group++) {
			labels_write(out, "memory_growth_bytes", &programs->list.items[i]);
			prom_label(out, "part", memory_group_name(group), ",");
			fprintf(out, "} %" PRId64 "\n", programs->list.items[i].growth[group]);
		}
	}
	prom_header(out, "memory_verdict_processes", "gauge",
		    "Processes by what their memory has grown by.");
	for (size_t i = 0; i < MEMORY_VERDICT_MAX_; i++)
		fprintf(out, "leakmon_memory_verdict_processes{verdict=\"%s\"} %" PRIu64 "\n",
			memory_verdict_name(i), programs->verdicts[i]);
}

int prom_memory_write(FILE *out, const void *data)
{
	const struct memory_report *report = data;
	struct programs programs = {0};
	int error = 0;

	for (size_t i = 0; !error && i < report->processes.count; i++)
		error = add(&programs, &report->processes.items[i]);
	if (!error && programs.list.count)
		qsort(programs.list.items, programs.list.count, sizeof(*programs.list.items),
		      by_rss);
	programs.list.count = MIN(programs.list.count, (size_t)TOP_PROGRAMS);
	if (!error) {
		groups_write(out, &programs);
		sums_write(out, &programs);
		growth_write(out, &programs);
		prom_time_write(out, &report->time);
		prom_build_info_write(out);
		error = output_finish(out);
	}
	vec_free(&programs.list);
	return error;
}
