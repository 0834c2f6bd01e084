// SPDX-License-Identifier: GPL-2.0-or-later
#include "triage/budget.h"

#include "base/cleanup.h"

enum { STEP_MAPPINGS = 1, STEP_FILES, STEP_PAUSES };

static void period_begin(struct budget *budget, double wall_s, const struct budget_cost *cost)
{
	budget->begin_wall_s = wall_s;
	budget->begin_cost = *cost;
	budget->polls = 0;
	budget->begun = true;
}

/* One step less may cost twice as much. Where it would cost next to nothing, nobody waits. */
static bool relax(struct budget *budget, double polling)
{
	budget->calm = polling <= budget->limit / 2 ? budget->calm + 1 : 0;
	if (polling <= budget->limit / 8)
		budget->calm = BUDGET_RELIEF_PERIODS;
	if (!budget->step || budget->calm < BUDGET_RELIEF_PERIODS)
		return false;
	budget->calm = 0;
	budget->step--;
	return true;
}

static bool shed(struct budget *budget)
{
	budget->calm = 0;
	if (budget->step == BUDGET_STEPS)
		return false;
	budget->step++;
	return true;
}

bool budget_account(struct budget *budget, double wall_s, const struct budget_cost *cost)
{
	double span_s = wall_s - budget->begin_wall_s, polling_s, all_s;

	if (!budget->begun) {
		period_begin(budget, wall_s, cost);
		return false;
	}
	if (++budget->polls < BUDGET_PERIOD_POLLS || span_s <= 0)
		return false;
	polling_s = cost->polling_s - budget->begin_cost.polling_s;
	all_s = polling_s + cost->escalation_s - budget->begin_cost.escalation_s;
	budget->used = all_s / span_s;
	budget->worst = MAX(budget->worst, budget->used);
	budget->credit_s = MIN(budget->credit_s + budget->limit * span_s - all_s,
			       budget->limit * BUDGET_CREDIT_SPAN_S);
	period_begin(budget, wall_s, cost);
	return polling_s > budget->limit * span_s ? shed(budget)
						  : relax(budget, polling_s / span_s);
}

bool budget_counts_mappings(const struct budget *budget)
{
	return budget->step < STEP_MAPPINGS;
}

bool budget_counts_files(const struct budget *budget)
{
	return budget->step < STEP_FILES;
}

unsigned budget_stretch(const struct budget *budget)
{
	return budget->step < STEP_PAUSES ? 1 : 1u << (budget->step - STEP_PAUSES + 1);
}
