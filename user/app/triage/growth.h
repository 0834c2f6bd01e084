/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Triage's history of a process or a container. */
#ifndef LEAKMON_TRIAGE_GROWTH_H
#define LEAKMON_TRIAGE_GROWTH_H

#include <stddef.h>
#include <stdint.h>

#include "report/analyze/verdict.h"
#include "report/triage_report.h"

/*
 * The history of one process or container, in bounded memory and at several resolutions: the raw
 * readings, their means by eight, the means of those by eight, and so on, 64 points each. At a
 * reading every 5 s they cover the last 5 minutes, 43 minutes, 6 hours and 45 hours: a leak of 1
 * MiB a minute stands out in the first, one of 1 MiB an hour in the third.
 *
 * At most 6 KiB, and 1.5 KiB in the first minutes.
 */

#define SERIES_LEVELS VERDICT_WINDOWS
#define SERIES_POINTS VERDICT_POINTS
#define SERIES_FOLD VERDICT_FOLD

struct series_point {
	uint32_t time_cs; /* centiseconds since the triage began: up to 497 days */
	float values[QUANTITY_MAX_];
};

struct series_level {
	struct series_point *points; /* a ring once full; owned */
	uint32_t count, capacity;
	uint32_t oldest; /* index */
	/* Sums for the next point of the level above. */
	double time_sum_s, sums[QUANTITY_MAX_];
	uint32_t folded;
};

struct series {
	struct series_level levels[SERIES_LEVELS];
	/* Over all readings ever: most series never move, so their points need not be examined. */
	struct quantities minimum, maximum;
};

/*
 * Adds a reading; times must not descend. Returns 0 or -ENOMEM; on error the series lacks this
 * reading.
 */
int series_add(struct series *series, double time_s, const struct quantities *quantities);

/* Copies the points of a quantity on one level, oldest first, and returns their number. */
size_t series_points(const struct series *series, size_t level, enum quantity quantity,
		     struct trend_point points[SERIES_POINTS]);

/* Frees all points; the series can be reused. */
void series_free(struct series *series);

/*
 * Growth of a process, its speed and its certainty: the trends of its series at every resolution
 * and of every quantity, weighed against each other.
 */

/* Returns whether it is a suspect, and certain enough to warrant probes. */
bool growth_is_worth_probes(const struct growth *growth);

/*
 * Finds the most urgent growth of all quantities; that of the heap if none grows. `born_s` is the
 * birth of the process on the clock of its readings (negative: before the first of all); NAN:
 * unknown.
 */
void growth_of(struct growth *growth, const struct series *series, double born_s);
/* Judges one quantity alone. */
void growth_of_quantity(struct growth *growth, const struct series *series, enum quantity quantity,
			double born_s);
/* Returns whether this quantity grows, whichever is the most urgent. */
bool growth_is_of(const struct series *series, enum quantity quantity, double born_s);

/*
 * A garbage-collected heap takes memory in steps, minutes apart, however evenly objects are
 * allocated: a flat stretch between two steps proves nothing. So such a suspect remains one, and a
 * leaking process remains leaking, for GROWTH_HOLD_S after the evidence, unless it gives memory
 * back. Zero-initialise *held; `value` is the current quantity.
 */
#define GROWTH_HOLD_S 600.0
struct held_growth {
	struct growth growth; /* when it was last a suspect */
	/* when its own verdict was last suspect, or leaking; 0: never */
	double suspect_s, leaking_s;
	double first_s; /* time of its first verdict; 0: none yet */
};
void growth_hold(struct held_growth *held, struct growth *growth, double value, double now_s);

/* Compares for sorting: negative if `one` concerns an operator more than `other`. */
int growth_compare(const struct growth *one, const struct growth *other);

#endif
