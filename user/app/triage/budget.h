/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of the triage's cost, and its savings to stay below them. Shares are of one core:
 * 0.01 is 10 ms of CPU time in a second. The clock and the CPU time are handed in.
 *
 * What was spent is earned before more is: a poll that was dearer than the time since the one
 * before allows makes the next one wait (debt_s). So the share is kept from the beginning, to
 * within one poll.
 *
 * Where polls are too dear for their pauses, something is shed: at once and as many steps as it
 * takes where they cost twice what they may, else after a period of polls. Steps are taken back
 * one at a time, when twice the cost would have fitted for RELIEF periods, or eight times for one.
 */
#ifndef LEAKMON_TRIAGE_BUDGET_H
#define LEAKMON_TRIAGE_BUDGET_H

#include <stdbool.h>

#define BUDGET_PERIOD_POLLS 4
#define BUDGET_RELIEF_PERIODS 3
/* Steps: 1 mappings, 2 files; every further one doubles the pause between polls. */
#define BUDGET_STEPS 8
#define BUDGET_STRETCH_MAX (1u << (BUDGET_STEPS - 2))

/* CPU time since the beginning, of leakmon and its children. */
struct budget_cost {
	double polling_s;    /* what the steps can make cheaper, and reports */
	double escalation_s; /* attaching and detaching, and the estimated time of the probes */
};

struct budget {
	double limit;	/* share of one core */
	double pause_s; /* between polls, when nothing is shed */
	/* Polls keep at least this rate, whatever they cost: somebody looks. 0: no such bound. */
	double pause_max_s;
	double used;	/* of the latest period, or of the one that runs if it is the first */
	double worst;	/* of all periods */
	unsigned step;	/* 0: nothing is shed */
	unsigned calm;	/* periods in a row that would have allowed one step less */
	unsigned polls; /* of the period that runs */
	unsigned periods;
	double begin_wall_s, last_wall_s;
	struct budget_cost begin_cost, last_cost;
	double debt_s; /* CPU time that polling has had in advance */
	/* Credit of an escalation: what was not spent so far, at most of CREDIT_SPAN. */
	double credit_s;
};

#define BUDGET_CREDIT_SPAN_S 600.0

/* Before there is a suspect, so much of the credit is for call stacks only. */
double budget_stacks_reserve_s(void);

/*
 * What must be saved up to sample call stacks of one more suspect: more where the programs are not
 * loaded. One that has call stacks to show goes on when there is enough for a new one as well.
 */
double budget_stacks_cost_s(bool loaded, bool has_stacks);

/*
 * Another limit from now on. A higher one takes up at once what was shed: the polls to come tell
 * whether it fits.
 */
void budget_set_limit(struct budget *budget, double limit);

/*
 * Before the first poll. What was spent by then (starting) is owed, but says nothing about polls.
 */
void budget_begin(struct budget *budget, double wall_s, const struct budget_cost *cost);

/*
 * After each poll. True: steps were taken, or one was taken back. Escalation takes no step: it is
 * paid from what was saved up.
 */
bool budget_account(struct budget *budget, double wall_s, const struct budget_cost *cost);

bool budget_counts_mappings(const struct budget *budget);
bool budget_counts_files(const struct budget *budget);
/* By which the pause between polls is multiplied: 1, 2, 4, ... */
unsigned budget_stretch(const struct budget *budget);

/* Until the next poll: pause_s, stretched, or longer to pay what is owed; at most pause_max_s. */
double budget_pause_s(const struct budget *budget);

/* CPU time of a poll that may go into processes that are new: the others must be read, too. */
double budget_admission_s(const struct budget *budget);

#endif
