/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict on a quantity: one verdict out of windows of several lengths, the same for a process
 * in triage and for a site that is watched, and the limits that each subject has.
 *
 * Verdicts do not flap. What is said depends on what would have been said at the readings before:
 * leaking stays leaking until it is clearly over (it takes less to stay than to become so), and
 * what is level stays level until it has grown beyond what it was then (a cache that is full). That
 * is found out by judging earlier ends of the same window, so it is a function of the course alone:
 * live, from a recording, and however often somebody asks, the same course has the same verdict.
 *
 * Callers add what only their subject has: site_trend.h the fate of its blocks, app/triage/growth.h
 * startup and the steps of collected heaps. Four verdicts are none on the course of a quantity and
 * share no rule with this one: app/profile/site_figures.h estimates survival from samples of
 * blocks, which have ages but no course; report/task_report.h counts which goroutines came and
 * went, by number, so that it needs no statistics; heap/memory/conclusion.h finds the part that
 * makes up a growth between two readings; report/analyze/retention.h says what is reachable.
 */
#ifndef LEAKMON_ANALYZE_VERDICT_H
#define LEAKMON_ANALYZE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "report/analyze/trend.h"
#include "report/triage_report.h"

/* Subjects of verdicts, each with limits of its own. */
enum verdict_subject {
	SUBJECT_SITE,	  /* bytes held by a call stack */
	SUBJECT_RESIDENT, /* memory of a profiled process, in bytes: to be explained by its sites */
	SUBJECT_QUANTITY, /* of a process in triage: plus an enum quantity */
	SUBJECT_MAX_ = SUBJECT_QUANTITY + QUANTITY_MAX_,
};

/*
 * How much growth, for how long. How sure it must be is the same for all: trend.c has it for one
 * window, verdict.c for its earlier ends.
 */
struct verdict_limits {
	double quantum;	      /* growth within one window that matters, in the subject's unit */
	double quantum_share; /* of what was held at least: less does not matter either */
	size_t readings_min;  /* of the finest window; fewer: too early */
	double leaking;	      /* growth in all; less is not called leaking, however steady */
	/* A shorter window is not, either, however many readings it has; young: its process warms
	 * up (TREND_WARM_UP_S). */
	double leaking_s, leaking_young_s;
};
const struct verdict_limits *verdict_limits(enum verdict_subject subject);

/* For a subject that held at least so much. */
struct trend_options verdict_options(enum verdict_subject subject, double held);

/*
 * The judgement before there is a verdict: a rate so far, from the third reading on, and whether
 * it grows at all. No word on whether the growth goes on: a cache that fills grows, too.
 *
 * Whether it grows is decided by A. Wald's sequential probability ratio test (Ann. Math. Statist.
 * 16 (1945) 117-186) on the steps between readings: normal about 0, or about one standard
 * deviation, which is taken to be the quantum, or what neighbouring steps differ by, if that is
 * more. It errs with at most EARLY_FALSE where a step is normal about 0, and misses growth of a
 * quantum a reading with at most EARLY_MISSED. No single step decides, however large. When it has
 * decided for no growth, it starts over (E. S. Page, Biometrika 41 (1954) 100-115).
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
