/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changed between two runs of `leakmon retain`, of one process or of two: class by class. */
#ifndef LEAKMON_REPORT_RETAIN_DIFF_H
#define LEAKMON_REPORT_RETAIN_DIFF_H

#include "report/retain_result.h"

/* A class, or a root. Roots of one name (a variable, threads of one name) are one row. */
struct retained_change {
	uint32_t before, after; /* its place (of several: of the first); RESULT_NONE: not there */
	struct retention_total was, is;
	/*
	 * How much farther from a root the farthest block of a class is now: a list that only ever
	 * gets longer shows here. 0 where it did not grow.
	 */
	uint32_t farther;
};

struct retained_changes {
	VEC(struct retained_change) list; /* the greatest growth in bytes first */
};

struct retain_diff {
	const struct retain_result *before, *after; /* borrowed */
	struct retained_changes classes, roots;
	uint32_t *of_classes; /* places in classes.list, by class of `after`; or RESULT_NONE */
};

/* 0 or -ENOMEM, then *diff is untouched. */
int retain_diff_build(const struct retain_result *before, const struct retain_result *after,
		      struct retain_diff *diff);
void retain_diff_free(struct retain_diff *diff);

static inline int64_t change_bytes(const struct retained_change *change)
{
	return (int64_t)(change->is.bytes - change->was.bytes);
}

static inline int64_t change_blocks(const struct retained_change *change)
{
	return (int64_t)(change->is.blocks - change->was.blocks);
}

#endif
