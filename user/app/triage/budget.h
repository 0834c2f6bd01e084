/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits the triage's cost by shedding work and saving up. Shares are of one core: 0.01 is 10 ms of
 * CPU time per second. The caller passes in the clock and the CPU time.
 *
 * Time spent must be earned before more is spent: a poll that cost more than the time since the
 * previous one allows makes the next one wait (debt_s). So the share is kept from the beginning, to
 * within one poll.
 *
 * Where polls cost too much for their pauses, work is shed: at once and in as many steps as needed
 * if they cost twice the limit, else after a period of polls. Steps are taken back one at a time,
 * when twice the cost would have fitted for RELIEF periods, or eight times the cost for one.
 */
#ifndef LEAKMON_TRIAGE_BUDGET_H
#define LEAKMON_TRIAGE_BUDGET_H

#include <stdbool.h>

#define BUDGET_PERIOD_POLLS 4
#define BUDGET_RELIEF_PERIODS 3
/* Steps: 1 mappings, 2 files; each further step doubles the pause between polls. */
#define BUDGET_STEPS 8
#define BUDGET_STRETCH_MAX (1u << (BUDGET_STEPS - 2))

/* CPU time of leakmon and its children since the beginning. */
struct budget_cost {
	double polling_s;    /* polls and reports, which the steps can make cheaper */
	double escalation_s; /* attaching and detaching, and the estimated time of the probes */
};

struct budget {
	double limit;	/* share of one core */
	double pause_s; /* between polls, with nothing shed */
	/* Upper bound of the pause, whatever the cost, because somebody is watching. 0: no
	 * bound. */
	double pause_max_s;
	double used;	/* in the latest period, or in the current one if it is the first */
	double worst;	/* maximum over all periods */
	unsigned step;	/* 0: nothing is shed */
	unsigned calm;	/* periods in a row that would have allowed one step less */
	unsigned polls; /* in the current period */
	unsigned periods;
	double begin_wall_s, last_wall_s;
	struct budget_cost begin_cost, last_cost;
	double debt_s; /* CPU time that polling has spent in advance */
	/* Credit for escalation: unspent time, at most that of CREDIT_SPAN. */
	double credit_s;
};

#define BUDGET_CREDIT_SPAN_S 600.0

/* Returns the part of the credit reserved for call stacks until there is a suspect. */
double budget_stacks_reserve_s(void);

/*
 * Returns the credit needed to sample call stacks of one more suspect: more if the programs are not
 * loaded. A suspect that already has call stacks resumes only when the credit also covers a new
 * suspect.
 */
double budget_stacks_cost_s(bool loaded, bool has_stacks);

/*
 * Sets a new limit. A higher one restores all shed work at once: the next polls show whether it
 * fits.
 */
void budget_set_limit(struct budget *budget, double limit);

/*
 * Begins before the first poll. CPU time spent by then (starting) is owed, but does not count as a
 * poll's.
 */
void budget_begin(struct budget *budget, double wall_s, const struct budget_cost *cost);

/*
 * Accounts for a finished poll. Returns true if steps were taken or one was taken back. Escalation
 * takes no step: its credit pays for it.
 */
bool budget_account(struct budget *budget, double wall_s, const struct budget_cost *cost);

bool budget_counts_mappings(const struct budget *budget);
bool budget_counts_files(const struct budget *budget);
/* Returns the factor of the pause between polls: 1, 2, 4, ... */
unsigned budget_stretch(const struct budget *budget);

/*
 * Returns seconds until the next poll: pause_s, stretched, or longer to pay the debt; at most
 * pause_max_s.
 */
double budget_pause_s(const struct budget *budget);

/* Returns the CPU time that a poll may spend on new processes: the known ones must be read, too. */
double budget_admission_s(const struct budget *budget);

#endif
