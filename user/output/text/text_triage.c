// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "report/history.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/text/text.h"
#include "output/output.h"

/* -------- sites of an escalation */

/* Writes the findings of an escalation, below its process. */
static void sites_write(FILE *out, const struct triage_sites *sites)
{
	const struct report_process *process = sites->process;
	double all = 0;

	if (sites->refusal) {
		fprintf(out, "         %s not tracked: ", growth_kind_name(sites->kind));
		text_print_inert(out, sites->refusal);
		fputc('\n', out);
		return;
	}
	for (size_t i = 0; process && i < process->process->sites.count; i++)
		all += triage_site_share(sites, &process->process->sites.items[i]);
	fprintf(out,
		"         %s tracked for %.0f s: survivors explain %.0f %% of the "
		"growth\n",
		growth_kind_name(sites->kind), sites->window_s, 100 * all);
	for (size_t i = 0; process && i < process->sites.count; i++) {
		const struct report_site *ranked = &process->sites.items[i];

		if (!triage_site_counts(sites, ranked->site))
			continue;
		fprintf(out, "       %3.0f %%", 100 * triage_site_share(sites, ranked->site));
		text_site_write(out, sites->report, ranked);
	}
}

/* -------- sampled call stacks of a suspect's growth, and the command for details */

static void amount_format(char text[32], enum quantity kind, double amount)
{
	if (triage_samples_unit(kind))
		snprintf(text, 32, "%+.0f %s", amount, triage_samples_unit(kind));
	else
		units_bytes(text, amount, "+");
}

static void loss_write(FILE *out, const struct triage_samples *sampled)
{
	if (sampled->lost)
		fprintf(out, "         %llu samples were lost: they came too fast\n",
			(unsigned long long)sampled->lost);
	if (sampled->missed)
		fprintf(out, "         %zu of its threads are not sampled: there are too many\n",
			sampled->missed);
}

static void stacks_write(FILE *out, const struct text_form *form,
			 const struct triage_samples *sampled)
{
	char added[32], units[32], ago[16];

	amount_format(added, sampled->kind, sampled->added);
	fprintf(out, "         %s sampled for %.0f s", triage_samples_event(sampled->kind),
		sampled->window_s);
	if (sampled->ago_s > 0)
		fprintf(out, ", until %s ago", units_time(ago, sampled->ago_s));
	fprintf(out, ": survivors explain ~%.0f %% of %s\n", 100 * sampled->share, added);
	loss_write(out, sampled);
	for (size_t i = 0; i < sampled->stacks.count; i++) {
		const struct triage_stack *stack = &sampled->stacks.items[i];

		amount_format(units, sampled->kind, stack->units);
		fprintf(out, "      ~%3.0f %%\t~%s in %zu samples from stack\n", 100 * stack->share,
			units + 1, stack->samples);
		text_stack_write(out, form, &stack->named);
	}
	if (sampled->stacks_total > sampled->stacks.count)
		fprintf(out, "\t… and %zu more stacks\n",
			sampled->stacks_total - sampled->stacks.count);
}

static void files_write(FILE *out, const struct triage_samples *sampled)
{
	for (size_t i = 0; i < sampled->files.count; i++) {
		const struct triage_file_kind *kind = &sampled->files.items[i];

		fprintf(out, "       %+8.0f in %.0f s: ", kind->added, sampled->window_s);
		text_print_inert(out, kind->name);
		fprintf(out, ", %.0f open\n", kind->open);
	}
}

static void triage_samples_write(FILE *out, const struct text_form *form,
				 const struct triage_entry *entry)
{
	const struct triage_samples *sampled = entry->sampled;
	char next[TRIAGE_NEXT_SIZE];

	if (sampled->why)
		fprintf(out, "         %s not sampled%s: %s\n", triage_samples_event(sampled->kind),
			sampled->stacks.count ? " now" : "", sampled->why);
	if (sampled->stacks.count || (!sampled->why && sampled->kind != QUANTITY_FILES))
		stacks_write(out, form, sampled);
	files_write(out, sampled);
	if (triage_samples_have_dead_threads(sampled))
		fprintf(out,
			"         ~%.0f threads ended and were not joined: their stacks are "
			"mapped, "
			"%.0f more than %.0f s ago\n",
			sampled->orphans, sampled->orphans_added, sampled->window_s);
	fprintf(out, "         next: %s\n", triage_samples_next(entry, next));
}

/* -------- triage for people: one row per process, growing ones first, with evidence below */

static void count_write(FILE *out, double count, int width)
{
	if (isnan(count))
		fprintf(out, " %*s", width, "-");
	else
		fprintf(out, " %*.0f", width, count);
}

