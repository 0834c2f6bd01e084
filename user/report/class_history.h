/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The development of classes over the recorded runs of `leakmon retain` on one process: the amount
 * of each at every run, and its integral over time, as in eventlog2html.
 */
#ifndef LEAKMON_REPORT_CLASS_HISTORY_H
#define LEAKMON_REPORT_CLASS_HISTORY_H

#include "base/hash.h"
#include "base/vec.h"
#include "report/retain_result.h"

/* Number of classes kept of each run, the largest. */
#define CLASS_HISTORY_TOP 500

struct class_series {
	uint64_t id;		/* retained_class.id */
	VEC(uint64_t) bytes;	/* at each run so far; 0: absent */
	double integral_byte_s; /* by the trapezoid rule */
};

struct class_history {
	VEC(struct timespec) times; /* of the runs, ascending */
	VEC(struct class_series) list;
	struct hash index; /* id -> index plus 1 */
};

/* Adds runs one after the other. Returns 0 or -ENOMEM. */
int class_history_add(struct class_history *history, const struct retain_result *result);
void class_history_free(struct class_history *history);
/* Returns NULL if it was never among the largest. */
const struct class_series *class_history_find(const struct class_history *history, uint64_t id);
/*
 * Scales its course to that many columns (CLASS_SERIES_WIDTH at most), by the maximum of each,
 * relative to its overall maximum: heights for sparkline_block(). Returns their number.
 */
#define CLASS_SERIES_WIDTH 24
size_t class_series_heights(const struct class_series *series,
			    unsigned char heights[CLASS_SERIES_WIDTH]);
/*
 * Sorts the indices of a result's classes, the largest integral first, into an array of that
 * length. Returns 0 or -ENOMEM.
 */
int class_history_order(const struct class_history *history, const struct retain_result *result,
			uint32_t *places);

#endif
