// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/text/text.h"

#include <inttypes.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "report/memory_split.h"

void text_split_write(FILE *out, const struct memory_series *series)
{
	const struct memory_split *split = series ? memory_series_latest(series) : NULL;
	char clock[TEXT_TIME_SIZE], bytes[16];
	const char *before = ": ";
	uint64_t tables;

	if (!split)
		return;
	tables = memory_split_group(split, GROUP_PAGE_TABLES);
	text_clock(clock, split->time.tv_sec);
	fprintf(out, "memory at %s: %s resident, ", clock,
		units_bytes(bytes, (double)split->rss, ""));
	fprintf(out, "%s in swap", units_bytes(bytes, (double)split->swap, ""));
	for (size_t i = 0; i < GROUP_RESIDENT_END; i++) {
		uint64_t resident = memory_split_group(split, i);

		if (!split->rss || resident * 100 < split->rss)
			continue;
		fprintf(out, "%s%s %s (%.0f %%)", before, memory_group_words(i),
			units_bytes(bytes, (double)resident, ""),
			100 * (double)resident / (double)split->rss);
		before = ", ";
	}
	if (tables * 100 >= split->rss && tables)
		fprintf(out, "; page tables (no part of Rss) %s",
			units_bytes(bytes, (double)tables, ""));
	fputc('\n', out);
	if (split->why)
		fputs("\tnot known: ", out), text_print_inert(out, split->why), fputc('\n', out);
	if (series->has_conclusion)
		fprintf(out, "\t%s\n", series->conclusion.text);
}

/* -------- differences */

static void change_write(FILE *out, const struct memory_change *change)
{
	char was[16], is[16], grown[16];
	const char *before = ": ";

	fputs("\t", out);
	text_print_inert(out, change->comm);
	if (change->pid)
		fprintf(out, " (%d)", (int)change->pid);
	else if (change->processes != 1 || change->processes_before != 1)
		fprintf(out, " (%zu processes -> %zu)", change->processes_before,
			change->processes);
	fprintf(out, ": %s -> %s resident, %s", units_bytes(was, (double)change->rss_before, ""),
		units_bytes(is, (double)change->rss, ""),
		units_bytes(grown, (double)(int64_t)(change->rss - change->rss_before), "+"));
	for (size_t i = 0; i < GROUP_AMOUNT_END; i++) {
		int64_t growth = (int64_t)(change->groups[i] - change->groups_before[i]);

		if (!growth)
			continue;
		fprintf(out, "%s%s %s", before, memory_group_words(i),
			units_bytes(grown, (double)growth, "+"));
		before = ", ";
	}
	fputc('\n', out);
	if (change->has_conclusion && change->conclusion.verdict != MEMORY_STEADY)
		fprintf(out, "\t\t%s\n", change->conclusion.text);
}

void text_split_changes_write(FILE *out, const struct memory_changes *changes, size_t top)
{
	size_t count = changes->list.count, shown = top ? MIN(count, top) : count;

	if (count)
		fputs("where memory is:\n", out);
	for (size_t i = 0; i < shown; i++)
		change_write(out, &changes->list.items[i]);
	if (shown < count)
		fprintf(out, "\t\xe2\x80\xa6 and %zu more\n", count - shown);
}

void text_managed_share_write(FILE *out, pid_t pid, const struct managed_share *share)
{
	char heap[16], all[16], tool[RUNTIME_TOOL_SIZE];

	if (!share->runtime.key)
		return;
	fprintf(out, "native memory only; %s of %s are the heap of the %s: %s\n",
		units_bytes(heap, (double)share->heap_bytes, ""),
		units_bytes(all, (double)share->anonymous_bytes, ""), share->runtime.name,
		runtime_label_tool(&share->runtime, pid, tool));
}
