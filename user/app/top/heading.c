// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/top/heading.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "output/text/text.h"
#include "process/proc/memory_room.h"

void top_heading_free(struct top_heading *heading)
{
	for (size_t i = 0; i < HEADING_LINES_; i++)
		free(heading->lines[i]);
	*heading = (struct top_heading){0};
}

static void set_clock(struct top_heading *heading, const struct timespec *time)
{
	struct tm local = {0};

	localtime_r(&time->tv_sec, &local);
	strftime(heading->clock, sizeof(heading->clock), "%H:%M:%S", &local);
}

#define METER_CELLS 16

/* "Memory [||||||    ] 8.21 GiB of 23.5 GiB; swap 0 B of 2.00 GiB; pressure some 0.0 % ...". */
static void machine_write(FILE *out)
{
	struct machine_memory memory;
	char used[16], total[16];
	unsigned cells;

	if (!machine_memory_read(&memory))
		return;
	cells = (unsigned)(METER_CELLS * (double)(memory.total - memory.available) /
				   (double)memory.total +
			   0.5);
	fprintf(out, "Memory [%.*s%*s] %s of %s", (int)cells, "||||||||||||||||",
		(int)(METER_CELLS - cells), "",
		units_bytes(used, (double)(memory.total - memory.available), ""),
		units_bytes(total, (double)memory.total, ""));
	if (memory.swap_total)
		fprintf(out, "; swap %s of %s",
			units_bytes(used, (double)(memory.swap_total - memory.swap_free), ""),
			units_bytes(total, (double)memory.swap_total, ""));
	if (!isnan(memory.some_10s))
		fprintf(out, "; pressure some %.1f %%, full %.1f %%", memory.some_10s,
			memory.all_10s);
}

/* Returns NULL when out of memory. */
static char *machine_line(void)
{
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	if (!out)
		return NULL;
	machine_write(out);
	fclose(out);
	return line;
}

static void total_write(FILE *out, const struct report *report)
{
	uint64_t bytes = 0, blocks = 0;
	size_t stacks = 0;
	char text[16];

	for (size_t i = 0; i < report->processes.count; i++) {
		bytes += report->processes.items[i].process->outstanding_bytes;
		blocks += report->processes.items[i].process->outstanding_count;
		stacks += report->processes.items[i].sites_total;
	}
	fprintf(out,
		"Outstanding: %s (%" PRIu64 " bytes) in %" PRIu64
		" blocks from %zu call stack%s of %zu process%s",
		units_bytes(text, (double)bytes, ""), bytes, blocks, stacks, stacks == 1 ? "" : "s",
		report->processes.count, report->processes.count == 1 ? "" : "es");
}

static uint64_t sum(const uint64_t *numbers, size_t count)
{
	uint64_t all = 0;

	for (size_t i = 0; i < count; i++)
		all += numbers[i];
	return all;
}

/* Writes the largest loss of one cause, with its remedy: there is room for one. */
static void loss_write(FILE *out, const struct ledger *ledger)
{
	size_t drop = 0, lost = LM_LOST_NONE + 1;

	for (size_t i = 0; i < LM_DROP_MAX_; i++)
		drop = ledger->dropped[i] > ledger->dropped[drop] ? i : drop;
	for (size_t i = LM_LOST_NONE + 1; i < LM_LOST_MAX_; i++)
		lost = ledger->lost_stacks[i] > ledger->lost_stacks[lost] ? i : lost;
	if (ledger->dropped[drop])
		fprintf(out, "; INEXACT: %s", drop_advice(drop));
	else if (ledger->lost_stacks[lost])
		fprintf(out, "; %" PRIu64 " WITHOUT A STACK: %s", ledger->lost_stacks[lost],
			lost_advice(lost));
}

/*
 * Returns the first cause without a number; NULL: none. A recording has no causes, only the ledger.
 */
