/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings of one number of a process over a diagnosis: open descriptors, threads. Two readings
 * alone take a burst at the end for a leak, and a pool that is full by now for one that fills.
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

/* Adds a later reading; of a full series it replaces the last one. */
void count_series_add(struct count_series *series, double at_s, uint64_t value);

enum count_trend {
	COUNT_TREND_UNKNOWN, /* too few readings for each third of the time */
	COUNT_TREND_STANDS,  /* it fell back meanwhile, or stood still in the last third */
	COUNT_TREND_RISES,   /* its lowest value rose, and the last third still added to it */
};

/*
 * By the lowest value in each third of the time: a burst comes down again, and a leak does not.
 */
enum count_trend count_series_trend(const struct count_series *series);

/* Whether a number of threads or descriptors is higher than any program's comes and goes by: five
 * more, and 5 % more, than at the first reading. */
bool count_grew(const struct diagnosed_count *count);

#endif
