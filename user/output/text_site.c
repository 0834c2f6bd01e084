// SPDX-License-Identifier: GPL-2.0-or-later
/* The call stacks of a process that hold most, with what they hold. */
#include <inttypes.h>
#include <time.h>

#include "base/cleanup.h"
#include "output/text_parts.h"
#include "output/trend_parts.h"

#define NS_PER_S UINT64_C(1000000000)

/* Cut, not rounded: "60.0 s" would be a minute. */
static void age_write(FILE *out, uint64_t age_ns)
{
	static const struct {
		uint64_t below_ns, unit_ns;
		const char *unit;
	} scales[] = {
		{60 * NS_PER_S, NS_PER_S, "s"},
		{3600 * NS_PER_S, 60 * NS_PER_S, "min"},
		{48 * 3600 * NS_PER_S, 3600 * NS_PER_S, "h"},
		{UINT64_MAX, 24 * 3600 * NS_PER_S, "d"},
	};
	size_t i = 0;

	if (age_ns < NS_PER_S) {
		fprintf(out, "%" PRIu64 " ms", age_ns / (NS_PER_S / 1000));
		return;
	}
	while (i < ARRAY_SIZE(scales) - 1 && age_ns >= scales[i].below_ns)
		i++;
	fprintf(out, "%" PRIu64 ".%" PRIu64 " %s", age_ns / scales[i].unit_ns,
		age_ns / (scales[i].unit_ns / 10) % 10, scales[i].unit);
}

static void blocks_write(FILE *out, const struct report_site *ranked, bool has_ages)
{
	for (size_t i = 0; i < ranked->blocks.count; i++) {
		const struct block *block = &ranked->blocks.items[i];

		fprintf(out, "\taddr = %" PRIx64 " size = %" PRIu64, block->address, block->size);
		if (has_ages) {
			fputs(" age = ", out);
			age_write(out, block->age_ns);
		}
		if (block->by_dead)
			fputs(" by a thread that has ended", out);
		fputc('\n', out);
	}
}

/* What a row of each family counts. */
static const char *const family_nouns[] = {
	[FAMILY_HEAP] = "allocations",
	[FAMILY_MAPPING] = "mappings",
	[FAMILY_KERNEL] = "allocations",
};
_Static_assert(ARRAY_SIZE(family_nouns) == FAMILY_MAX_, "a noun for every family");

static void kind_write(FILE *out, const struct site *site)
{
	if (!kind_name(site->kind))
		return;
	fputs(kind_name(site->kind), out);
	if (kind_note(site->kind))
		fprintf(out, " (%s)", kind_note(site->kind));
	fputs("; ", out);
}

void output_text_site_write(FILE *out, const struct report *report,
			    const struct report_site *ranked)
{
	const struct site *site = ranked->site;
	bool has_ages = report->snapshot->has_ages;

	if (report->show_allocs)
		blocks_write(out, ranked, has_ages);
	fprintf(out, "\t%" PRIu64 " bytes in %" PRIu64 " %s from stack\n\t\t", site->bytes,
		site->count, family_nouns[site->family]);
	kind_write(out, site);
	if (has_ages) {
		fputs("oldest ", out);
		age_write(out, site->oldest_ns);
		fputs("; ", out);
	}
	if (site->family == FAMILY_MAPPING)
		fprintf(out, "mapped %" PRIu64 " bytes in %" PRIu64 " calls since attach\n",
			site->allocated_bytes, site->allocated_count);
	else
		fprintf(out, "allocated %" PRIu64 ", freed %" PRIu64 " since attach\n",
			site->allocated_count, site->freed_count);
	if (site->by_dead_count)
		fprintf(out,
			"\t\t%" PRIu64 " bytes in %" PRIu64 " of them by threads that have ended\n",
			site->by_dead_bytes, site->by_dead_count);
	output_text_trend_write(out, report, ranked);
	output_text_stack_write(out, report->colour, ranked);
}

static void cut_write(FILE *out, const struct report_process *ranked, enum site_family family,
		      size_t shown)
{
	uint64_t bytes = 0;

	if (shown == ranked->family_totals[family])
		return;
	for (size_t i = 0; i < ranked->process->sites.count; i++) {
		if (ranked->process->sites.items[i].family == family)
			bytes += ranked->process->sites.items[i].bytes;
	}
	for (size_t i = 0; i < ranked->sites.count; i++) {
		if (ranked->sites.items[i].site->family == family)
			bytes -= ranked->sites.items[i].site->bytes;
	}
	fprintf(out, "\t… and %zu more stacks (%" PRIu64 " bytes)\n",
		ranked->family_totals[family] - shown, bytes);
}

void text_heading_write(FILE *out, const struct report *report, enum site_family family,
			size_t sites)
{
	const struct text_style *style = text_style(report->colour);
	struct tm local = {0};
	char clock[16];

	localtime_r(&report->snapshot->time.tv_sec, &local);
	strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	fprintf(out, "%s[%s] Top %zu stacks with outstanding %s:%s\n", style->bold, clock, sites,
		family_nouns[family], style->plain);
}

void text_family_write(FILE *out, const struct report *report, const struct report_process *ranked,
		       enum site_family family)
{
	size_t shown = 0;

	for (size_t i = 0; i < ranked->sites.count; i++)
		shown += ranked->sites.items[i].site->family == family;
	text_heading_write(out, report, family, shown);
	for (size_t i = 0; i < ranked->sites.count; i++) {
		if (ranked->sites.items[i].site->family == family)
			output_text_site_write(out, report, &ranked->sites.items[i]);
	}
	cut_write(out, ranked, family, shown);
}
