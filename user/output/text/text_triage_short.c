// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Triage that fits a screen: a row for each process, and for a suspect one line with the program's
 * function and the next command. `-v` shows the evidence instead (text_triage.c).
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/text/text.h"
#include "report/history.h"

#define INDENT 9
#define SPARK_WIDTH 12
/* Parts of a group to show. */
#define PARTS_SHOWN 2
/* Minimum columns of a suspect's line before the command. */
#define SAID_MIN 20
/* A share of growth is an estimate: above this it exceeds 100 %. */
#define SHARE_NOISE 1.1

/* -------- the line of a suspect: the best known location of its growth */

static void tracked_print(FILE *out, const struct triage_sites *sites)
{
	const struct report_site *most = NULL;
	size_t count = sites->process ? sites->process->sites.count : 0;

	if (sites->refusal) {
		fprintf(out, "%s not tracked: %s", growth_kind_name(sites->kind), sites->refusal);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const struct report_site *site = &sites->process->sites.items[i];

		if (triage_site_counts(sites, site->site) &&
		    (!most ||
		     triage_site_share(sites, site->site) > triage_site_share(sites, most->site)))
			most = site;
	}
	fprintf(out, "%s tracked for %.0f s: ", growth_kind_name(sites->kind), sites->window_s);
	if (!most) {
		fputs("nothing came and stayed", out);
		return;
	}
	fprintf(out, "%.0f %% by ", 100 * triage_site_share(sites, most->site));
	text_code_print(out, &most->frames, LABEL_SHORT);
}

static void profiled_print(FILE *out, const struct profile_report_process *process)
{
	char rate[16];

	if (!process->sites.count) {
		fprintf(out, "profiled in %zu windows: no call stack yet",
			process->judgement.windows);
		return;
	}
	fprintf(out, "%s/s by ",
		units_bytes(rate, process->sites.items[0].judgement.growth_bytes_per_s.estimate,
			    "+"));
	text_code_print(out, &process->sites.items[0].frames, LABEL_SHORT);
}

/* Pages that came while others were freed can exceed the growth. */
static void share_print(FILE *out, double share)
{
	if (share > SHARE_NOISE)
		fputs(">100 % by ", out);
	else
		fprintf(out, "~%.0f %% by ", 100 * MIN(share, 1.0));
}

static void sampled_print(FILE *out, const struct triage_samples *sampled)
{
	char ago[16];

	if (triage_samples_have_dead_threads(sampled)) {
		fprintf(out, "~%+.0f threads that ended and were not joined in %.0f s",
			sampled->orphans_added, sampled->window_s);
	} else if (sampled->files.count) {
		fprintf(out, "%+.0f in %.0f s: %s, %.0f open", sampled->files.items[0].added,
			sampled->window_s, sampled->files.items[0].name,
			sampled->files.items[0].open);
	} else if (sampled->stacks.count && sampled->stacks.items[0].share < TRIAGE_SHARE_MIN) {
		fprintf(out, "%s sampled for %.0f s: no call stack made as much as %.0f %%",
			triage_samples_event(sampled->kind), sampled->window_s,
			100 * TRIAGE_SHARE_MIN);
	} else if (sampled->stacks.count) {
		if (sampled->ago_s > 0)
			fprintf(out, "%s ago: ", units_time(ago, sampled->ago_s));
		share_print(out, sampled->stacks.items[0].share);
		text_code_print(out, &sampled->stacks.items[0].named.frames, LABEL_SHORT);
	} else if (sampled->why) {
		fprintf(out, "%s not sampled: %s", triage_samples_event(sampled->kind),
			sampled->why);
	} else {
		fprintf(out, "%s sampled for %.0f s: nothing came and stayed yet",
			triage_samples_event(sampled->kind), sampled->window_s);
	}
}

/* Prints the command in a tool's description: the text between the first backticks. */
static void tool_print(FILE *out, const char *tool)
{
	const char *begin = strchr(tool, '`');

	if (begin)
		fprintf(out, "\n%.*s", (int)strcspn(begin + 1, "`"), begin + 1);
}

static void managed_print(FILE *out, const struct triage_entry *entry)
{
	const struct managed_growth *managed = entry->managed;
	char tool[RUNTIME_TOOL_SIZE], heap[16], all[16];
	bool grown = managed->last_s > managed->first_s && managed->all_grown;

	fprintf(out, "heap of the %s: %s of %s", managed->runtime.name,
		units_bytes(heap, (double)(grown ? managed->heap_grown : (int64_t)managed->heap),
			    grown ? "+" : ""),
		units_bytes(all, (double)(grown ? managed->all_grown : (int64_t)managed->all),
			    grown ? "+" : ""));
	tool_print(out, runtime_label_tool(&managed->runtime, entry->pid, tool));
}

