// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/diagnose/descriptors.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/hash.h"

/* A call stack with a smaller share of the growth is no answer. */
#define OPENER_SHARE 0.1
/* A call stack with this share is the cause. */
#define MAIN_SHARE 0.5
/*
 * If the remaining descriptors of all call stacks explain less than this share, the growth will be
 * closed later.
 */
#define STAYING_SHARE 0.5
/* A leak must also have opened some in the last 1/N of the time. */
#define RECENT_SHARE 3

/* The descriptors of all kinds that one call stack opened. */
struct stack {
	struct diagnosed_opener is;
	uint64_t recent; /* open ones opened in the last third of the time */
};

struct stacks {
	VEC(struct stack) list;
	struct hash places; /* report_site.id -> index in `list` */
	uint64_t watched_ns;
};

static void stacks_free(struct stacks *stacks)
{
	vec_free(&stacks->list);
	hash_free(&stacks->places);
}

static bool is_opened(const struct report_site *site)
{
	return site->site->family == FAMILY_DESCRIPTORS && site->site->lost != LM_LOST_BEFORE;
}

static struct stack *stack_of(struct stacks *stacks, const struct report_site *site)
{
	bool fresh;
	uint64_t *place = hash_put(&stacks->places, site->id, &fresh);
	struct stack *stack;

	if (!place)
		return NULL;
	if (!fresh)
		return &stacks->list.items[*place];
	*place = stacks->list.count;
	stack = vec_push(&stacks->list);
	if (stack)
		*stack = (struct stack){.is.site = site};
	return stack;
}

static void add_row(struct stack *stack, const struct report_site *row)
{
	const struct site *site = row->site;

	if (site->count > stack->is.site->site->count)
		stack->is.site = row;
	stack->is.opened += site->allocated_count;
	stack->is.closed += site->freed_count;
	stack->is.open += site->count;
	stack->is.oldest_ns = MAX(stack->is.oldest_ns, site->oldest_ns);
	stack->is.closes_reach_ns = MAX(stack->is.closes_reach_ns, site->freed_reach_ns);
}

/* Closes below 1/N of the opens are accidents, whatever their age. */
#define CLOSES_RARE 10

/*
 * Counts descriptors older than any that the call stack has closed; for one that hardly closes any,
 * all.
 */
static void count_ages(struct stacks *stacks, struct stack *stack, const struct report_site *row)
{
	bool hardly_closes = stack->is.closed * CLOSES_RARE <= stack->is.opened;

	for (size_t i = 0; i < row->blocks.count; i++) {
		uint64_t age_ns = row->blocks.items[i].age_ns;

		stack->is.staying += hardly_closes || age_ns > stack->is.closes_reach_ns;
		stack->recent += age_ns < stacks->watched_ns / RECENT_SHARE;
	}
}

static int stacks_fill(struct stacks *stacks, const struct report_process *process)
{
	for (size_t i = 0; i < process->sites.count; i++) {
		const struct report_site *row = &process->sites.items[i];
		struct stack *stack = is_opened(row) ? stack_of(stacks, row) : NULL;

		if (is_opened(row) && !stack)
			return -1;
		if (stack)
			add_row(stack, row);
	}
	for (size_t i = 0; i < process->sites.count; i++) {
		const struct report_site *row = &process->sites.items[i];

		if (is_opened(row))
			count_ages(stacks, stack_of(stacks, row), row);
	}
	return 0;
}

/*
 * Returns how long the process has been followed: the age of its earlier descriptors, or of the
 * oldest one since.
 */
static uint64_t watched_ns(const struct report_process *process)
{
	uint64_t oldest_ns = 0;

	for (size_t i = 0; i < process->sites.count; i++) {
		const struct site *site = process->sites.items[i].site;

		if (site->family == FAMILY_DESCRIPTORS)
			oldest_ns = MAX(oldest_ns, site->oldest_ns);
	}
	return oldest_ns;
}

/* If all were opened in the last third, a pool may just have filled; if none, it is full. */
static bool still_opens(const struct stack *stack)
{
	return stack->recent && stack->recent < stack->is.open;
}

static enum descriptors_verdict judge_stacks(const struct stacks *stacks, double growth,
					     struct diagnosed_opener *opener)
{
	const struct stack *most = NULL;
	uint64_t staying = 0;
	double share;

	for (size_t i = 0; i < stacks->list.count; i++) {
		const struct stack *stack = &stacks->list.items[i];

		staying += stack->is.staying;
		if (still_opens(stack) && (!most || stack->is.staying > most->is.staying))
			most = stack;
	}
	if (!staying || (double)staying < growth * STAYING_SHARE)
		return DESCRIPTORS_NO_LEAK;
	if (!most || !most->is.staying)
		return DESCRIPTORS_NO_LEAK;
	share = (double)most->is.staying / fmax(growth, (double)most->is.staying);
	if (most->is.site->site->lost)
		return DESCRIPTORS_COUNTED;
	if (share >= OPENER_SHARE) {
		*opener = most->is;
		opener->share = share;
	}
	return share >= MAIN_SHARE ? DESCRIPTORS_OPENED : DESCRIPTORS_SCATTERED;
}

enum descriptors_verdict descriptors_judge(const struct count_series *series,
					   const struct diagnosed_count *count,
					   const struct report *opened,
					   struct diagnosed_opener *opener)
{
	_cleanup_(stacks_free) struct stacks stacks = {0};
	const struct report_process *process;
	const struct descriptor_ledger *ledger;

	if (!count_grew(count) || count_series_trend(series) == COUNT_TREND_STANDS)
		return DESCRIPTORS_NO_LEAK;
	if (!opened || opened->processes.count != 1)
		return DESCRIPTORS_COUNTED;
	process = &opened->processes.items[0];
	ledger = &process->process->descriptors;
	stacks.watched_ns = watched_ns(process);
	if (stacks_fill(&stacks, process))
		return DESCRIPTORS_COUNTED;
	return judge_stacks(&stacks, (double)ledger->outstanding - (double)ledger->before, opener);
}

const char *descriptors_why(enum descriptors_verdict verdict)
{
	static const char *const reasons[] = {
		[DESCRIPTORS_NO_LEAK] = NULL,
		[DESCRIPTORS_COUNTED] = "descriptors are opened and not closed, as their number "
					"shows",
		[DESCRIPTORS_OPENED] = "descriptors are opened by this call stack and not closed",
		[DESCRIPTORS_SCATTERED] = "descriptors are opened by several call stacks and "
					  "not closed",
	};

	return reasons[verdict];
}
