// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For people, and for scripts that read memleak: its two lines, "[HH:MM:SS] Top N stacks with
 * outstanding allocations:" and "B bytes in K allocations from stack", stand alone on their lines.
 */
#include <inttypes.h>
#include <stddef.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "output/formats.h"
#include "proc/container.h"
#include "output/text_mapping.h"
#include "output/trend_parts.h"

#define NS_PER_S UINT64_C(1000000000)

struct style {
	const char *bold, *dim, *plain;
};

static const struct style styles[] = {
	[false] = {"", "", ""},
	[true] = {"\033[1m", "\033[2m", "\033[0m"},
};

static const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

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

static void frame_write_named(FILE *out, const struct style *style, const struct frame *frame)
{
	text_print_inert(out, frame->function);
	/* An inlined function has no start to count from; what the kernel called has no offset. */
	if (frame->inlined)
		fputs(" (inlined)", out);
	else if (strcmp(frame->function, FRAME_SIGNAL_HANDLER) != 0)
		fprintf(out, "%s+0x%" PRIx64 "%s", style->dim, frame->offset, style->plain);
	if (frame->file) {
		fputc(' ', out);
		text_print_inert(out, frame->file);
		if (frame->line)
			fprintf(out, ":%" PRIu32, frame->line);
	}
	if (frame->module) {
		fprintf(out, " %s[", style->dim);
		text_print_inert(out, path_base(frame->module));
		fprintf(out, "]%s", style->plain);
	}
}

static void frame_write_unnamed(FILE *out, const struct style *style, const struct frame *frame)
{
	fputs(style->dim, out);
	if (frame->module) {
		fputc('[', out);
		text_print_inert(out, path_base(frame->module));
		fprintf(out, "+0x%" PRIx64 "]", frame->module_offset);
	} else {
		fprintf(out, "0x%" PRIx64, frame->address);
	}
	fputs(style->plain, out);
	if (frame->why) {
		fputs(" (", out);
		text_print_inert(out, frame->why);
		fputc(')', out);
	}
}

static void frame_write(FILE *out, const struct style *style, const struct frame *frame)
{
	fputs("\t\t", out);
	if (frame->function)
		frame_write_named(out, style, frame);
	else
		frame_write_unnamed(out, style, frame);
	fputc('\n', out);
}

void output_text_stack_write(FILE *out, bool colour, const struct report_site *ranked)
{
	const struct style *style = &styles[colour];
	const struct site *site = ranked->site;

	if (site->lost)
		fprintf(out, "\t\t[lost: %s]\n", lost_name(site->lost));
	for (size_t i = 0; i < ranked->frames.list.count; i++)
		frame_write(out, style, &ranked->frames.list.items[i]);
	for (size_t i = 0; !ranked->frames.list.count && i < site->depth; i++)
		frame_write(out, style,
			    &(struct frame){.address = LM_FRAME_ADDRESS(site->addresses[i]),
					    .why = "not looked up"});
	if (site->end != LM_WALK_ROOT)
		fprintf(out, "\t\t[the stack ends early: %s]\n", walk_end_advice(site->end));
}

