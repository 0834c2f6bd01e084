/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the triage may cost, and what it does without to stay below that. Shares are of one core:
 * 0.01 is 10 ms of CPU time in a second. The clock and the CPU time are handed in.
 *
 * Steps are taken one at a time, after each PERIOD of polls that was too dear, and taken back one
 * at a time when twice the cost would have fitted for RELIEF periods, or eight times for one.
 */
#ifndef LEAKMON_TRIAGE_BUDGET_H
#define LEAKMON_TRIAGE_BUDGET_H

#include <stdbool.h>

#define BUDGET_PERIOD_POLLS 4
#define BUDGET_RELIEF_PERIODS 3
/* Steps: 1 mappings, 2 files; every further one doubles the pause between polls. */
#define BUDGET_STEPS 8

/* CPU time since the beginning, of leakmon and its children. */
struct budget_cost {
	double polling_s;    /* what the steps can make cheaper, and reports */
	double escalation_s; /* attaching and detaching, and the estimated time of the probes */
};

struct budget {
	double limit;	/* share of one core */
	double used;	/* of the latest period; 0 before it has ended */
	double worst;	/* of all periods */
	unsigned step;	/* 0: nothing is shed */
	unsigned calm;	/* periods in a row that would have allowed one step less */
	unsigned polls; /* of the period that runs */
	double begin_wall_s;
	struct budget_cost begin_cost;
	bool begun;
	/* What an escalation may spend: what was not spent so far, at most of CREDIT_SPAN. */
	double credit_s;
};

#define BUDGET_CREDIT_SPAN_S 600.0

/*
 * Called after each poll. True: a step was taken or taken back. The first call only begins: what
 * starting costs is paid once. Escalation takes no step: it is paid from what was saved up.
 */
bool budget_account(struct budget *budget, double wall_s, const struct budget_cost *cost);

bool budget_counts_mappings(const struct budget *budget);
bool budget_counts_files(const struct budget *budget);
/* By which the pause between polls is multiplied: 1, 2, 4, ... */
unsigned budget_stretch(const struct budget *budget);

#endif
