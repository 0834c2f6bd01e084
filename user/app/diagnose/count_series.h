/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings of one count of a process during a diagnosis: open descriptors, threads. Two readings
 * alone would confuse a burst at the end with a leak, and a pool that has filled with one that is
 * filling.
 */
#ifndef LEAKMON_DIAGNOSE_COUNT_SERIES_H
#define LEAKMON_DIAGNOSE_COUNT_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/diagnosis.h"

#define COUNT_SERIES_MAX 64

/* Zeroed: empty. */
struct count_series {
	struct {
		double at_s;
		uint64_t value;
	} readings[COUNT_SERIES_MAX]; /* ascending in time */
	size_t count;
};

/* Adds a later reading; in a full series it replaces the last one. */
void count_series_add(struct count_series *series, double at_s, uint64_t value);

enum count_trend {
	COUNT_TREND_UNKNOWN, /* too few readings for each third of the time */
	COUNT_TREND_STANDS,  /* it fell back, or was steady in the last third */
	COUNT_TREND_RISES,   /* its minimum rose, and rose again in the last third */
};

/* Judges by the minimum in each third of the time: a burst comes down again, a leak does not. */
enum count_trend count_series_trend(const struct count_series *series);

/*
 * Returns whether a count of threads or descriptors rose by more than any program fluctuates: by
 * five and 5 % since the first reading.
 */
bool count_grew(const struct diagnosed_count *count);

#endif
