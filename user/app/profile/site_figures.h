/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of one process and its sites from windows and looks: births per second, how long blocks
 * live, how fast each site grows, and a verdict. Pure: times are handed in, in seconds since the
 * run began, and nothing is read.
 *
 * A window is a short time in which every allocation and free is seen. The blocks that are
 * outstanding at its end are looked at again at fixed ages. Growth is the rate at which blocks come
 * that reach the settled age, in the latest third of the run, times the share of those that go on
 * to the greatest age that enough blocks have come to. So it shows that growth
 * has, and uses all of the run for how long blocks live.
 */
#ifndef LEAKMON_PROFILE_SITE_FIGURES_H
#define LEAKMON_PROFILE_SITE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/profile/intervals.h"

/* In seconds. */
double profile_age_s(size_t age);

/* Which blocks pass for alive. */
enum survivor {
	SURVIVOR_UNTOUCHED, /* still there, and its contents have not changed */
	SURVIVOR_TELLING,   /* the same of contents that no other block has: no other can have
			       taken its place */
	SURVIVOR_UNDEAD,    /* not known to be dead: perhaps written to, perhaps reused */
	SURVIVOR_MAX_,
};

/* The run in parts of equal length; when there are more, neighbours become one. */
#define PROFILE_EPOCHS 12
#define PROFILE_EPOCH_S 30.0

struct process_epoch {
	struct window_sums windows;
	struct window_sums settled; /* those looked at at the settled age */
	struct count_sums balance;  /* allocations - frees */
};

/* Zero-initialise. */
struct process_figures {
	unsigned merges; /* an epoch is PROFILE_EPOCH_S * 2^merges long */
	struct process_epoch epochs[PROFILE_EPOCHS];
	struct window_sums looked[PROFILE_AGES]; /* of the whole run, by age */
	double tracked_s;			 /* in windows */
	double first_s, last_s;			 /* where the first and the latest one stood */
};

struct site_epoch {
	struct count_sums births;
	double birth_bytes;
};

struct settled_epoch {
	struct count_sums blocks[SURVIVOR_MAX_];
	double bytes; /* of those that are untouched */
};

struct site_early {
	struct count_sums alive[SURVIVOR_MAX_];
	double bytes;
};

/* What looks have found. */
struct site_looks {
	struct settled_epoch settled[PROFILE_EPOCHS];
	struct site_early early[PROFILE_AGE_SETTLED + 1]; /* of the whole run */
	struct life_cell cells[SURVIVOR_MAX_][PROFILE_AGES];
};

/* Zero-initialise. */
struct site_figures {
	unsigned merges;
	struct site_epoch epochs[PROFILE_EPOCHS];
	struct site_looks *looks;     /* owned; NULL, and most are: all of its blocks have died in
				       * the windows that they were born in */
	double deaths, window_deaths; /* that were seen at all, and those that a window has seen */
	double unchanged_s; /* block-seconds of those that are telling, beyond the settled age */
	double buried; /* of them, blocks that a window has seen die, unchanged; and how many */
	unsigned burials;
};

struct profile_window {
	double at_s;	 /* its middle */
	double length_s; /* in which births were counted, as interval_rate() has it */
	double wall_s;	 /* the same by the clock */
};

/* Each window once, and its balance; then each site in which blocks were born. */
void process_figures_window(struct process_figures *process, const struct profile_window *window,
			    double balance);
void site_figures_births(struct site_figures *site, const struct process_figures *process,
			 const struct profile_window *window, double blocks, double bytes);

/* The result of one look at the blocks of one window and one site. */
struct look_tally {
	double at_risk, risk2; /* weights of those alive at the look before, and their squares */
	double alive, alive2;  /* the same of those that are still */
	double bytes;	       /* of those that are still */
	/* Those alive at the look before that cannot be looked at now: swapped out. */
	double untold, untold_bytes;
	double weight_most;
	double window_deaths; /* of those that are dead, the ones that a later window has seen */
	double buried; /* a later window has seen their deaths, and they look as before; how many */
	unsigned burials;
};

/* Before the first look at one of its blocks. 0 or -ENOMEM. */
int site_figures_follow(struct site_figures *site);
void site_figures_free(struct site_figures *site);

/* Each look at a window once; then each site that has blocks in it. At age 0 all are alive. */
void process_figures_looked(struct process_figures *process, const struct profile_window *window,
			    size_t age);
void site_figures_looked(struct site_figures *site, const struct process_figures *process,
			 const struct profile_window *window, size_t age,
			 const struct look_tally tally[SURVIVOR_MAX_]);

/* Blocks that reach this age (745 s) without a loss distinguish a leak from blocks that live for
 * minutes. */
#define PROFILE_AGE_LEAK 18
/* And so many must. */
#define PROFILE_LEAK_SAMPLES 6

/* The site is brought up to date with its process, or nothing is changed. */
void site_figures_judge(struct site_figures *site, const struct process_figures *process,
			struct site_judgement *judgement);

void process_figures_judge(const struct process_figures *process,
			   struct process_judgement *judgement);

#endif
