/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict on a quantity, from windows of several lengths, the same for a process in triage and
 * for a watched site, and the limits of each subject.
 *
 * Verdicts do not flap. A verdict depends on the verdicts at earlier readings: leaking stays
 * leaking until it is clearly over (staying takes less than becoming), and a level series stays
 * level until it exceeds its former level (a full cache). Earlier verdicts are found by judging
 * earlier ends of the same window, so the result is a function of the course alone: live, from a
 * recording, and however often it is computed, the same course has the same verdict.
 *
 * Callers add the specifics of their subject: site_trend.h the fate of its blocks,
 * app/triage/growth.h startup and the steps of collected heaps. Four verdicts do not concern the
 * course of a quantity and share no rule with this one: app/profile/site_figures.h estimates
 * survival from samples of blocks, which have ages but no course; report/task_report.h counts which
 * goroutines came and went, by number, so that it needs no statistics; heap/memory/conclusion.h
 * finds the part that caused the growth between two readings; report/analyze/retention.h finds what
 * is reachable.
 */
#ifndef LEAKMON_ANALYZE_VERDICT_H
#define LEAKMON_ANALYZE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "report/analyze/trend.h"
#include "report/triage_report.h"

/* Subjects of verdicts, each with its own limits. */
enum verdict_subject {
	SUBJECT_SITE,	  /* bytes held by a call stack */
	SUBJECT_RESIDENT, /* memory of a profiled process, in bytes: its sites must explain it */
	SUBJECT_QUANTITY, /* of a process in triage: plus an enum quantity */
	SUBJECT_MAX_ = SUBJECT_QUANTITY + QUANTITY_MAX_,
};

/*
 * How much growth, for how long. The required certainty is common: trend.c defines it for one
 * window, verdict.c for its earlier ends.
 */
struct verdict_limits {
	double quantum;	      /* growth within one window that matters, in the subject's unit */
	double quantum_share; /* minimum as a share of the amount held */
	size_t readings_min;  /* of the finest window; below: too early */
	double leaking;	      /* minimum total growth to be called leaking, however steady */
	/*
	 * Minimum window to be called leaking, with any number of readings; young: its process
	 * warms up (TREND_WARM_UP_S).
	 */
	double leaking_s, leaking_young_s;
};
const struct verdict_limits *verdict_limits(enum verdict_subject subject);

/* Returns the options for a subject that held at least this amount. */
struct trend_options verdict_options(enum verdict_subject subject, double held);

/*
 * The judgement before a verdict is possible: the rate so far, from the third reading on, and
 * whether it grows at all. It does not tell whether the growth continues: a filling cache grows,
 * too.
 *
 * Growth is decided by A. Wald's sequential probability ratio test (Ann. Math. Statist. 16 (1945)
 * 117-186) on the steps between readings: normal about 0, or about one standard deviation, which is
 * taken as the quantum, or the deviation of neighbouring steps, if larger. It errs with at most
 * EARLY_FALSE if steps are normal about 0, and misses growth of a quantum per reading with at most
 * EARLY_MISSED. No single step decides, however large. After a decision for no growth, it starts
 * over (E. S. Page, Biometrika 41 (1954) 100-115).
 */

#define EARLY_FALSE 0.001
#define EARLY_MISSED 0.05
#define EARLY_READINGS_MIN 3

/* Takes at most TREND_POINTS_MAX points; quantum as in trend_options. */
void early_judge(struct early *early, const struct trend_point *points, size_t count,
		 double quantum);

/* The original readings, their means by VERDICT_FOLD, the means of those, and so on. */
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
 * Combines windows that disagree: growth within the range of an older churning is churning; growth
 * at the tail of an older one that slows down is a plateau; else the longest window that grows
 * decides, because it knows the rate best. Windows without points are skipped. options->points_min
 * is that of the finest window.
 */
void verdict_judge(struct judgement *judgement, struct verdict_window *windows, size_t count,
		   const struct trend_options *options);

#endif