static void spark_write(FILE *out, const struct triage_entry *entry)
{
	unsigned char heights[TRIAGE_SPARK_POINTS];
	size_t count = text_triage_heights(entry, heights);

	for (size_t i = 0; i < count; i++)
		fputs(sparkline_block(heights[i]), out);
}

void text_triage_evidence_write(FILE *out, const struct growth *growth)
{
	const struct trend *evidence = &growth->evidence;
	char so_far[TRIAGE_RATE_SIZE];
	char low[TRIAGE_RATE_SIZE], high[TRIAGE_RATE_SIZE], total[TRIAGE_RATE_SIZE], span[16];

	if (growth_is_early(growth)) {
		text_triage_rate(so_far, growth->kind, growth->early.per_s);
		fprintf(out,
			"%s: ~%s/min so far, in %zu readings of %s; a verdict takes %d, or 2 min",
			growth_kind_name(growth->kind), so_far, growth->early.readings,
			units_time(span, growth->early.span_s), GROWTH_READINGS_MIN);
		return;
	}
	text_triage_rate(low, growth->kind, growth->low_per_s);
	text_triage_rate(high, growth->kind, growth->high_per_s);
	text_triage_rate(total, growth->kind, evidence->growth / 60);
	if (growth->warms_up && growth->age_s < TREND_WARM_UP_S)
		fprintf(out, "warming up, started %s ago; ", units_time(span, growth->age_s));
	else if (growth->warms_up)
		fputs("reaches back into its warm-up; ", out);
	fprintf(out,
		"%s: %s in %s, 95 %% CI %s to %s a minute; R² %.2f, rising in %.0f %% of "
		"segments%s",
		growth_kind_name(growth->kind), total, units_time(span, evidence->span_s), low,
		high, evidence->r_squared, 100 * evidence->consistency,
		evidence->by_troughs ? ", below ups and downs" : "");
}

/* Writes the evidence for the verdict. */
static void evidence_write(FILE *out, const struct text_style *style, const struct growth *growth)
{
	fprintf(out, "         %s", style->dim);
	text_triage_evidence_write(out, growth);
	fprintf(out, "%s\n", style->plain);
}

void text_triage_managed_write(FILE *out, const struct triage_entry *entry)
{
	const struct managed_growth *managed = entry->managed;
	char tool[RUNTIME_TOOL_SIZE], heap[16], all[16], span[16];

	fprintf(out, "its %s ", managed->runtime.name);
	if (managed->last_s > managed->first_s)
		fprintf(out, "has added %s to its garbage-collected heap in %s, of %s in all",
			units_bytes(heap, (double)managed->heap_grown, "+"),
			units_time(span, managed->last_s - managed->first_s),
			units_bytes(all, (double)managed->all_grown, "+"));
	else
		fprintf(out, "has %s of %s in its garbage-collected heap",
			units_bytes(heap, (double)managed->heap, ""),
			units_bytes(all, (double)managed->all, ""));
	if (triage_entry_compiles(entry))
		fputs(", lately most of it in code that it compiles", out);
	else if (triage_entry_is_unproven(entry) && triage_entry_is_managed(entry))
		fputs(managed->now.full > managed->first.full
			      ? ", perhaps garbage: its collections do not leave more yet"
			      : ", perhaps garbage: no collection of the whole heap so far",
		      out);
	else if (triage_entry_may_be_held_by_garbage(entry))
		fputs(", perhaps buffers of garbage: a collection of the whole heap will tell",
		      out);
	fprintf(out, ": %s", runtime_label_tool(&managed->runtime, entry->pid, tool));
}

static void managed_write(FILE *out, const struct text_style *style,
			  const struct triage_entry *entry)
{
	fprintf(out, "         %s", style->dim);
	text_triage_managed_write(out, entry);
	fprintf(out, "%s\n", style->plain);
}

/* Writes details of an entry below its row: evidence, stacks, the next command. */
static void details_write(FILE *out, const struct text_form *form, const struct triage_entry *entry)
{
	const struct text_style *style = &text_styles[form->colour];

	if (growth_is_early(&entry->growth) || trend_is_suspect(entry->growth.verdict))
		evidence_write(out, style, &entry->growth);
	if (entry->split) {
		fprintf(out, "         %s", style->dim);
		text_triage_split_write(out, entry->split, TRIAGE_PARTS_MAX);
		text_triage_why_write(out, entry);
		fprintf(out, "%s\n", style->plain);
	}
	if (entry->managed)
		managed_write(out, style, entry);
	if (entry->goroutines) {
		fprintf(out, "         %s", style->red);
		text_goroutine_growth_write(out, entry->goroutines);
		fprintf(out, "%s: leakmon threads -p %d 10\n", style->plain, entry->pid);
	}
	if (entry->cause)
		fprintf(out, "         %s%s%s\n", style->dim, entry->cause->text, style->plain);
	if (entry->sampled)
		triage_samples_write(out, form, entry);
	if (entry->sites)
		sites_write(out, entry->sites);
	if (entry->profiled)
		text_profile_suspect_write(out, form, entry->profiled);
}

