// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/thread_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/figures.h"

#define NS_PER_MS 1000000

const char *thread_holding_why(const struct thread_holding *holding)
{
	int error = holding->err;

	if (error == -ESRCH)
		return "the process has ended";
	if (error == -EPERM || error == -EACCES)
		return "its memory cannot be read without CAP_SYS_PTRACE";
	return strerror(-error);
}

static void thread_holding_free(struct thread_holding *holding)
{
	if (holding)
		retain_result_free(&holding->result);
	free(holding);
}

static void live_group_free(struct live_group *group)
{
	for (size_t i = 0; i < group->waits.count; i++)
		vec_free(&group->waits.items[i].stack.list);
	vec_free(&group->waits);
	vec_free(&group->stack.list);
	vec_free(&group->start.list);
}

void thread_census_free(struct thread_census *census)
{
	for (size_t i = 0; i < census->live.count; i++)
		live_group_free(&census->live.items[i]);
	vec_free(&census->live);
	for (size_t i = 0; i < census->groups.count; i++) {
		vec_free(&census->groups.items[i].stack.list);
		vec_free(&census->groups.items[i].start.list);
		vec_free(&census->groups.items[i].holders.list);
	}
	thread_holding_free(census->holding);
	if (census->goroutines)
		task_report_free(census->goroutines);
	free(census->goroutines);
	for (size_t i = 0; i < census->runtimes.count; i++)
		runtime_figures_free(&census->runtimes.items[i]);
	vec_free(&census->runtimes);
	if (census->virtual_threads)
		task_report_free(census->virtual_threads);
	free(census->virtual_threads);
	vec_free(&census->groups);
	vec_free(&census->dead);
}

void thread_report_free(struct thread_report *report)
{
	for (size_t i = 0; i < report->processes.count; i++)
		thread_census_free(&report->processes.items[i]);
	vec_free(&report->processes);
}

/* -------- figures */

static bool is_followed(const void *census)
{
	return !((const struct thread_census *)census)->why;
}

#define CENSUS(member) offsetof(struct thread_census, member)
static const struct figure census_figures[] = {
	FIGURE("alive", NULL, NUMBER, CENSUS(alive)),
	FIGURE("dead", NULL, NUMBER, CENSUS(dead.count)),
	FIGURE("dead_before_attach", NULL, NUMBER, CENSUS(dead_before)),
	FIGURE("dead_stack_bytes", NULL, NUMBER, CENSUS(stack_bytes)),
	FIGURE("dead_resident_bytes", NULL, NUMBER, CENSUS(resident_bytes)),
	FIGURE("dead_heap_bytes", NULL, NUMBER, CENSUS(heap_bytes), .conditional = true),
	FIGURE("dead_heap_count", NULL, NUMBER, CENSUS(heap_count), .conditional = true),
	/* Not in JSON: null differs from zero. */
	FIGURE(NULL, NULL, NUMBER, CENSUS(dead.count), .shown = is_followed, .metric = METRIC_GAUGE,
	       .metric_name = "dead_threads", .help = "Threads that ended and were never joined."),
};
const struct figures thread_count_figures = FIGURES(census_figures);

#define LEDGER(member) FIGURE(#member, NULL, NUMBER, offsetof(struct lm_thread_ledger, member))
static const struct figure ledger_figures[] = {
	LEDGER(created),  LEDGER(ended),	   LEDGER(joined),
	LEDGER(detached), LEDGER(failed),	   LEDGER(reaped_unseen),
	LEDGER(dropped),  LEDGER(untracked_joins), LEDGER(untracked_ends),
};
const struct figures thread_ledger_figures = FIGURES(ledger_figures);

#define GROUP(member) offsetof(struct thread_group, member)
static const struct figure group_figures[] = {
	FIGURE("stack_bytes", NULL, NUMBER, GROUP(stack_bytes)),
	FIGURE("resident_bytes", NULL, NUMBER, GROUP(resident_bytes)),
	FIGURE("heap_bytes", NULL, NUMBER, GROUP(heap_bytes), .conditional = true),
	FIGURE("heap_count", NULL, NUMBER, GROUP(heap_count), .conditional = true),
};
const struct figures thread_group_figures = FIGURES(group_figures);

static bool is_compared(const void *group)
{
	return ((const struct live_group *)group)->first_count >= 0;
}

#define LIVE(member) offsetof(struct live_group, member)
static const struct figure live_figures[] = {
	FIGURE("id", NULL, ID, LIVE(id)),
	FIGURE("count", NULL, NUMBER, LIVE(count)),
	FIGURE("first_count", NULL, SIGNED, LIVE(first_count), .shown = is_compared),
	FIGURE("since_ms", NULL, NUMBER, LIVE(since_ns), .per = NS_PER_MS, .shown = is_compared),
	FIGURE("main", NULL, FLAG, LIVE(main)),
	FIGURE("before_attach", NULL, FLAG, LIVE(before_attach)),
};
const struct figures live_group_figures = FIGURES(live_figures);
