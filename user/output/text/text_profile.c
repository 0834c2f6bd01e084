// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "base/text.h"
#include "base/units.h"
#include "report/profile_report.h"
#include "output/text/text.h"
#include "output/output.h"
#include "report/profile_diff.h"

/* Writes "+1.2 KiB/s (+0.9 KiB to +1.6 KiB)". */
static void growth_write(FILE *out, const struct interval *growth)
{
	char estimate[16], low[16], high[16];

	fprintf(out, "%s/s (95%%: %s to %s)", units_bytes(estimate, growth->estimate, "+"),
		units_bytes(low, growth->low, "+"),
		isinf(growth->high) ? "?" : units_bytes(high, growth->high, "+"));
}

/* Writes the untouched share at a few ages. */
static void survival_write(FILE *out, const struct site_judgement *judgement)
{
	size_t shown = 0;
	char age[16];

	for (size_t i = 0; i < judgement->points; i++) {
		const struct survival_point *point = &judgement->survival[i];
		bool last = i + 1 == judgement->points;

		/* 1 s, 8 s, 64 s, 4 min, 16 min, ... and the greatest. */
		if (!last && i != 0 && i != 3 && (i < 6 || (i - 6) % 6))
			continue;
		fprintf(out, "%s%.3g%% after %s",
			shown++ ? ", " : "      untouched: ", 100 * point->untouched.estimate,
			units_time(age, point->age_s));
	}
	if (shown)
		fputc('\n', out);
}

static void verdict_write(FILE *out, const struct text_form *form,
			  const struct site_judgement *judgement)
{
	const struct text_style *style = &text_styles[form->colour];
	bool leaks = judgement->verdict == PROFILE_LEAKING;
	char ready[16];

	fprintf(out, "%s%s%s: %s", leaks ? style->bold : "",
		profile_verdict_name(judgement->verdict), leaks ? style->plain : "",
		judgement->why ? judgement->why : "");
	if (judgement->verdict == PROFILE_TOO_EARLY && judgement->ready_s > 0)
		fprintf(out, " (more in %s)", units_time(ready, judgement->ready_s));
	fputc('\n', out);
}

void text_profile_numbers_write(FILE *out, const struct text_form *form,
				const struct profile_report_site *site)
{
	const struct site_judgement *judgement = &site->judgement;

	fputs("   ", out);
	growth_write(out, &judgement->growth_bytes_per_s);
	fputs("  ", out);
	verdict_write(out, form, judgement);
	fprintf(out, "      %.4g blocks/s allocated (95%%: %.4g to %.4g)\n",
		judgement->births_per_s.estimate, judgement->births_per_s.low,
		judgement->births_per_s.high);
	survival_write(out, judgement);
}

static void site_write(FILE *out, const struct text_form *form,
		       const struct profile_report_site *site)
{
	text_profile_numbers_write(out, form, site);
	text_frames_write(out, form, &site->frames);
	if (!site->frames.list.count)
		fputs("      [no stack]\n", out);
}

/* Writes the rest of the process's line. */
static void tracking_write(FILE *out, const struct profile_report_process *process)
{
	if (process->exact_s > 0) {
		fprintf(out, "tracked exactly for %.0f s: %.3g events/s, %.2f%% of a core spent\n",
			process->exact_s, process->events_per_s, 100 * process->core);
		return;
	}
	fprintf(out, "%zu windows, %.2f s tracked, %.2f%% of ", process->judgement.windows,
		process->judgement.tracked_s, 100 * process->spent);
	if (process->floor > 0)
		fprintf(out, "%.3g%% of a core spent (it uses less)\n", 100 * process->floor);
	else
		fputs("its CPU time spent\n", out);
	if (!process->judgement.windows && !process->missed && !process->exited)
		fputs("   no window yet: its cost, a share of the CPU time used, is saved up "
		      "first\n",
		      out);
	if (process->exact_why && !process->exited)
		fprintf(out, "   not tracked exactly: %s\n", process->exact_why);
}

/* Writes dropped allocations, then the call stacks. */
static void sites_write(FILE *out, const struct text_form *form,
			const struct profile_report_process *process)
{
	if (process->dropped)
		fprintf(out, "   %llu allocations found no room: their windows were left out\n",
			(unsigned long long)process->dropped);
	if (process->unfollowed)
		fprintf(out,
			"   %llu allocations came from call stacks beyond the limit, which are "
			"not followed\n",
			(unsigned long long)process->unfollowed);
	if (process->missed)
		fprintf(out, "   %llu windows came to nothing (the latest: %s)\n",
			(unsigned long long)process->missed, profile_missed_why(process));
	for (size_t i = 0; i < process->sites.count; i++)
		site_write(out, form, &process->sites.items[i]);
}

void text_profile_suspect_write(FILE *out, const struct text_form *form,
				const struct profile_report_process *process)
{
	char share[64] = "";

	if (process->explained >= 0)
		snprintf(share, sizeof(share), "these explain %.0f%% of the growth; ",
			 100 * process->explained);
	fprintf(out, "         profiled: %s", share);
	tracking_write(out, process);
	sites_write(out, form, process);
}

