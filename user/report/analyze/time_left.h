/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Estimates when a growing quantity will reach a limit, if it continues as before: a pure function
 * of its course.
 *
 * The course is modelled as a random walk with drift. The growth of its eight parts gives the
 * drift, and their differences its variance: this includes bursts, collections and noise of any
 * rhythm shorter than the course. After a time h the walk is at
 *
 *   drift h  ±  t sqrt(variance (h + h² / span) + noise)
 *
 * h² / span being the uncertainty of the drift (Fieller 1954; the interval is that of a prediction,
 * with Student's t). The times at which its bounds reach the limit form the interval. If the parts'
 * rates increase steadily, the lower bound assumes continued acceleration; if they decrease, the
 * upper one assumes the latest rate.
 */
#ifndef LEAKMON_ANALYZE_TIME_LEFT_H
#define LEAKMON_ANALYZE_TIME_LEFT_H

#include "report/trend.h"

/* Minimum number of points for an estimate. */
#define TIME_LEFT_POINTS_MIN 9

/* Judges a course. `limit` in the unit of the values; a course already there has 0 left. */
void time_left_judge(struct time_left *left, const struct trend_point *points, size_t count,
		     double limit);

#endif
