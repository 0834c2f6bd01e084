/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of each target's memory no probe on malloc can see, for reports to say so. */
#ifndef LEAKMON_MONITOR_COVERAGE_H
#define LEAKMON_MONITOR_COVERAGE_H

struct session;
struct snapshot;

/* Fills snapshot_process.managed. Each target is looked at every COVERAGE_PAUSE_S at most. */
void coverage_fill(struct session *session, struct snapshot *snapshot);
#define COVERAGE_PAUSE_S 30

#endif
