/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU budget of a screen: enough to keep its rate while a user is present, and as little as an
 * unattended triage after minutes without a key. The caller passes in the clock.
 */
#ifndef LEAKMON_TOP_ATTENTION_H
#define LEAKMON_TOP_ATTENTION_H

#include <stdbool.h>

/* Shares of one core. */
#define ATTENTION_WATCHED 0.05
#define ATTENTION_LEFT 0.01
/* After this time without a key, the user counts as absent. */
#define ATTENTION_S 300.0
/* Maximum pause between polls, unless --budget limits their cost. */
#define ATTENTION_PAUSE_MAX_S 8.0

#define ATTENTION_LIMIT_MIN 0.00125
#define ATTENTION_LIMIT_MAX 1.0

struct attention {
	double chosen;	/* limit chosen by the operator; 0: by attention */
	double typed_s; /* when a key was last pressed, or the screen began */
};

double attention_limit(const struct attention *attention, double now_s);

/* Returns whether the limit is low only because the user is absent. */
bool attention_is_left(const struct attention *attention, double now_s);

/* Doubles or halves the limit, within the bounds; it is the operator's choice from then on. */
void attention_change(struct attention *attention, bool more, double now_s);

#endif