static const char *find_doubt(const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		for (size_t cause = 0; cause < INEXACT_MAX_; cause++) {
			if (snapshot->processes.items[i].inexact & 1u << cause &&
			    inexact_advice(cause))
				return inexact_advice(cause);
		}
	}
	return ledger_agrees(snapshot, &snapshot->ledger) ? NULL : inexact_advice(INEXACT_LEDGER);
}

/* Notes a managed heap: the numbers cover native memory only, even if exact. */
static void managed_write(FILE *out, const struct snapshot *snapshot)
{
	const struct managed_share *most = NULL;
	char heap[16], all[16];

	for (size_t i = 0; i < snapshot->processes.count; i++) {
		const struct managed_share *share = &snapshot->processes.items[i].managed;

		if (share->runtime.key && (!most || share->heap_bytes > most->heap_bytes))
			most = share;
	}
	if (most)
		fprintf(out, " for native memory only: %s of %s are the heap of the %s",
			units_bytes(heap, (double)most->heap_bytes, ""),
			units_bytes(all, (double)most->anonymous_bytes, ""), most->runtime.name);
}

static bool ledger_write(FILE *out, const struct snapshot *snapshot)
{
	const struct ledger *ledger = &snapshot->ledger;
	uint64_t dropped = sum(ledger->dropped, LM_DROP_MAX_);
	uint64_t lost = sum(ledger->lost_stacks, LM_LOST_MAX_);
	const char *doubt = find_doubt(snapshot);

	fputs("Ledger:", out);
	text_balance_write(out, &(const struct text_form){.verbose = true}, family_get(FAMILY_HEAP),
			   ledger, TERM_PART);
	if (dropped || lost)
		loss_write(out, ledger);
	else if (doubt)
		fprintf(out, "; INEXACT: %s", doubt);
	else
		fputs(snapshot->sampled ? "; estimated from a sample" : "; exact", out);
	if (!dropped && !lost && !doubt)
		managed_write(out, snapshot);
	return dropped || lost || doubt;
}

static void cost_write(FILE *out, const struct report *report)
{
	char text[16];

	fprintf(out, "Own cost: %.2f s of CPU time, %s; this reading took %.1f ms",
		report->cost.cpu_s, units_bytes(text, (double)report->cost.rss_bytes, ""),
		(double)report->snapshot->scan_ns / 1e6);
}

/* Writes one line; returns true if it needs attention. */
static bool line_write(FILE *out, enum top_heading_line line, const struct report *report)
{
	if (line == HEADING_LEDGER)
		return ledger_write(out, report->snapshot);
	if (line == HEADING_MACHINE)
		machine_write(out);
	else if (line == HEADING_TOTAL)
		total_write(out, report);
	else
		cost_write(out, report);
	return false;
}

int top_heading_of_report(struct top_heading *heading, const struct report *report)
{
	struct top_heading made = {0};
	size_t size;

	set_clock(&made, &report->snapshot->time);
	for (size_t i = 0; i < HEADING_LINES_; i++) {
		FILE *out = open_memstream(&made.lines[i], &size);

		if (!out) {
			top_heading_free(&made);
			return -ENOMEM;
		}
		made.inexact |= line_write(out, i, report);
		fclose(out);
	}
	top_heading_free(heading);
	*heading = made;
	return 0;
}

/* Returns a line about growing memory that belongs to no process; NULL: none grows. */
static char *suspects_line(const struct triage_machine *machine)
{
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	if (!out)
		return NULL;
	text_triage_machine_write(out, machine, false);
	fclose(out);
	if (line && !*line) {
		free(line);
		return NULL;
	}
	if (line)
		line[strcspn(line, "\n")] = '\0';
	return line;
}

