// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/profile_report.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/snapshot.h"

static const char *const verdict_names[] = {
	[PROFILE_TOO_EARLY] = "too-early",
	[PROFILE_CHURNING] = "churning",
	[PROFILE_RETAINED] = "retained",
	[PROFILE_LEAKING] = "leaking",
};
_Static_assert(ARRAY_SIZE(verdict_names) == PROFILE_VERDICT_MAX_, "a name for every verdict");

const char *profile_verdict_name(enum profile_verdict verdict)
{
	return verdict_names[verdict];
}

static int descending(double a, double b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

/* Certain growth first, then apparent growth, then the most allocations. */
static int by_growth(const void *left, const void *right)
{
	const struct site_judgement *a = &((const struct profile_report_site *)left)->judgement;
	const struct site_judgement *b = &((const struct profile_report_site *)right)->judgement;
	int order = descending(a->growth_bytes_per_s.low, b->growth_bytes_per_s.low);

	if (!order)
		order = descending(a->growth_bytes_per_s.estimate, b->growth_bytes_per_s.estimate);
	return order ? order : descending(a->birth_bytes_per_s, b->birth_bytes_per_s);
}

static double growth_of(const struct profile_report_process *process)
{
	return process->sites.count ? process->sites.items[0].judgement.growth_bytes_per_s.low : 0;
}

static int by_first_site(const void *left, const void *right)
{
	const struct profile_report_process *a = left, *b = right;
	int order = descending(growth_of(a), growth_of(b));

	return order ? order : (a->pid > b->pid) - (a->pid < b->pid);
}

void profile_report_cut(struct profile_report *report, size_t top)
{
	for (size_t i = 0; i < report->processes.count; i++) {
		struct profile_report_process *process = &report->processes.items[i];

		for (size_t j = top; top && j < process->sites.count; j++)
			vec_free(&process->sites.items[j].frames.list);
		if (top && process->sites.count > top)
			process->sites.count = top;
	}
}

void profile_report_rank(struct profile_report *report, size_t top)
{
	for (size_t i = 0; i < report->processes.count; i++) {
		struct profile_report_process *process = &report->processes.items[i];

		if (process->sites.count)
			qsort(process->sites.items, process->sites.count,
			      sizeof(*process->sites.items), by_growth);
		process->sites_total = process->sites.count;
	}
	profile_report_cut(report, top);
	if (report->processes.count)
		qsort(report->processes.items, report->processes.count,
		      sizeof(*report->processes.items), by_first_site);
}

void profile_report_free(struct profile_report *report)
{
	for (size_t i = 0; i < report->processes.count; i++) {
		struct profile_report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++)
			vec_free(&process->sites.items[j].frames.list);
		vec_free(&process->sites);
		free(process->exe);
	}
	vec_free(&report->processes);
}

const char *profile_missed_why(const struct profile_report_process *process)
{
	if (!process->missed)
		return NULL;
	return process->missed_why == ECANCELED ? "it was over before it could be read"
						: strerror(process->missed_why);
}

/* -------- figures */

static bool is_choosing(const void *report)
{
	return ((const struct profile_report *)report)->choosing;
}

#define REPORT(member) offsetof(struct profile_report, member)
static const struct figure report_figures[] = {
	FIGURE("time", "time_ns", TIME, REPORT(time)),
	FIGURE("sequence", NULL, NUMBER, REPORT(sequence)),
	FIGURE("limit", "overhead_limit", REAL, REPORT(limit), .section = "overhead"),
	FIGURE("spent", NULL, REAL, REPORT(spent), .section = "overhead"),
	FIGURE("trap_ns", NULL, REAL, REPORT(trap_ns), .section = "overhead"),
	FIGURE("measured", NULL, FLAG, REPORT(measured), .section = "overhead"),
	FIGURE("cpu_s", NULL, REAL, REPORT(cpu_s), .section = "monitor"),
	FIGURE("resident_bytes", NULL, NUMBER, REPORT(rss_bytes), .section = "monitor"),
	FIGURE("held_back", NULL, FLAG, REPORT(held_back), .unrecorded = true,
	       .section = "monitor"),
	FIGURE("windows", NULL, NUMBER, REPORT(windows)),
	FIGURE("tracked_s", NULL, REAL, REPORT(tracked_s)),
	FIGURE("samples", NULL, NUMBER, REPORT(samples)),
	FIGURE("watched", NULL, NUMBER, REPORT(watched), .unrecorded = true, .shown = is_choosing),
};
const struct figures profile_report_figures = FIGURES(report_figures);

static const char *missed_why(const void *process)
{
	return profile_missed_why(process);
}

static bool is_chosen(const void *data)
{
	const struct profile_report_process *process = data;

	return process->chosen_confidence > 0 || process->chosen_near;
}

static bool has_memory(const void *process)
{
	return ((const struct profile_report_process *)process)->memory_bytes >= 0;
}

static bool has_growth(const void *process)
{
	return ((const struct profile_report_process *)process)->has_memory_growth;
}

static bool has_explained(const void *process)
{
	return ((const struct profile_report_process *)process)->explained >= 0;
}

static bool is_exact(const void *process)
{
	return ((const struct profile_report_process *)process)->exact_s > 0;
}

