/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of a profile, and their defaults. */
#ifndef LEAKMON_PROFILE_PROFILE_OPTIONS_H
#define LEAKMON_PROFILE_PROFILE_OPTIONS_H

#include "app/monitor/session.h"
#include "report/profile_report.h"

struct triage;

struct profile_options {
	struct session_options session;
	double overhead; /* share of each target's CPU time */
	double floor;	 /* minimum share of a core counted for each target */
	bool own;	 /* use only the process's own profile: app/runs/retain_run.h */
	/* A short run: idle processes get windows more often, and exact tracking is tried at once,
	 * at `overhead` of a core for each target. Otherwise exact tracking begins when windows
	 * have shown it to be cheap, and all targets share `overhead`. */
	bool hasty;
	/* Takes named reports instead of the output format; NULL: none. Returns 0, or -errno after
	 * a message, which ends the run. */
	int (*take)(void *context, const struct profile_report *report, bool last);
	/* Returns whether the next report must have all blocks tracked so far; NULL: only the last
	 * one. */
	bool (*closes)(void *context);
	/* With targets.come_later: the triage that chooses targets, instead of the run's own; the
	 * maximum number of targets; a function called after each of its polls, and one called ten
	 * times a second. The triage's owner reports OOM kills. */
	struct triage *triage;
	size_t places;
	void (*polled)(void *context);
	void (*tended)(void *context);
	/* A screen, which handles keys and ends the run (it has targets_gone); or NULL. */
	const struct run_hooks *screen;
	void *context;
};

_Static_assert(!offsetof(struct profile_options, session), "a session's options stand first");

/* Blocks stay in the live set for one window only, except those that are followed. */
#define PROFILE_TRACKING                                                                           \
	{                                                                                          \
		.max_size = UINT64_MAX, .sample_rate = 1, .max_blocks = 131072,                    \
		.max_sites = 16384, .no_threads = true, .windowed = true                           \
	}
#define PROFILE_OVERHEAD 0.01
/*
 * Minimum share of a core counted for a process while a user waits: 1 % of it allows an idle
 * process one window per quarter of a minute.
 */
#define PROFILE_FLOOR 0.05

#endif