void output_text_frames_write(FILE *out, bool colour, const struct frames *frames)
{
	for (size_t i = 0; i < frames->list.count; i++)
		frame_write(out, &styles[colour], &frames->list.items[i]);
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

static void site_write(FILE *out, const struct report *report, const struct report_site *ranked)
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

static void heading_write(FILE *out, const struct report *report, enum site_family family,
			  size_t sites)
{
	const struct style *style = &styles[report->colour];
	struct tm local = {0};
	char clock[16];

	localtime_r(&report->snapshot->time.tv_sec, &local);
	strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	fprintf(out, "%s[%s] Top %zu stacks with outstanding %s:%s\n", style->bold, clock, sites,
		family_nouns[family], style->plain);
}

static void family_write(FILE *out, const struct report *report,
			 const struct report_process *ranked, enum site_family family)
{
	size_t shown = 0;

	for (size_t i = 0; i < ranked->sites.count; i++)
		shown += ranked->sites.items[i].site->family == family;
	heading_write(out, report, family, shown);
	for (size_t i = 0; i < ranked->sites.count; i++) {
		if (ranked->sites.items[i].site->family == family)
			site_write(out, report, &ranked->sites.items[i]);
	}
	cut_write(out, ranked, family, shown);
}

/* container NAME (pod NAMESPACE/POD) ID */
static void container_write(FILE *out, const struct container *container)
{
	fputs("container ", out);
	if (container->name)
		text_print_inert(out, container->name);
	if (container->pod) {
		fputs(container->name ? " (pod " : "(pod ", out);
		text_print_inert(out, container->namespace ? container->namespace : "?");
		fputc('/', out);
		text_print_inert(out, container->pod);
		fputc(')', out);
	}
	fprintf(out, "%s%.12s\n", container->name || container->pod ? " " : "", container->id);
}

static void process_write(FILE *out, const struct report *report,
			  const struct report_process *ranked)
{
	const struct snapshot_process *process = ranked->process;

	fprintf(out, "process %" PRIu32 " ", process->pid);
	text_print_inert(out, process->comm);
	if (process->exited)
		fputs(" (exited)", out);
	if (!process->exact)
		fputs(report->snapshot->sampled ? " (estimated)" : " (inexact)", out);
	fprintf(out, ": %" PRIu64 " bytes in %" PRIu64 " blocks outstanding\n",
		process->outstanding_bytes, process->outstanding_count);
	if (process->container)
		container_write(out, process->container);
	output_text_threads_write(out, ranked);
	for (size_t family = 0; family < FAMILY_MAX_; family++) {
		/* Of a user process the heap is always there, if only to say that it holds nothing.
		 */
		if (ranked->family_totals[family] || (family == FAMILY_HEAP && process->pid))
			family_write(out, report, ranked, family);
	}
}

static void ledger_write(FILE *out, const struct ledger *ledger)
{
	static const struct {
		size_t offset;
		const char *label;
	} extras[] = {
		{offsetof(struct ledger, inherited_frees), "frees of inherited blocks"},
		{offsetof(struct ledger, filtered),
		 "allocations outside --min-size and --max-size"},
		{offsetof(struct ledger, unsampled), "allocations not sampled"},
		{offsetof(struct ledger, failed), "allocations failed"},
		{offsetof(struct ledger, abandoned), "calls never returned"},
	};
	uint64_t dropped = 0;

	for (size_t i = 0; i < LM_DROP_MAX_; i++)
		dropped += ledger->dropped[i];
	fprintf(out,
		"ledger: %" PRIu64 " allocations = %" PRIu64 " frees + %" PRIu64
		" outstanding + %" PRIu64 " purged + %" PRIu64 " dropped; %" PRIu64
		" frees of untracked blocks",
		ledger->allocations, ledger->frees, ledger->outstanding, ledger->purged, dropped,
		ledger->untracked_frees);
	for (size_t i = 0; i < ARRAY_SIZE(extras); i++) {
		const char *field = (const char *)ledger + extras[i].offset;
		uint64_t value = *(const uint64_t *)field;

		if (value)
			fprintf(out, ", %" PRIu64 " %s", value, extras[i].label);
	}
	fputc('\n', out);
}

static void losses_write(FILE *out, const struct ledger *ledger)
{
	for (size_t i = 0; i < LM_DROP_MAX_; i++) {
		if (ledger->dropped[i])
			fprintf(out, "inexact: %" PRIu64 " allocations dropped: %s\n",
				ledger->dropped[i], drop_advice(i));
	}
	for (size_t i = LM_LOST_NONE + 1; i < LM_LOST_MAX_; i++) {
		if (ledger->lost_stacks[i])
			fprintf(out, "inexact: %" PRIu64 " allocations without a stack: %s\n",
				ledger->lost_stacks[i], lost_advice(i));
	}
}

/* Bytes and counts are right all the same: this is no inexactness. */
static void walk_ends_write(FILE *out, const struct ledger *ledger)
{
	for (size_t i = LM_WALK_ROOT + 1; i < LM_WALK_MAX_; i++) {
		if (ledger->walk_ends[i])
			fprintf(out, "stacks: %" PRIu64 " ended early: %s\n", ledger->walk_ends[i],
				walk_end_advice(i));
	}
}

static void checks_write(FILE *out, const struct snapshot *snapshot)
{
	const struct ledger *ledger = &snapshot->ledger;
	uint64_t difference = MAX(ledger->scanned, ledger->outstanding) -
			      MIN(ledger->scanned, ledger->outstanding);

	/* Without ages the live set was not read: there is nothing to compare. */
	if (snapshot->has_ages && difference > ledger->moved)
		fprintf(out,
			"inexact: the live set holds %" PRIu64 " blocks, the books say %" PRIu64
			"\n",
			ledger->scanned, ledger->outstanding);
	if (snapshot->sampled)
		fputs("estimated from a sample: bytes and counts by stack; "
		      "the ledger counts the sampled blocks\n",
		      out);
}

/* Else the stacks would seem to contradict the ledger. */
static void young_write(FILE *out, const struct snapshot *snapshot)
{
	uint64_t young = 0;

	if (!snapshot->has_ages || snapshot->sampled)
		return;
	if (snapshot->only_by_dead) {
		fputs("not listed: blocks of threads that live, or whose process has ended\n", out);
		return;
	}
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		const struct snapshot_process *process = &snapshot->processes.items[i];

		if (process->ledger.scanned > process->outstanding_count)
			young += process->ledger.scanned - process->outstanding_count;
	}
	if (young)
		fprintf(out, "not listed: %" PRIu64 " blocks younger than --older\n", young);
}

void output_text_site_write(FILE *out, const struct report *report,
			    const struct report_site *ranked)
{
	site_write(out, report, ranked);
}

int output_text_write(FILE *out, const struct report *report)
{
	const struct snapshot *snapshot = report->snapshot;

	for (size_t i = 0; i < report->processes.count; i++)
		process_write(out, report, &report->processes.items[i]);
	if (!report->processes.count)
		heading_write(out, report, FAMILY_HEAP, 0);
	ledger_write(out, &snapshot->ledger);
	if (snapshot->has_mappings)
		text_mapping_write(out, &snapshot->mapping);
	young_write(out, snapshot);
	losses_write(out, &snapshot->ledger);
	walk_ends_write(out, &snapshot->ledger);
	checks_write(out, snapshot);
	fputc('\n', out);
	return output_finish(out);
}
