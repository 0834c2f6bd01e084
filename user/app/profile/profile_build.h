/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds a named report from the figures of profiled processes. */
#ifndef LEAKMON_PROFILE_PROFILE_BUILD_H
#define LEAKMON_PROFILE_PROFILE_BUILD_H

#include "app/profile/profile_choice.h"
#include "app/profile/profile_target.h"
#include "trace/probe/probe_cost.h"

struct profile_sources {
	struct session *session;
	const struct profile_choice *choice; /* NULL: targets were named */
	struct profile_target *const *targets;
	size_t target_count;
	const struct probe_calibration *calibration;
	double limit;	/* --overhead */
	bool held_back; /* leakmon's own CPU time is used up, so windows wait */
	double now_s;
	double detach_cpu_s; /* CPU time of the helper processes of probes */
	/* CPU time of targets that are gone: the cost of windows, and their own use as its base. */
	double spent_s, used_s;
};

/*
 * Fills *report except its sequence, and updates the growth of each target. The last report waits
 * longer for line numbers. Returns 0 or -ENOMEM; free *report in either case. It borrows names from
 * the session.
 */
int profile_build(const struct profile_sources *sources, struct profile_report *report, bool last);

#endif