static void entry_write(FILE *out, const struct triage_report *report,
			const struct triage_entry *entry)
{
	const struct text_style *style = &text_styles[report->form.colour];

	text_triage_columns_write(out, entry, 20, 12);
	count_write(out, entry->now.values[QUANTITY_THREADS], 7);
	count_write(out, entry->now.values[QUANTITY_FILES], 6);
	count_write(out, entry->now.values[QUANTITY_MAPPING], 6);
	text_triage_verdict_write(out, style, entry);
	spark_write(out, entry);
	fputc('\n', out);
	details_write(out, &report->form, entry);
}

static void entries_write(FILE *out, const struct triage_report *report,
			  const struct triage_entries *entries, const char *first)
{
	const struct text_style *style = &text_styles[report->form.colour];

	if (!report->form.verbose) {
		text_triage_short_write(out, report, entries, first);
		return;
	}
	if (!entries->count)
		return;
	fprintf(out, "%s%7s  %-15s  %-20s %10s %12s %7s %6s %6s  %-9s %6s  %s%s\n", style->bold,
		first, "COMM", "IN", "ANON+SWAP", "GROWTH/MIN", "THREADS", "FILES", "MAPS",
		"VERDICT", "CONF", "TREND", style->plain);
	for (size_t i = 0; i < entries->count; i++)
		entry_write(out, report, &entries->items[i]);
	text_triage_hidden_write(out, entries);
}

/* Writes groups; services that do not grow would only repeat their processes. */
static void groups_write(FILE *out, const struct triage_report *report)
{
	struct triage_entries shown = {.count = 0};

	while (shown.count < report->groups.count &&
	       (trend_is_suspect(report->groups.items[shown.count].growth.verdict)))
		shown.count++;
	for (size_t i = 0; i < report->groups.count; i++) {
		if (report->groups.items[i].container)
			shown.count = i + 1;
	}
	shown.items = report->groups.items;
	shown.total = shown.count;
	entries_write(out, report, &shown, "PROCS");
}

static void heading_write(FILE *out, const struct triage_report *report)
{
	const struct triage_entries *processes = &report->processes;
	const struct text_style *style = &text_styles[report->form.colour];
	char clock[TEXT_TIME_SIZE], running[16];

	text_clock(clock, report->time.tv_sec);
	units_time(running, report->running_s);
	fprintf(out, "%s[%s] %zu processes for %s: %zu leaking, %zu growing%s", style->bold, clock,
		processes->total, running, processes->verdicts[TREND_LEAKING],
		processes->verdicts[TREND_GROWING], style->plain);
	if (processes->total && processes->verdicts[TREND_TOO_EARLY] == processes->total)
		fprintf(out, "; a verdict takes %d polls, or 2 min", GROWTH_READINGS_MIN);
	fputc('\n', out);
}

static void cost_write(FILE *out, const struct triage_report *report)
{
	char used[TRIAGE_COST_SIZE];
	char resident[16], probes[48] = "";

	units_bytes(resident, (double)report->resident_bytes, "");
	if (report->probes_s > 0 && report->running_s > 0)
		snprintf(probes, sizeof(probes), ", probes %.2g %%",
			 100 * report->probes_s / report->running_s);
	fprintf(out, "cost: %s%s (--budget %.3g %%; %.2g %% now%s), %s",
		triage_cost_text(report, used), probes, 100 * report->budget_limit,
		100 * report->budget_used,
		report->budget_used > report->budget_limit ? ", saved up" : "", resident);
	/* A line of TEXT_WIDTH columns has no room for more. */
	if (report->form.verbose)
		fprintf(out, "; polled every %.3g s", report->poll_interval_s);
	fputc('\n', out);
	if (report->shed_mappings)
		fprintf(out, "shed to keep --budget: mappings are not counted%s\n",
			report->shed_files ? ", nor open files" : "");
	if (report->stretch > 1)
		fprintf(out, "shed to keep --budget: polls come %u times as rarely\n",
			report->stretch);
	if (report->waiting)
		fprintf(out, "to keep --budget: %zu processes are looked at later\n",
			report->waiting);
	if (report->hidden)
		fputs("processes of other users are hidden (hidepid) and not judged\n", out);
}

