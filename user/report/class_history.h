/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How classes evolved over the runs of `leakmon retain` that a recording has of one process: what
 * each held at every run, and the integral of that over time, as eventlog2html shows it.
 */
#ifndef LEAKMON_REPORT_CLASS_HISTORY_H
#define LEAKMON_REPORT_CLASS_HISTORY_H

#include "base/hash.h"
#include "base/vec.h"
#include "report/retain_result.h"

/* The greatest classes of each run. */
#define CLASS_HISTORY_TOP 500

struct class_series {
	uint64_t id;		/* retained_class.id */
	VEC(uint64_t) bytes;	/* at each run so far; 0: it was not there */
	double integral_byte_s; /* by the trapezoid rule */
};

struct class_history {
	VEC(struct timespec) times; /* of the runs, ascending */
	VEC(struct class_series) list;
	struct hash index; /* id -> its place plus 1 */
};

/* One run after the other. 0 or -ENOMEM. */
int class_history_add(struct class_history *history, const struct retain_result *result);
void class_history_free(struct class_history *history);
/* NULL: it was never among the greatest. */
const struct class_series *class_history_find(const struct class_history *history, uint64_t id);
/* Its course in so many columns (CLASS_SERIES_WIDTH at most), the greatest of each, scaled to its
 * own maximum: heights for sparkline_block(). Returns how many. */
#define CLASS_SERIES_WIDTH 24
size_t class_series_heights(const struct class_series *series,
			    unsigned char heights[CLASS_SERIES_WIDTH]);
/* The places of a result's classes, the greatest integral first, for an array of as many. 0 or
 * -ENOMEM. */
int class_history_order(const struct class_history *history, const struct retain_result *result,
			uint32_t *places);

#endif
