/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growth on this machine: polls /proc and the cgroups, remembers, judges and ranks. No BPF, no
 * printing. The caller owns the clock: it polls and reports when it wants.
 */
#ifndef LEAKMON_TRIAGE_TRIAGE_H
#define LEAKMON_TRIAGE_TRIAGE_H

#include "app/triage/budget.h"
#include "app/triage/groups.h"
#include "app/triage/limits.h"
#include "app/triage/machine.h"
#include "app/triage/population.h"
#include "report/triage_report.h"

/* The pause between polls that --budget allows by default, and that intervals above it keep to. */
#define TRIAGE_POLL_NS 5000000000ull

struct triage {
	struct population population;
	struct groups groups;
	struct limits limits; /* looked at if limits.near_share is set */
	struct machine machine;
	struct triage_machine machine_report; /* of the latest report */
	struct budget budget;
	double poll_interval_s; /* before the budget stretches it */
	double begin_s;		/* CLOCK_MONOTONIC */
	double polled_s;	/* since the begin; negative: never */
	double due_s;		/* of the next poll */
	uint64_t random;	/* state */
	/* CPU time so far: of ours, what went into escalation and sampling; and the estimated time
	 * of their probes in targets. */
	double escalation_cpu_s, probe_s, sampling_s;
	/* Part of the credit for call stacks of suspects only: they are the answer. */
	double stacks_reserve_s;
	double owed_look_s; /* when managed_look() last read more than the credit allows */
	uint64_t reports;
};

/* 0 or -errno after an error message. */
int triage_open(struct triage *triage, double poll_interval_s, double budget);
void triage_close(struct triage *triage);

/* Another limit from now on; with a higher one, the next poll comes earlier. */
void triage_set_budget(struct triage *triage, double limit);

/* Seconds since triage_open(). */
double triage_now(const struct triage *triage);

/*
 * Seconds until the next poll, 0: now. Pauses vary by a fifth, by chance: read at even times, a
 * program with a period near a multiple of the pause seems to change slowly (aliasing).
 */
double triage_pause_s(const struct triage *triage);

/* CPU time of leakmon and its children so far. */
double triage_cpu_s(void);

/* CPU seconds that the budget has saved up: what an escalation may cost. */
double triage_credit_s(const struct triage *triage);
/* The same without what is kept for call stacks: what everything else may cost. */
double triage_spare_s(const struct triage *triage);

/* 0 or -errno after an error message. Says when something is shed, or taken up again. */
int triage_poll(struct triage *triage);

/* An entry for one process, in a group or NULL; the entry borrows from both. */
void triage_entry_of(struct triage_entry *entry, const struct member *member,
		     const struct group *group, double now_s);

/*
 * Judges and ranks; at most `top` processes and as many groups (0: all). 0 or -ENOMEM. The report
 * borrows from the triage, until the next poll.
 */
int triage_report(struct triage *triage, size_t top, struct triage_report *report);

/* For a process of the report: what its growth is. The ranking stays until it is made again. */
void triage_report_explain(struct triage_report *report, struct triage_entry *entry,
			   const struct triage_cause *cause);
/* Nothing proves (yet) that what grows is no garbage: it is not called leaking. */
void triage_report_doubt(struct triage_report *report, struct triage_entry *entry);
/* After these: a group is not called leaking for the memory of such processes, and of those that
 * warm up; nor if nothing in it grows for sure, neither a process nor its number of threads: the
 * sum over processes that come and go wanders. */
void triage_report_doubt_groups(struct triage_report *report);
void triage_report_rank(struct triage_report *report);

#endif