#define PROCESS(member) offsetof(struct profile_report_process, member)
#define NET(member) PROCESS(judgement.net_blocks_per_s.member)
static const struct figure process_figures[] = {
	FIGURE("pid", NULL, PID, PROCESS(pid)),
	FIGURE("comm", NULL, CHARS, PROCESS(comm),
	       .size = sizeof(((struct profile_report_process *)0)->comm)),
	FIGURE("exe", NULL, TEXT, PROCESS(exe), .unrecorded = true),
	FIGURE("exited", NULL, FLAG, PROCESS(exited), .unrecorded = true),
	FIGURE("oom_killed", NULL, FLAG, PROCESS(oom_killed), .unrecorded = true),
	FIGURE("spent", NULL, REAL, PROCESS(spent)),
	FIGURE("seconds", NULL, REAL, PROCESS(exact_s), .unrecorded = true, .section = "exact",
	       .shown = is_exact),
	FIGURE("events_per_s", NULL, REAL, PROCESS(events_per_s), .unrecorded = true,
	       .section = "exact"),
	FIGURE("core", NULL, REAL, PROCESS(core), .unrecorded = true, .section = "exact"),
	FIGURE("windows", NULL, NUMBER, PROCESS(judgement.windows)),
	FIGURE("tracked_s", NULL, REAL, PROCESS(judgement.tracked_s)),
	FIGURE("samples", NULL, NUMBER, PROCESS(samples)),
	FIGURE("dropped", NULL, NUMBER, PROCESS(dropped)),
	FIGURE("unfollowed", NULL, NUMBER, PROCESS(unfollowed)),
	FIGURE("missed_windows", NULL, NUMBER, PROCESS(missed), .unrecorded = true),
	FIGURE("missed_why", NULL, CALL, 0, .text = missed_why),
	FIGURE("heap_bytes_per_s", "chosen_growth", REAL, PROCESS(chosen_per_s),
	       .section = "chosen", .shown = is_chosen),
	FIGURE("confidence", "chosen_confidence", REAL, PROCESS(chosen_confidence),
	       .section = "chosen"),
	FIGURE("near_limit", NULL, FLAG, PROCESS(chosen_near), .unrecorded = true,
	       .section = "chosen"),
	FIGURE("blocks_per_s", "net_blocks", REAL, NET(estimate), .section = "net_growth"),
	FIGURE("low", "net_blocks_low", REAL, NET(low), .section = "net_growth"),
	FIGURE("high", "net_blocks_high", REAL, NET(high), .section = "net_growth"),
	FIGURE("memory_bytes", NULL, REAL, PROCESS(memory_bytes), .shown = has_memory),
	FIGURE("memory_growth_bytes_per_s", "memory_growth", REAL, PROCESS(memory_growth_per_s),
	       .shown = has_growth),
	FIGURE(NULL, "has_growth", FLAG, PROCESS(has_memory_growth)),
	FIGURE("explained", NULL, REAL, PROCESS(explained), .shown = has_explained),
	FIGURE("sites_total", NULL, NUMBER, PROCESS(sites_total)),
};
const struct figures profile_process_figures = FIGURES(process_figures);

#define SITE(member) offsetof(struct profile_report_site, member)
#define JUDGED(member) SITE(judgement.member)
static const struct figure site_figures[] = {
	FIGURE("id", "stack", ID, SITE(id)),
	FIGURE("growth_bytes_per_s", "growth_bytes", REAL, JUDGED(growth_bytes_per_s.estimate)),
	FIGURE("low", "growth_bytes_low", REAL, JUDGED(growth_bytes_per_s.low)),
	FIGURE("high", "growth_bytes_high", REAL, JUDGED(growth_bytes_per_s.high)),
	FIGURE("most", "most_bytes", REAL, JUDGED(most_bytes_per_s)),
	FIGURE("growth_blocks_per_s", "growth_blocks", REAL, JUDGED(growth_blocks_per_s.estimate)),
	FIGURE(NULL, "growth_blocks_low", REAL, JUDGED(growth_blocks_per_s.low)),
	FIGURE(NULL, "growth_blocks_high", REAL, JUDGED(growth_blocks_per_s.high)),
	FIGURE("births_per_s", "births", REAL, JUDGED(births_per_s.estimate)),
	FIGURE("births_low", NULL, REAL, JUDGED(births_per_s.low)),
	FIGURE("births_high", NULL, REAL, JUDGED(births_per_s.high)),
	FIGURE("birth_bytes_per_s", "birth_bytes", REAL, JUDGED(birth_bytes_per_s)),
};
const struct figures profile_site_figures = FIGURES(site_figures);

static bool will_be_ready(const void *site)
{
	const struct site_judgement *judgement =
		&((const struct profile_report_site *)site)->judgement;

	return judgement->verdict == PROFILE_TOO_EARLY && judgement->ready_s >= 0;
}

static const struct figure site_verdict_figures[] = {
	FIGURE("verdict", NULL, NAME, JUDGED(verdict), .name = profile_verdict_name,
	       .names = PROFILE_VERDICT_MAX_),
	FIGURE("why", NULL, TEXT, JUDGED(why)),
	FIGURE("ready_s", NULL, REAL, JUDGED(ready_s), .shown = will_be_ready),
	FIGURE("end", "walk_end", NAME, SITE(end), .name = walk_end_name, .names = LM_WALK_MAX_,
	       .lenient = true),
};
const struct figures profile_site_verdict_figures = FIGURES(site_verdict_figures);

#define POINT(member) offsetof(struct survival_point, member)
static const struct figure point_figures[] = {
	FIGURE("age_s", NULL, REAL, POINT(age_s)),
	FIGURE("share", "untouched", REAL, POINT(untouched.estimate)),
	FIGURE("low", "untouched_low", REAL, POINT(untouched.low)),
	FIGURE("high", "untouched_high", REAL, POINT(untouched.high)),
	FIGURE("not_known_dead", "undead", REAL, POINT(undead.estimate)),
	FIGURE(NULL, "undead_low", REAL, POINT(undead.low)),
	FIGURE(NULL, "undead_high", REAL, POINT(undead.high)),
	FIGURE("samples", NULL, REAL, POINT(samples)),
};
const struct figures survival_figures = FIGURES(point_figures);
