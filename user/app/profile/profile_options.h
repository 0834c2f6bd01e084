/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of a profile, and what they are by default. */
#ifndef LEAKMON_PROFILE_PROFILE_OPTIONS_H
#define LEAKMON_PROFILE_PROFILE_OPTIONS_H

#include "app/monitor/session.h"
#include "report/profile_report.h"

struct triage;

struct profile_options {
	struct session_options session;
	double overhead; /* of the CPU time of each target */
	double floor;	 /* share of a core that each counts as using at least */
	bool own; /* only the profile that the process keeps of itself: app/runs/retain_run.h */
	/* The run is short: windows of processes that idle come more often, and exact tracking is
	 * tried at once, at `overhead` of a core for each target. Else it begins when windows have
	 * shown that it is cheap, and all targets share that. */
	bool hasty;
	/* Takes named reports instead of the output format; NULL: none does. 0, or -errno after a
	 * message, which ends the run. */
	int (*take)(void *context, const struct profile_report *report, bool last);
	/* Whether the next report is to have all that was tracked until then; NULL: the last one
	 * alone. */
	bool (*closes)(void *context);
	/* With targets.come_later: what chooses them, instead of a triage of the run's own, how
	 * many at most, and what is to be done after each of its polls, and ten times a second.
	 * OOM kills are its own to report. */
	struct triage *triage;
	size_t places;
	void (*polled)(void *context);
	void (*tended)(void *context);
	/* A screen, which waits for keys and says when the run ends (its targets_gone is there);
	 * or NULL. */
	const struct run_hooks *screen;
	void *context;
};

_Static_assert(!offsetof(struct profile_options, session), "a session's options stand first");

/* Blocks stay in the live set for one window only, but for those that are followed. */
#define PROFILE_TRACKING                                                                           \
	{                                                                                          \
		.max_size = UINT64_MAX, .sample_rate = 1, .max_blocks = 131072,                    \
		.max_sites = 16384, .no_threads = true, .windowed = true                           \
	}
#define PROFILE_OVERHEAD 0.01
/* Share of a core, for a process that somebody waits for: 1 % of it allows a window in a quarter of
 * a minute, if it idles. */
#define PROFILE_FLOOR 0.05

#endif