int top_heading_of_triage(struct top_heading *heading, const struct triage_report *report)
{
	const struct triage_entries *processes = &report->processes;
	struct top_heading made = {0};
	char running[16], resident[16], own[TRIAGE_COST_SIZE];
	int length;

	set_clock(&made, &report->time);
	length = asprintf(&made.lines[HEADING_TOTAL],
			  "%zu processes for %s: %zu leaking, %zu growing, %zu too early to say",
			  processes->total, units_time(running, report->running_s),
			  processes->verdicts[TREND_LEAKING], processes->verdicts[TREND_GROWING],
			  processes->verdicts[TREND_TOO_EARLY]);
	if (length >= 0)
		length = asprintf(
			&made.lines[HEADING_COST], "Cost: %s of %.3g %%, %s; polled every %.2g s%s",
			triage_cost_text(report, own), 100 * report->budget_limit,
			units_bytes(resident, (double)report->resident_bytes, ""),
			report->poll_interval_s,
			report->stretch > 1 || report->shed_mappings ? "; + raises the budget"
								     : "");
	made.lines[HEADING_MACHINE] = machine_line();
	made.lines[HEADING_LEDGER] = suspects_line(report->machine);
	if (length < 0 || !made.lines[HEADING_MACHINE]) {
		top_heading_free(&made);
		return -ENOMEM;
	}
	top_heading_free(heading);
	*heading = made;
	return 0;
}

/* Writes the memory of the profiled process. */
static void memory_write(FILE *out, const struct profile_report_process *process)
{
	const struct interval *net = &process->judgement.net_blocks_per_s;
	char text[16];

	if (process->memory_bytes >= 0)
		fprintf(out, "Memory: %s", units_bytes(text, process->memory_bytes, ""));
	if (process->memory_bytes >= 0 && process->has_memory_growth)
		fprintf(out, ", %s/s", units_bytes(text, process->memory_growth_per_s, "+"));
	if (process->explained >= 0)
		fprintf(out, ", of which these explain %.0f%%", 100 * process->explained);
	if (isfinite(net->estimate) && isfinite(net->low))
		fprintf(out, "; allocations - frees: %+.4g blocks/s (95%%: %+.4g to %+.4g)",
			net->estimate, net->low, net->high);
}

static void tracking_write(FILE *out, const struct profile_report *report)
{
	const struct profile_report_process *process =
		report->processes.count ? &report->processes.items[0] : NULL;
	char base[32] = "its CPU time";

	if (process && process->exact_s > 0) {
		fprintf(out,
			"Profile, tracked exactly for %.0f s: %.3g events/s, %zu blocks followed; "
			"%.2f%% of a core spent, of %.3g%%",
			process->exact_s, process->events_per_s, report->samples,
			100 * process->core, 100 * report->limit);
		return;
	}
	if (process && process->floor > 0)
		snprintf(base, sizeof(base), "%.3g%% of a core", 100 * process->floor);
	fprintf(out,
		"Profile: %zu windows, %.2f s tracked, %zu blocks followed; %.2f%% of %s spent, of "
		"%.3g%%; x tracks it exactly",
		report->windows, report->tracked_s, report->samples, 100 * report->spent, base,
		100 * report->limit);
}

static void profile_line_write(FILE *out, enum top_heading_line line,
			       const struct profile_report *report)
{
	char text[16];

	if (line == HEADING_MACHINE)
		machine_write(out);
	else if (line == HEADING_TOTAL)
		tracking_write(out, report);
	else if (line == HEADING_LEDGER && report->processes.count)
		memory_write(out, &report->processes.items[0]);
	else if (line == HEADING_COST)
		fprintf(out, "Own cost: %.2f s of CPU time, %s", report->cpu_s,
			units_bytes(text, (double)report->rss_bytes, ""));
}

int top_heading_of_profile(struct top_heading *heading, const struct profile_report *report)
{
	struct top_heading made = {0};
	size_t size;

	set_clock(&made, &report->time);
	for (size_t i = 0; i < HEADING_LINES_; i++) {
		FILE *out = open_memstream(&made.lines[i], &size);

		if (!out) {
			top_heading_free(&made);
			return -ENOMEM;
		}
		profile_line_write(out, i, report);
		fclose(out);
	}
	top_heading_free(heading);
	*heading = made;
	return 0;
}
