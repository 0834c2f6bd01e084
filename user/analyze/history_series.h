/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The times of a history and the points at them. Internal to history.c. All: 0 or -ENOMEM. */
#ifndef LEAKMON_ANALYZE_HISTORY_SERIES_H
#define LEAKMON_ANALYZE_HISTORY_SERIES_H

#include "analyze/history.h"

/* Adds the snapshot's time; forgets every second one first where there is no room. */
int history_time_add(struct history *history, const struct snapshot *snapshot, const char *label);

/* The series' point at the latest time. */
int history_series_add(const struct history *history, struct history_series *series,
		       struct history_point point);

/* Brings a series that the snapshot did not mention up to the latest time. */
int history_series_catch_up(const struct history *history, struct history_series *series);

#endif
