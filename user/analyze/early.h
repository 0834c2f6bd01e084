/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be said before there is a verdict: a rate so far, from the third reading on, and whether
 * it grows at all. No word on whether the growth goes on: a cache that fills grows, too.
 *
 * Whether it grows is decided by A. Wald's sequential probability ratio test (Ann. Math. Statist.
 * 16 (1945) 117-186) on the steps between readings: normal about 0, or about one standard
 * deviation, which is taken to be the quantum, or what neighbouring steps differ by, if that is
 * more. It errs with at most EARLY_FALSE where a step is normal about 0, and misses growth of a
 * quantum a reading with at most EARLY_MISSED. No single step decides, however large. When it has
 * decided for no growth, it begins anew (E. S. Page, Biometrika 41 (1954) 100-115).
 */
#ifndef LEAKMON_ANALYZE_EARLY_H
#define LEAKMON_ANALYZE_EARLY_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/trend.h"

#define EARLY_FALSE 0.001
#define EARLY_MISSED 0.05
#define EARLY_READINGS_MIN 3

struct early {
	size_t readings; /* 0: fewer than EARLY_READINGS_MIN, and nothing else is known */
	double span_s;
	double per_s; /* median slope (Theil-Sen) */
	bool grows;
};

/* At most TREND_POINTS_MAX points; quantum as in trend_options. */
void early_judge(struct early *early, const struct trend_point *points, size_t count,
		 double quantum);

#endif
