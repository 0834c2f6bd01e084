/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Triage's history of a process or a container. */
#ifndef LEAKMON_TRIAGE_GROWTH_H
#define LEAKMON_TRIAGE_GROWTH_H

#include <stddef.h>
#include <stdint.h>

#include "report/analyze/verdict.h"
#include "report/triage_report.h"

/*
 * The past of one process or container, in bounded memory and at several resolutions: the readings
 * as they came, their means by eight, the means of those by eight, and so on, 64 points each. At a
 * reading every 5 s that is the last 5 minutes, 43 minutes, 6 hours and 45 hours: a leak of 1 MiB a
 * minute stands out in the first, one of 1 MiB an hour in the third.
 *
 * At most 6 KiB, and 1.5 KiB in the first minutes.
 */

#define SERIES_LEVELS VERDICT_WINDOWS
#define SERIES_POINTS VERDICT_POINTS
#define SERIES_FOLD VERDICT_FOLD

struct series_point {
	uint32_t time_cs; /* centiseconds since the triage began: 497 days */
	float values[QUANTITY_MAX_];
};

struct series_level {
	struct series_point *points; /* a ring once it is full; owned */
	uint32_t count, capacity;
	uint32_t oldest; /* index */
	/* The next point of the level above. */
	double time_sum_s, sums[QUANTITY_MAX_];
	uint32_t folded;
};

struct series {
	struct series_level levels[SERIES_LEVELS];
	/* For all readings ever: most series never move, and need no look at their points. */
	struct quantities minimum, maximum;
};

/* Times must not descend. 0 or -ENOMEM, then the series lacks this reading. */
int series_add(struct series *series, double time_s, const struct quantities *quantities);

/* The points of a quantity on one level, oldest first; returns how many points. */
size_t series_points(const struct series *series, size_t level, enum quantity quantity,
		     struct trend_point points[SERIES_POINTS]);

/* Forgets everything; the series can be used again. */
void series_free(struct series *series);

/*
 * Growth of a process, its speed and its certainty: the trends of its series on every resolution
 * and of every quantity, weighed against each other.
 */

/* Whether it is a suspect, and as surely as is worth the probes of a closer look. */
bool growth_is_worth_probes(const struct growth *growth);

/*
 * The most urgent of all quantities; the heap if none grows. `born_s` is when the process began, on
 * the clock of its readings (below 0: before the first of all); NAN: not known.
 */
void growth_of(struct growth *growth, const struct series *series, double born_s);
/* Of one quantity alone. */
void growth_of_quantity(struct growth *growth, const struct series *series, enum quantity quantity,
			double born_s);
/* Whether this quantity grows, whichever is the most urgent. */
bool growth_is_of(const struct series *series, enum quantity quantity, double born_s);

/*
 * A heap with a garbage collector takes memory in steps, minutes apart, however evenly objects
 * come: a flat stretch between two of them is no rest. So a suspect of that kind stays one, and
 * what is called leaking stays so, for GROWTH_HOLD_S after the evidence, unless it gives memory
 * back. *held begins as zeros; `value` is the quantity now.
 */
#define GROWTH_HOLD_S 600.0
struct held_growth {
	struct growth growth;	     /* of the last time that it was a suspect */
	double suspect_s, leaking_s; /* when it was last one, or leaking, by itself; 0: never */
	double first_s;		     /* of its first verdict; 0: none yet */
};
void growth_hold(struct held_growth *held, struct growth *growth, double value, double now_s);

/* For sorting: below 0 when `one` concerns an operator more than `other`. */
int growth_compare(const struct growth *one, const struct growth *other);

#endif