static void process_write(FILE *out, const struct profile_report *report,
			  const struct profile_report_process *process)
{
	const struct text_style *style = &text_styles[report->form.colour];
	const struct interval *net = &process->judgement.net_blocks_per_s;
	char memory[16], growth[16];

	fprintf(out, "%sPID %u (", style->bold, process->pid);
	text_print_inert(out, process->comm);
	fprintf(out, ")%s%s: ", style->plain,
		process->oom_killed ? ", OOM-killed"
		: process->exited   ? ", which has ended"
				    : "");
	tracking_write(out, process);
	if (process->chosen_near)
		fputs("   chosen: it is close to its memory limit\n", out);
	else if (process->chosen_confidence > 0)
		fprintf(out, "   chosen: its heap grows by %s/s, at a confidence of %.2f\n",
			units_bytes(growth, process->chosen_per_s, ""), process->chosen_confidence);
	if (!isnan(net->estimate) && isfinite(net->low))
		fprintf(out, "   allocations - frees: %+.4g blocks/s (95%%: %+.4g to %+.4g)\n",
			net->estimate, net->low, net->high);
	if (process->memory_bytes >= 0)
		fprintf(out, "   memory: %s", units_bytes(memory, process->memory_bytes, ""));
	if (process->memory_bytes >= 0 && process->has_memory_growth)
		fprintf(out, ", %s/s", units_bytes(growth, process->memory_growth_per_s, "+"));
	if (process->explained >= 0)
		fprintf(out, ", of which these sites explain %.0f%%", 100 * process->explained);
	if (process->memory_bytes >= 0)
		fputc('\n', out);
	sites_write(out, &report->form, process);
	if (process->sites_total > process->sites.count)
		fprintf(out, "   %zu more call stacks: -T shows them\n",
			process->sites_total - process->sites.count);
}

int text_profile_write(FILE *stream, const void *data)
{
	const struct profile_report *report = data;
	struct text_page page;
	FILE *out = text_page_begin(&page, stream, &report->form);
	char clock[TEXT_TIME_SIZE];

	fprintf(out,
		"[%s] Profile: %zu windows, %.2f s tracked, %zu blocks followed; cost: %.2f%% of "
		"their CPU (limit %.3g%%)\n",
		text_clock(clock, report->time.tv_sec), report->windows, report->tracked_s,
		report->samples, 100 * report->spent, 100 * report->limit);
	if (!report->measured)
		fputs("   what a trap costs could not be measured: it is a guess\n", out);
	if (report->held_back)
		fputs("   leakmon has used as much CPU time as it may: windows wait\n", out);
	if (report->choosing)
		fprintf(out, "   chosen: %zu of %zu processes, with certain heap growth\n",
			report->processes.count, report->watched);
	text_kills_write(out, report->oom);
	for (size_t i = 0; i < report->processes.count; i++)
		process_write(out, report, &report->processes.items[i]);
	text_stored_diagnoses_write(out, report->diagnoses);
	text_lost_reports_write(out, report->lost_reports);
	return text_page_end(&page);
}

static const char *verdict_of(const struct profile_report_site *site)
{
	return site ? profile_verdict_name(site->judgement.verdict) : "not there";
}

static void change_write(FILE *out, const struct profile_diff *diff,
			 const struct profile_change *change)
{
	const struct text_style *style = &text_styles[diff->form.colour];
	const struct profile_report_process *process = profile_change_process(change);
	const struct profile_report_site *sites[] = {change->before, change->after};
	char rate[16];

	fprintf(out, "%s%s/s%s%s  PID %u (", change->sure ? style->bold : "",
		units_bytes(rate, change->bytes_per_s, "+"), change->sure ? style->plain : "",
		change->sure ? " for sure" : "", process->pid);
	text_print_inert(out, process->comm);
	fputs(")\n", out);
	for (size_t i = 0; i < 2; i++) {
		fputs(i ? "      now:    " : "      before: ", out);
		if (sites[i])
			growth_write(out, &sites[i]->judgement.growth_bytes_per_s);
		fprintf(out, "%s%s\n", sites[i] ? "  " : "", verdict_of(sites[i]));
	}
	text_frames_write(out, &diff->form, &profile_change_site(change)->frames);
}

int text_profile_diff_write(FILE *stream, const void *data)
{
	const struct profile_diff *diff = data;
	struct text_page page;
	FILE *out = text_page_begin(&page, stream, &diff->form);
	size_t shown = diff->changes.count;
	const struct profile_report *sides[] = {diff->before, diff->after};
	const char *const names[] = {diff->before_name, diff->after_name};

	fputs("Profiles compared: bytes that call stacks grow by in a second\n", out);
	for (size_t i = 0; i < 2; i++) {
		char date[TEXT_TIME_SIZE];

		fprintf(out, "   %s ", i ? "now:   " : "before:");
		text_print_inert(out, names[i]);
		fprintf(out, ", %s, %zu windows, %.2f s tracked\n",
			text_date(date, sides[i]->time.tv_sec), sides[i]->windows,
			sides[i]->tracked_s);
	}
	if (diff->top && shown > diff->top)
		shown = diff->top;
	for (size_t i = 0; i < shown; i++)
		change_write(out, diff, &diff->changes.items[i]);
	if (shown < diff->changes.count)
		fprintf(out, "%zu more call stacks: -T shows them\n", diff->changes.count - shown);
	return text_page_end(&page);
}
