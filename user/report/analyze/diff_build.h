/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Matches the sites of two reports and computes the changes. */
#ifndef LEAKMON_ANALYZE_DIFF_BUILD_H
#define LEAKMON_ANALYZE_DIFF_BUILD_H

#include "report/analyze/report_build.h"
#include "report/diff.h"

/*
 * Builds the difference. Both reports must be named and without a cut, and outlive the diff.
 * `sort`: SORT_COUNT ranks by blocks, all else by bytes. Returns 0 or -ENOMEM (then *diff is
 * untouched).
 */
int diff_build(struct diff *diff, const struct report *before, const struct report *after,
	       enum diff_group by, enum sort_key sort);
#endif
