/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict on a quantity: one verdict out of windows of several lengths, the same for a process
 * in triage and for a site that is watched.
 *
 * Verdicts do not flap. What is said depends on what would have been said at the readings before:
 * leaking stays leaking until it is clearly over (it takes less to stay than to become so), and
 * what is level stays level until it has grown beyond what it was then (a cache that is full). That
 * is found out by judging earlier ends of the same window, so it is a function of the course alone:
 * live, from a recording, and however often somebody asks, the same course has the same verdict.
 */
#ifndef LEAKMON_ANALYZE_VERDICT_H
#define LEAKMON_ANALYZE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/trend.h"

/*
 * The judgement before there is a verdict: a rate so far, from the third reading on, and whether
 * it grows at all. No word on whether the growth goes on: a cache that fills grows, too.
 *
 * Whether it grows is decided by A. Wald's sequential probability ratio test (Ann. Math. Statist.
 * 16 (1945) 117-186) on the steps between readings: normal about 0, or about one standard
 * deviation, which is taken to be the quantum, or what neighbouring steps differ by, if that is
 * more. It errs with at most EARLY_FALSE where a step is normal about 0, and misses growth of a
 * quantum a reading with at most EARLY_MISSED. No single step decides, however large. When it has
 * decided for no growth, it begins anew (E. S. Page, Biometrika 41 (1954) 100-115).
 */

#define EARLY_FALSE 0.001
#define EARLY_MISSED 0.05
#define EARLY_READINGS_MIN 3

/* At most TREND_POINTS_MAX points; quantum as in trend_options. */
void early_judge(struct early *early, const struct trend_point *points, size_t count,
		 double quantum);

/* The readings as they came, their means by VERDICT_FOLD, the means of those, and so on. */
#define VERDICT_WINDOWS 4
#define VERDICT_POINTS 64
#define VERDICT_FOLD 8

struct verdict_window {
	struct trend trend; /* filled by verdict_judge() */
	struct trend_point points[VERDICT_POINTS];
	size_t count;
};

struct judgement {
	struct trend evidence; /* of the window that decided, with the verdict */
	size_t window;
};

/*
 * Windows that disagree are settled so: growth that stays within the range of an older churning is
 * churning; growth that is the tail of an older one that slows down is a plateau; else the longest
 * window that grows decides, since it knows the rate best. Windows without points are passed over.
 * options->points_min is that of the finest window.
 */
void verdict_judge(struct judgement *judgement, struct verdict_window *windows, size_t count,
		   const struct trend_options *options);

#endif
