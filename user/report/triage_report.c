// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/triage_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What was not asked about is tracked as well. */
bool triage_site_counts(const struct triage_sites *sites, const struct site *site)
{
	return site->family == (sites->kind == QUANTITY_MAPPING ? FAMILY_MAPPING : FAMILY_HEAP);
}

double triage_site_share(const struct triage_sites *sites, const struct site *site)
{
	double grown = sites->growth_per_s * sites->counted_s;
	uint64_t kept = sites->kind == QUANTITY_MAPPING ? site->count : site->bytes;

	return grown > 0 && triage_site_counts(sites, site) ? (double)kept / grown : 0;
}

/*
 * sampled   what was sampled
 * unit      of what was added; NULL: bytes
 * next      what shows more: its PID goes where %d stands
 */
static const struct {
	const char *sampled, *unit, *next;
} sampling[] = {
	[QUANTITY_HEAP] = {"page faults", NULL, "leakmon -p %d"},
	[QUANTITY_MAPPING] = {"mmap", "mappings", "leakmon --mappings -p %d"},
	[QUANTITY_THREADS] = {"thread creation", "threads", "leakmon threads -p %d"},
	[QUANTITY_FILES] = {"open files", "files", "ls -l /proc/%d/fd"},
};
_Static_assert(ARRAY_SIZE(sampling) == QUANTITY_MAX_, "a row for every quantity");

const char *triage_samples_event(enum quantity kind)
{
	return sampling[kind].sampled;
}

const char *triage_samples_unit(enum quantity kind)
{
	return sampling[kind].unit;
}

/* So many stacks that came without a thread are no coincidence. */
#define ORPHANS_MIN 3

bool triage_samples_have_dead_threads(const struct triage_samples *sampled)
{
	return sampled->orphans_added >= ORPHANS_MIN;
}

char *triage_samples_next(const struct triage_entry *entry, char text[TRIAGE_NEXT_SIZE])
{
	enum quantity kind = triage_samples_have_dead_threads(entry->sampled)
				     ? QUANTITY_THREADS
				     : entry->sampled->kind;
	const char *format = sampling[kind].next;
	size_t head = strcspn(format, "%");

	snprintf(text, TRIAGE_NEXT_SIZE, "%.*s%d%s", (int)head, format, entry->pid,
		 format + head + 2);
	return text;
}
