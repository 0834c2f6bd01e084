/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU budget of a screen: enough to keep its rate while somebody looks at it, and as little as
 * an unattended triage takes when nobody has typed for some minutes. The clock is handed in.
 */
#ifndef LEAKMON_TOP_ATTENTION_H
#define LEAKMON_TOP_ATTENTION_H

#include <stdbool.h>

/* Shares of one core. */
#define ATTENTION_WATCHED 0.05
#define ATTENTION_LEFT 0.01
/* Without a key for so long, nobody looks. */
#define ATTENTION_S 300.0
/* Polls keep at least this rate, unless --budget says what they may cost. */
#define ATTENTION_PAUSE_MAX_S 8.0

#define ATTENTION_LIMIT_MIN 0.00125
#define ATTENTION_LIMIT_MAX 1.0

struct attention {
	double chosen;	/* limit that the operator chose; 0: by attention */
	double typed_s; /* when a key was pressed last, or the screen began */
};

double attention_limit(const struct attention *attention, double now_s);

/* Whether the limit is lower only because nobody has typed. */
bool attention_is_left(const struct attention *attention, double now_s);

/* Doubles the limit, or halves it, within the bounds: from now on it is the operator's choice. */
void attention_change(struct attention *attention, bool more, double now_s);

#endif
