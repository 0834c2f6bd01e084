// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/triage_report.h"

#include <stdlib.h>

#include "base/cleanup.h"

const char *growth_kind_name(enum quantity kind)
{
	static const char *const names[] = {
		[QUANTITY_HEAP] = "heap",
		[QUANTITY_MAPPING] = "mapping",
		[QUANTITY_THREADS] = "threads",
		[QUANTITY_FILES] = "files",
	};
	_Static_assert(ARRAY_SIZE(names) == QUANTITY_MAX_, "a name for every quantity");

	return names[kind];
}

bool growth_is_early(const struct growth *growth)
{
	return growth->verdict == TREND_TOO_EARLY && growth->early.grows;
}

const char *limit_kind_name(enum limit_kind kind)
{
	static const char *const names[] = {
		[LIMIT_MAX] = "memory.max",
		[LIMIT_HIGH] = "memory.high",
		[LIMIT_MACHINE] = "machine",
	};
	_Static_assert(ARRAY_SIZE(names) == LIMIT_KIND_MAX_, "a name for every kind");

	return names[kind];
}

const char *triage_entry_verdict(const struct triage_entry *entry)
{
	if (entry->cause && entry->cause->no_leak && trend_is_suspect(entry->growth.verdict))
		return entry->cause->verdict;
	return trend_verdict_name(entry->growth.verdict);
}

void triage_samples_free(struct triage_samples *samples)
{
	for (size_t i = 0; i < samples->stacks.count; i++) {
		free(samples->stacks.items[i].site.addresses);
		vec_free(&samples->stacks.items[i].named.frames.list);
	}
	vec_free(&samples->stacks);
	for (size_t i = 0; i < samples->files.count; i++)
		free(samples->files.items[i].name);
	vec_free(&samples->files);
}

void triage_report_free(struct triage_report *report)
{
	free(report->processes.items);
	free(report->groups.items);
	vec_free(&report->limits);
	*report = (struct triage_report){0};
}
