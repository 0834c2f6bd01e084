/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds growth on this machine: polls /proc and the cgroups, keeps histories, judges and ranks. No
 * BPF, no printing. The caller owns the clock: it polls and reports at will.
 */
#ifndef LEAKMON_TRIAGE_TRIAGE_H
#define LEAKMON_TRIAGE_TRIAGE_H

#include "app/triage/budget.h"
#include "app/triage/groups.h"
#include "app/triage/limits.h"
#include "app/triage/machine.h"
#include "app/triage/population.h"
#include "report/triage_report.h"

/* The default pause between polls with --budget, also used with longer intervals. */
#define TRIAGE_POLL_NS 5000000000ull

struct triage {
	struct population population;
	struct groups groups;
	struct limits limits; /* watched if limits.near_share is set */
	struct machine machine;
	struct triage_machine machine_report; /* of the latest report */
	struct budget budget;
	double poll_interval_s; /* before the budget stretches it */
	double begin_s;		/* CLOCK_MONOTONIC */
	double polled_s;	/* since begin_s; negative: never */
	double due_s;		/* of the next poll */
	uint64_t random;	/* state of the generator */
	/* CPU time so far: ours for escalation and sampling; and the estimated time of their probes
	 * in targets. */
	double escalation_cpu_s, probe_s, sampling_s;
	/* Credit reserved for call stacks of suspects, which are the most useful answer. */
	double stacks_reserve_s;
	double owed_look_s; /* when managed_look() last exceeded the credit */
	uint64_t reports;
};

/* Begins a triage. Returns 0, or -errno after an error message. */
int triage_open(struct triage *triage, double poll_interval_s, double budget);
void triage_close(struct triage *triage);

/* Sets a new limit; a higher one makes the next poll come earlier. */
void triage_set_budget(struct triage *triage, double limit);

/* Returns seconds since triage_open(). */
double triage_now(const struct triage *triage);

/*
 * Returns seconds until the next poll, 0: now. Pauses vary by a fifth at random: at regular times,
 * a program with a period near a multiple of the pause would seem to change slowly (aliasing).
 */
double triage_pause_s(const struct triage *triage);

/* Returns the CPU time of leakmon and its children so far. */
double triage_cpu_s(void);

/* Returns the CPU seconds that the budget has saved up, for an escalation to spend. */
double triage_credit_s(const struct triage *triage);
/* Returns triage_credit_s() less the reserve for call stacks, for all else to spend. */
double triage_spare_s(const struct triage *triage);

/*
 * Polls all processes and groups once; logs when work is shed or resumed. Returns 0, or -errno
 * after an error message.
 */
int triage_poll(struct triage *triage);

/* Fills in an entry for one process, with its group or NULL; the entry borrows from both. */
void triage_entry_of(struct triage_entry *entry, const struct member *member,
		     const struct group *group, double now_s);

/*
 * Judges and ranks; at most `top` processes and as many groups (0: all). Returns 0 or -ENOMEM. The
 * report borrows from the triage, until the next poll.
 */
int triage_report(struct triage *triage, size_t top, struct triage_report *report);

/*
 * Sets the cause of the growth of an entry of the report. Call triage_report_rank() to update the
 * ranking.
 */
void triage_report_explain(struct triage_report *report, struct triage_entry *entry,
			   const struct triage_cause *cause);
/* Marks an entry whose growth may be garbage, as far as is known: it is not called leaking. */
void triage_report_doubt(struct triage_report *report, struct triage_entry *entry);
/*
 * Call it after the above: a group is not called leaking for the memory of such processes, or of
 * those that warm up; nor if nothing in it certainly grows, neither a process nor its number of
 * threads: the sum over short-lived processes wanders.
 */
void triage_report_doubt_groups(struct triage_report *report);
void triage_report_rank(struct triage_report *report);

#endif
