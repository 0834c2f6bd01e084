/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Computes figures of one process and its sites from windows and looks: births per second,
 * lifetimes of blocks, growth of each site, and a verdict. Pure: the caller passes in times, in
 * seconds since the run began.
 *
 * A window is a short time in which every allocation and free is seen. Blocks outstanding at its
 * end are looked at again at fixed ages. Growth is the rate of blocks that reach the settled age,
 * in the latest third of the run, times the share of those that survive to the greatest age that
 * enough blocks have reached. So it shows recent growth, but uses the whole run for lifetimes.
 */
#ifndef LEAKMON_PROFILE_SITE_FIGURES_H
#define LEAKMON_PROFILE_SITE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/profile/intervals.h"

/* Returns an age in seconds. */
double profile_age_s(size_t age);

/* Criteria of being alive. */
enum survivor {
	SURVIVOR_UNTOUCHED, /* its contents have not changed */
	/* as UNTOUCHED, with contents unlike any other block's, so no other took its place */
	SURVIVOR_TELLING,
	SURVIVOR_UNDEAD, /* not known to be dead: perhaps written to, or reused */
	SURVIVOR_MAX_,
};

/* The run in parts of equal length; neighbours are joined when there are more. */
#define PROFILE_EPOCHS 12
#define PROFILE_EPOCH_S 30.0

struct process_epoch {
	struct window_sums windows;
	struct window_sums settled; /* windows looked at at the settled age */
	struct count_sums balance;  /* allocations - frees */
};

/* Zero-initialise. */
struct process_figures {
	unsigned merges; /* the length of an epoch is PROFILE_EPOCH_S * 2^merges */
	struct process_epoch epochs[PROFILE_EPOCHS];
	struct window_sums looked[PROFILE_AGES]; /* of the whole run, by age */
	double tracked_s;			 /* in windows */
	double first_s, last_s;			 /* times of the first and the latest window */
};

struct site_epoch {
	struct count_sums births;
	double birth_bytes;
};

struct settled_epoch {
	struct count_sums blocks[SURVIVOR_MAX_];
	double bytes; /* of untouched blocks */
};

struct site_early {
	struct count_sums alive[SURVIVOR_MAX_];
	double bytes;
};

/* Results of looks. */
struct site_looks {
	struct settled_epoch settled[PROFILE_EPOCHS];
	struct site_early early[PROFILE_AGE_SETTLED + 1]; /* of the whole run */
	struct life_cell cells[SURVIVOR_MAX_][PROFILE_AGES];
};

/* Zero-initialise. */
struct site_figures {
	unsigned merges;
	struct site_epoch epochs[PROFILE_EPOCHS];
	/* owned; mostly NULL: all of its blocks died in the windows of their birth */
	struct site_looks *looks;
	double deaths, window_deaths; /* all detected deaths, and those detected by a window */
	double unchanged_s;	      /* block-seconds of telling blocks beyond the settled age */
	double buried; /* weight and number of these that a window saw die, unchanged */
	unsigned burials;
};

struct profile_window {
	double at_s;	 /* its middle */
	double length_s; /* time in which births counted, as for interval_rate() */
	double wall_s;	 /* the same in clock time */
};

/* Add a window: once for the process, with its balance; then for each site with births. */
void process_figures_window(struct process_figures *process, const struct profile_window *window,
			    double balance);
void site_figures_births(struct site_figures *site, const struct process_figures *process,
			 const struct profile_window *window, double blocks, double bytes);

/* The result of one look at the blocks of one window and one site. */
struct look_tally {
	double at_risk, risk2; /* weights of blocks alive at the previous look, and their squares */
	double alive, alive2;  /* weights of those still alive, and their squares */
	double bytes;	       /* of those still alive */
	/* Alive at the previous look, now swapped out and therefore unknown. */
	double untold, untold_bytes;
	double weight_most;
	double window_deaths; /* the dead ones that a later window detected */
	/* weight and number of those detected by a window whose contents look unchanged */
	double buried;
	unsigned burials;
};

/* Prepares a site for its first look. Returns 0 or -ENOMEM. */
int site_figures_follow(struct site_figures *site);
void site_figures_free(struct site_figures *site);

/* Add a look: once for the window; then for each site with blocks in it. At age 0 all are alive. */
void process_figures_looked(struct process_figures *process, const struct profile_window *window,
			    size_t age);
void site_figures_looked(struct site_figures *site, const struct process_figures *process,
			 const struct profile_window *window, size_t age,
			 const struct look_tally tally[SURVIVOR_MAX_]);

/*
 * The age (745 s) that blocks must reach without a loss to tell a leak from blocks that live for
 * minutes.
 */
#define PROFILE_AGE_LEAK 18
/* The number of blocks that must reach it. */
#define PROFILE_LEAK_SAMPLES 6

/* Judge a site or the process; a site is first brought up to date with its process. */
void site_figures_judge(struct site_figures *site, const struct process_figures *process,
			struct site_judgement *judgement);

void process_figures_judge(const struct process_figures *process,
			   struct process_judgement *judgement);

#endif
