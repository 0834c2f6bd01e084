/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is said of a quantity: one verdict out of windows of several lengths, the same for a process
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

#include "analyze/trend.h"

/* The readings as they came, their means by VERDICT_FOLD, the means of those, and so on. */
#define VERDICT_WINDOWS 4
#define VERDICT_POINTS 64
#define VERDICT_FOLD 8

/* Processes that are younger fill caches, open files and start threads: theirs is a warm-up. */
#define VERDICT_WARM_UP_S 600.0

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

/* trend_judge() of one window, and what was said at its earlier ends: at most VERDICT_POINTS. */
void verdict_of_window(struct trend *trend, const struct trend_point *points, size_t count,
		       const struct trend_options *options);

#endif
