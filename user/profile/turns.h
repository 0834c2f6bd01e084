/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose window is next, of many processes under profile. Each has a pace of its own, so that nobody
 * loses more than it may; what they share is leakmon: one window at a time, and a limit on the CPU
 * time that it uses itself. Pure: clocks and costs are handed in.
 *
 * Who has had fewest windows comes first until everybody has had a few: without one nothing is
 * known of a process. From then on every other turn is for the one that grows fastest, and those
 * between are for whoever has waited longest: what begins to leak later on is met, too.
 */
#ifndef LEAKMON_PROFILE_TURNS_H
#define LEAKMON_PROFILE_TURNS_H

#include <stdbool.h>
#include <stddef.h>

/* So much CPU time may be used at once, at the beginning and after a pause. */
#define TURNS_CREDIT_S 0.5

struct turns {
	double limit;		   /* CPU time of leakmon, as a share of one core */
	double clock_s;		   /* when it was looked at last */
	double total_s, windows_s; /* as they stood then */
	double total_credit_s, windows_credit_s;
	bool oldest_next; /* whose turn it is */
};

void turns_begin(struct turns *turns, double limit, double now_s);

/*
 * Whether a window may open. Of CPU time so far, total_s is all that leakmon has used, windows_s
 * what windows and looks took of it. Half of the limit is theirs, whatever reports take.
 */
bool turns_afford(struct turns *turns, double now_s, double total_s, double windows_s);

struct turn_candidate {
	bool wants;	  /* its pace says so */
	unsigned windows; /* that it has had */
	double growth;	  /* bytes per second, for sure; <= 0: none */
	double since_s;	  /* of its latest window, or since when it is known */
};

/* The one whose turn it is; `count`: nobody's. */
size_t turns_next(struct turns *turns, const struct turn_candidate *candidates, size_t count);

#endif