static void time_left_write(FILE *out, const struct time_left *left)
{
	char seconds[16], low[16], high[16];

	fprintf(out, "at this rate the limit is reached in %s (95 %%: %s to %s)",
		units_time(seconds, left->seconds), units_time(low, left->low),
		units_time(high, left->high));
}

/* Writes "near a limit: 92 % of 64.0 MiB (memory.max of /kubepods/...), ...". */
static void limit_write(FILE *out, const struct triage_report *report,
			const struct triage_limit *near)
{
	const struct limit *limit = near->limit;
	const struct triage_entries alone = {
		.items = (struct triage_entry *)&near->entry, .count = 1, .total = 1};
	const struct text_style *style = &text_styles[report->form.colour];
	char bytes[16], rate[TRIAGE_RATE_SIZE];

	fprintf(out, "%snear a limit: %.0f %% of %s%s (%s", style->bold,
		100 * limit->used / limit->bytes, units_bytes(bytes, limit->bytes, ""),
		style->plain, limit_kind_name(limit->kind));
	if (*limit->path) {
		fputs(" of ", out);
		text_print_inert(out, limit->path);
	}
	fputc(')', out);
	if (near->container) {
		fputs(", container ", out);
		container_print_name(out, near->container);
	}
	if (limit->left.known && limit->left.seconds > 0) {
		fprintf(out, ", %s a minute; ",
			text_triage_rate(rate, QUANTITY_HEAP, limit->left.per_s));
		time_left_write(out, &limit->left);
	}
	if (limit->pressure > 0)
		fprintf(out, "; tasks waited for memory %.0f %% of the last 10 s",
			100 * limit->pressure);
	if (near->entry.pid) {
		fprintf(out, "; most of it by process %d ", (int)near->entry.pid);
		text_print_inert(out, near->entry.comm);
	}
	fputc('\n', out);
	if (near->entry.pid && !near->listed)
		entries_write(out, report, &alone, "PID");
}

static void kill_memory_write(FILE *out, const struct triage_kill_memory *memory)
{
	char anonymous[16], file[16], shared[16], swap[16], tables[16];

	fprintf(out,
		"         when it was chosen: %s anonymous, %s of files, %s shared, %s swapped "
		"out, page tables %s\n",
		units_bytes(anonymous, (double)memory->anonymous, ""),
		units_bytes(file, (double)memory->file, ""),
		units_bytes(shared, (double)memory->shared, ""),
		units_bytes(swap, (double)memory->swap, ""),
		units_bytes(tables, (double)memory->page_tables, ""));
}

static void kill_write(FILE *out, const struct triage_report *report,
		       const struct triage_kill *kill)
{
	const struct triage_entries last = {
		.items = (struct triage_entry *)&kill->entry, .count = 1, .total = 1};
	char read[16];

	fprintf(out, "OOM-killed: process %d ", (int)kill->where->pid);
	text_print_inert(out, kill->comm);
	if (kill->where->container) {
		fputs(", container ", out);
		container_print_name(out, kill->where->container);
	}
	if (kill->where->cgroup) {
		fputs(", control group ", out);
		text_print_inert(out, kill->where->cgroup);
	}
	text_kill_limit_write(out, kill->where);
	fprintf(out, "%s\n",
		kill->by_counter ? " (found by its group's count, after its end)" : "");
	if (kill->memory.known)
		kill_memory_write(out, &kill->memory);
	if (!kill->entry.pid) {
		fputs("         it was too young to be known\n", out);
		return;
	}
	fprintf(out, "         what was known of it, read %s before:\n",
		units_time(read, kill->read_s));
	entries_write(out, report, &last, "PID");
}

int text_triage_write(FILE *stream, const void *data)
{
	const struct triage_report *report = data;
	struct text_page page;
	FILE *out = text_page_begin(&page, stream, &report->form);

	heading_write(out, report);
	for (size_t i = 0; report->kills && i < report->kills->list.count; i++)
		kill_write(out, report, &report->kills->list.items[i]);
	for (size_t i = 0; i < report->limits.count; i++)
		limit_write(out, report, &report->limits.items[i]);
	if (report->limits_more)
		fprintf(out, "near a limit: … and %zu more control groups, with more time left\n",
			report->limits_more);
	entries_write(out, report, &report->processes, "PID");
	groups_write(out, report);
	text_triage_machine_write(out, report->machine, true);
	cost_write(out, report);
	text_lost_reports_write(out, report->lost_reports);
	fputc('\n', out);
	return text_page_end(&page);
}
