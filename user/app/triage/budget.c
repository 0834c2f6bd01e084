// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/budget.h"

#include "base/cleanup.h"

enum { STEP_MAPPINGS = 1, STEP_FILES, STEP_PAUSES };

/* A cost this many times over the limit is cut at once, before the period ends. */
#define FAR_TOO_DEAR 2
#define ADMISSION_SHARE 0.5
/*
 * Admits processes in the first poll, so that there is a result to show. The time is owed like any
 * other.
 */
#define ADMISSION_FIRST_S 0.02

/*
 * Our CPU time to load the programs and the unwind rows of a first suspect; and the rows of each
 * further suspect.
 */
#define SETUP_COST_S 0.25
#define FOLLOW_COST_S 0.1
/* CPU time for samples and the names of their stacks, until more credit has accrued. */
#define SAMPLES_COST_S 0.1

double budget_stacks_reserve_s(void)
{
	return SETUP_COST_S + SAMPLES_COST_S;
}

double budget_stacks_cost_s(bool loaded, bool has_stacks)
{
	double cost_s = loaded ? FOLLOW_COST_S : SETUP_COST_S;

	return has_stacks ? cost_s + FOLLOW_COST_S + SAMPLES_COST_S : cost_s;
}

static void period_begin(struct budget *budget)
{
	budget->begin_wall_s = budget->last_wall_s;
	budget->begin_cost = budget->last_cost;
	budget->polls = 0;
}

void budget_begin(struct budget *budget, double wall_s, const struct budget_cost *cost)
{
	budget->last_wall_s = wall_s;
	budget->last_cost = *cost;
	budget->debt_s = cost->polling_s;
	budget->periods = 0;
	period_begin(budget);
}

void budget_set_limit(struct budget *budget, double limit)
{
	if (limit > budget->limit)
		budget->step = 0;
	budget->limit = limit;
	budget->calm = 0;
	period_begin(budget);
}

static double all_of(const struct budget_cost *cost)
{
	return cost->polling_s + cost->escalation_s;
}

/* Settles the time between the latest poll and this one. */
static void settle(struct budget *budget, double wall_s, const struct budget_cost *cost)
{
	double earned_s = budget->limit * (wall_s - budget->last_wall_s);
	double polling_s = cost->polling_s - budget->last_cost.polling_s;
	double all_s = all_of(cost) - all_of(&budget->last_cost);

	budget->debt_s = MAX(budget->debt_s + polling_s - earned_s, 0.0);
	/* Polls with a maximum pause owe at most what one such pause pays for. */
	if (budget->pause_max_s > 0)
		budget->debt_s = MIN(budget->debt_s, budget->limit * budget->pause_max_s);
	budget->credit_s =
		MIN(budget->credit_s + earned_s - all_s, budget->limit * BUDGET_CREDIT_SPAN_S);
	budget->last_wall_s = wall_s;
	budget->last_cost = *cost;
	budget->polls++;
}

static void measure(struct budget *budget)
{
	double span_s = budget->last_wall_s - budget->begin_wall_s;
	bool over = budget->polls >= BUDGET_PERIOD_POLLS;

	/* The time span is too short. */
	if (span_s <= 0 || (!over && (budget->periods || budget->polls < 2)))
		return;
	budget->used = (all_of(&budget->last_cost) - all_of(&budget->begin_cost)) / span_s;
	if (over)
		budget->worst = MAX(budget->worst, budget->used);
}

/* Returns the mean cost of a poll as a share of its allowance at the nominal pause. */
static double poll_share(const struct budget *budget)
{
	double poll_s =
		(budget->last_cost.polling_s - budget->begin_cost.polling_s) / budget->polls;

	return poll_s / (budget->limit * budget->pause_s * budget_stretch(budget));
}

/* One step less may cost twice as much. If polling would then still be cheap, relax at once. */
static bool relax(struct budget *budget, double share)
{
	budget->calm = share <= 1. / 2 ? budget->calm + 1 : 0;
	if (share <= 1. / 8)
		budget->calm = BUDGET_RELIEF_PERIODS;
	if (!budget->step || budget->calm < BUDGET_RELIEF_PERIODS)
		return false;
	budget->calm = 0;
	budget->step--;
	return true;
}

/* Each step at best halves the cost. */
static bool shed(struct budget *budget, double share)
{
	unsigned before = budget->step;

	budget->calm = 0;
	for (; share > 1 && budget->step < BUDGET_STEPS; share /= 2)
		budget->step++;
	return budget->step > before;
}

bool budget_account(struct budget *budget, double wall_s, const struct budget_cost *cost)
{
	double share;
	bool over, changed = false;

	settle(budget, wall_s, cost);
	measure(budget);
	share = poll_share(budget);
	over = budget->polls >= BUDGET_PERIOD_POLLS;
	if (share > FAR_TOO_DEAR || (over && share > 1))
		changed = shed(budget, share);
	else if (over)
		changed = relax(budget, share);
	if (over || changed) {
		budget->periods++;
		period_begin(budget);
	}
	return changed;
}

bool budget_counts_mappings(const struct budget *budget)
{
	return budget->step < STEP_MAPPINGS;
}

bool budget_counts_files(const struct budget *budget)
{
	return budget->step < STEP_FILES;
}

static unsigned longest_stretch(const struct budget *budget)
{
	unsigned stretch = BUDGET_STRETCH_MAX;

	while (budget->pause_max_s > 0 && stretch > 1 &&
	       budget->pause_s * stretch > budget->pause_max_s)
		stretch /= 2;
	return stretch;
}

unsigned budget_stretch(const struct budget *budget)
{
	unsigned stretch = budget->step < STEP_PAUSES ? 1 : 1u << (budget->step - STEP_PAUSES + 1);

	return MIN(stretch, longest_stretch(budget));
}

double budget_pause_s(const struct budget *budget)
{
	double longest_s = budget->pause_max_s > 0 ? MAX(budget->pause_max_s, budget->pause_s)
						   : budget->pause_s * BUDGET_STRETCH_MAX;
	double stretched_s = budget->pause_s * budget_stretch(budget);

	return MIN(MAX(stretched_s, budget->debt_s / budget->limit), longest_s);
}

double budget_admission_s(const struct budget *budget)
{
	double share_s = ADMISSION_SHARE * budget->limit * budget->pause_s * budget_stretch(budget);

	return budget->polls || budget->periods ? share_s : MAX(share_s, ADMISSION_FIRST_S);
}
