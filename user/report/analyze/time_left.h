/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When something that grows will be at a limit, if it goes on as it did: a pure function of its
 * course.
 *
 * The course is taken for a walk with a drift. What eight parts of it grew by gives the drift, and
 * by how much they differ, its variance: bursts, collections and noise are all in it, whatever
 * their rhythm, as long as it is shorter than the course. After a time h the walk is at
 *
 *   drift h  ±  t sqrt(variance (h + h² / span) + noise)
 *
 * h² / span being what is not known of the drift (Fieller 1954; the interval is that of a
 * prediction, with Student's t). Where its ends meet the limit is the interval. Where the parts'
 * own rates rise from one to the next, the lower end is that of a course that goes on speeding up
 * as it did; where they fall, the upper one is that of the latest rate.
 */
#ifndef LEAKMON_ANALYZE_TIME_LEFT_H
#define LEAKMON_ANALYZE_TIME_LEFT_H

#include "report/trend.h"

/* Below so many points nothing is said. */
#define TIME_LEFT_POINTS_MIN 9

/* `limit` in the unit of the values; a course that is there already has 0 left. */
void time_left_judge(struct time_left *left, const struct trend_point *points, size_t count,
		     double limit);

#endif
