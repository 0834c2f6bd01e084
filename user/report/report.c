// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/report.h"

#include <stdlib.h>

static void site_free(struct report_site *site)
{
	vec_free(&site->frames.list);
	vec_free(&site->blocks);
	for (size_t i = 0; i < site->owners.count; i++)
		free(site->owners.items[i].cgroup);
	vec_free(&site->owners);
}

static void cut_process(struct report_process *process, size_t top)
{
	size_t kept = 0, shown[FAMILY_MAX_] = {0};

	for (size_t i = 0; i < process->sites.count; i++) {
		struct report_site *site = &process->sites.items[i];

		if (shown[site->site->family]++ < top)
			process->sites.items[kept++] = *site;
		else
			site_free(site);
	}
	process->sites.count = kept;
}

void report_cut(struct report *report, size_t top)
{
	for (size_t i = 0; top && i < report->processes.count; i++)
		cut_process(&report->processes.items[i], top);
}

static void report_process_free(struct report_process *process)
{
	for (size_t i = 0; i < process->sites.count; i++)
		site_free(&process->sites.items[i]);
	for (size_t i = 0; i < process->suppressed.count; i++)
		site_free(&process->suppressed.items[i]);
	vec_free(&process->sites);
	vec_free(&process->suppressed);
	for (size_t i = 0; i < process->dead.count; i++) {
		vec_free(&process->dead.items[i].stack.list);
		vec_free(&process->dead.items[i].start.list);
	}
	vec_free(&process->dead);
}

void report_free(struct report *report)
{
	for (size_t i = 0; i < report->processes.count; i++)
		report_process_free(&report->processes.items[i]);
	free(report->processes.items);
	*report = (struct report){0};
}

struct suppressed_total report_suppressed(const struct report_process *process)
{
	struct suppressed_total total = {0};

	for (size_t i = 0; i < process->suppressed.count; i++) {
		total.bytes += process->suppressed.items[i].site->bytes;
		total.blocks += process->suppressed.items[i].site->count;
	}
	return total;
}

uint64_t report_suppressed_heap_bytes(const struct report *report)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->suppressed.count; j++) {
			const struct site *site = process->suppressed.items[j].site;

			bytes += site->family == FAMILY_HEAP ? site->bytes : 0;
		}
	}
	return bytes;
}