/* Prints "+600 goroutines, none ended: main.worker worker.go:31 ← main.spawn". */
static void goroutines_print(FILE *out, const struct triage_entry *entry)
{
	const struct task_group *group = entry->goroutines;
	const struct frame *place = goroutine_place(&group->stack);
	const struct frame *creator = goroutine_place(&group->creator);

	fprintf(out, "%+" PRId64 " goroutines, ",
		(int64_t)(group->count - group->growth.first_count));
	if (group->growth.gone)
		fprintf(out, "%" PRIu64 " ended: ", group->growth.gone);
	else
		fputs("none ended: ", out);
	fputs(place && place->function ? place->function : "an unknown place", out);
	if (place && place->function && place->file)
		fprintf(out, " %s:%u", text_path_base(place->file), place->line);
	if (creator && creator->function)
		fprintf(out, " ← %s", creator->function);
	fprintf(out, "\nleakmon threads -p %d 10", entry->pid);
}

static void cause_print(FILE *out, const struct triage_entry *entry)
{
	const struct triage_cause *cause = entry->cause;
	char live[16], grown[16];

	fprintf(out, "not a leak: live blocks %s of %s\nleakmon memory -p %d 60",
		units_bytes(live, (double)cause->live, "+"),
		units_bytes(grown, (double)cause->grown, "+"), entry->pid);
}

void text_triage_suspect_print(FILE *out, const struct triage_entry *entry)
{
	char next[TRIAGE_NEXT_SIZE];

	if (entry->split) {
		text_triage_split_write(out, entry->split, PARTS_SHOWN);
		text_triage_why_write(out, entry);
		return;
	}
	if (entry->goroutines) {
		goroutines_print(out, entry);
		return;
	}
	if (entry->cause && entry->cause->no_leak) {
		cause_print(out, entry);
		return;
	}
	if (triage_entry_is_managed(entry)) {
		managed_print(out, entry);
		return;
	}
	if (entry->sites)
		tracked_print(out, entry->sites);
	else if (entry->profiled)
		profiled_print(out, entry->profiled);
	else if (entry->sampled)
		sampled_print(out, entry->sampled);
	else if (entry->growth.warms_up && trend_is_suspect(entry->growth.verdict))
		fputs("warming up: its call stacks are not sampled yet", out);
	else
		return;
	if (entry->sampled)
		fprintf(out, "\n%s", triage_samples_next(entry, next));
	else
		fprintf(out, "\nleakmon diagnose -p %d", entry->pid);
}

static void suspect_write(FILE *out, const struct text_style *style,
			  const struct triage_entry *entry)
{
	_cleanup_free_ char *text = NULL;
	size_t size, room;
	char *next;
	FILE *line = open_memstream(&text, &size);

	if (!line)
		return;
	text_triage_suspect_print(line, entry);
	fclose(line);
	if (!text || !*text)
		return;
	/* Names of a target may have newlines; a command has none. */
	next = strrchr(text, '\n');
	if (next)
		*next++ = '\0';
	fprintf(out, "%*s%s", INDENT, "", style->dim);
	room = TEXT_WIDTH - INDENT - (next ? strlen("; ") + strlen(next) : 0);
	text_cut_write(out, text, room < TEXT_WIDTH ? MAX(room, (size_t)SAID_MIN) : SAID_MIN);
	if (next) {
		fputs("; ", out);
		text_print_inert(out, next);
	}
	fprintf(out, "%s\n", style->plain);
}

/* -------- rows */

/* A long verdict takes room from the sparkline. */
static void spark_write(FILE *out, const struct triage_entry *entry)
{
	unsigned char heights[TRIAGE_SPARK_POINTS];
	size_t count = text_triage_heights(entry, heights);
	size_t taken = MAX(strlen(triage_entry_verdict(entry)), (size_t)TRIAGE_VERDICT_WIDTH);
	size_t width = SPARK_WIDTH + TRIAGE_VERDICT_WIDTH - MIN(taken, (size_t)SPARK_WIDTH);

	for (size_t i = count > width ? count - width : 0; i < count; i++)
		fputs(sparkline_block(heights[i]), out);
}

static void row_write(FILE *out, const struct triage_report *report,
		      const struct triage_entry *entry)
{
	const struct text_style *style = &text_styles[report->form.colour];

	text_triage_columns_write(out, entry, 17, 13);
	text_triage_verdict_write(out, style, entry);
	spark_write(out, entry);
	fputc('\n', out);
	if ((entry->pid || entry->split) && (trend_is_suspect(entry->growth.verdict) ||
					     growth_is_early(&entry->growth) || entry->sites))
		suspect_write(out, style, entry);
}

void text_triage_short_write(FILE *out, const struct triage_report *report,
			     const struct triage_entries *entries, const char *first)
{
	const struct text_style *style = &text_styles[report->form.colour];

	if (!entries->count)
		return;
	fprintf(out, "%s%7s  %-15s  %-17s %10s %13s  %-9s %6s  %s%s\n", style->bold, first, "COMM",
		"IN", "ANON+SWAP", "GROWTH/MIN", "VERDICT", "CONF", "TREND", style->plain);
	for (size_t i = 0; i < entries->count; i++)
		row_write(out, report, &entries->items[i]);
	text_triage_hidden_write(out, entries);
}
