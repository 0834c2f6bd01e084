/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When windows of one process open, and how long they last, so that it loses no more than a share
 * of the CPU time that it uses. Pure: clocks and costs are handed in.
 *
 * Windows begin at random, with exponential gaps (a Poisson process: what a program does in turns
 * is met as often as it is done), at a rate that follows what the process has used lately and not
 * what it does just now. What a window is expected to cost is earned first; one that turns out
 * dearer is closed early, and the next one waits.
 */
#ifndef LEAKMON_PROFILE_PACE_H
#define LEAKMON_PROFILE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_WINDOW_MIN_S 0.01
#define PACE_WINDOW_MAX_S 1.0
/* So much more time passes before births count, until the process runs as it does under probes, and
 * so much afterwards: what was born by then has been filled in by its program. */
#define PACE_GRACE_SHARE 0.1
#define PACE_AHEAD_S 60.0

struct pace {
	double limit; /* share of the process's CPU time, of what is counted */
	/* Share of a core that it may lose beyond that, PACE_AHEAD_S of it in advance, so that the
	 * first windows need not be waited for; 0 unless it is set. */
	double granted;
	double clock_s; /* its CPU clock, as it stood last */
	double used_s;	/* CPU time that it has used since the beginning */
	double spent_s; /* of it, what windows have cost it */
	double watched_s;
	double share;	     /* CPU time a second, lately */
	double attach_s;     /* what opening and closing a window costs it, lately */
	double loss;	     /* what it loses a second while births count, lately */
	double births_per_s; /* lately */
	double last_s;	     /* when it was looked at; negative: not yet */
	double hazard;	     /* of a window, gathered since the latest */
	double next;	     /* at which it opens */
	uint64_t random;
	unsigned windows;
};

/* `limit`: the share of its CPU time that the process may lose. Two thirds of it are what windows
 * may cost by what is counted, for the rest cannot be. */
void pace_begin(struct pace *pace, double limit, double attach_s, uint64_t seed);

/* From time to time; `cpu_s` is the process's CPU time. True: a window is to open now. */
bool pace_step(struct pace *pace, double now_s, double cpu_s);

/* How long it is to last, and what it may cost before it is closed early. */
double pace_length_s(const struct pace *pace);
double pace_allowance_s(const struct pace *pace);

struct pace_window {
	double attach_s, hits_s; /* CPU time that it has cost the process, and its closing will */
	double births_s;	 /* for how long births counted; 0: it was not opened */
	double births_hits_s;	 /* of hits_s, what came meanwhile: a burst before does not count */
	double births;		 /* negative: it came to nothing, and only its cost is known */
};

/* After a window. */
void pace_spend(struct pace *pace, const struct pace_window *window);

/* Of its CPU time, what windows have cost so far. */
double pace_spent(const struct pace *pace);

#endif
