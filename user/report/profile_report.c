// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/profile_report.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"

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

/* What grows for sure, then what seems to, then what allocates most. */
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
