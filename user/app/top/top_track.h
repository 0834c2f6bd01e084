/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon top` over processes that are tracked. */
#ifndef LEAKMON_TOP_TOP_TRACK_H
#define LEAKMON_TOP_TOP_TRACK_H

#include "app/monitor/session.h"
#include "app/top/model.h"
#include "app/top/terminal.h"
#include "app/triage/triage.h"

struct top_options {
	struct session_options session;
	double budget;	       /* as triage's; 0: by attention.h */
	const char *recording; /* of snapshots; NULL: leakmon-TIME.lkm */
	const char *label;
};

_Static_assert(!offsetof(struct top_options, session), "a session's options stand first");

/*
 * Runs until it is quit. Opens the terminal when the probes are in, unless it is open. `triage`
 * goes on being polled; with it, *end says what was asked for: TOP_LEAVE, the way back to it;
 * TOP_TRACK, exact tracking instead of the profile; or TOP_QUIT. Returns the exit code.
 */
int top_track(const struct top_options *options, struct top_terminal *terminal,
	      struct triage *triage, enum top_action *end);

/*
 * The same while the target allocates so little that exact tracking costs it at most 1 % of a core.
 * The rate is looked at a tenth of a second after the attach, and with each report: *end TOP_FOLLOW
 * says that it is too fast.
 */
int top_track_if_cheap(const struct top_options *options, struct top_terminal *terminal,
		       struct triage *triage, enum top_action *end);

/* The same with one target, which is profiled. */
int top_profile(const struct top_options *options, struct top_terminal *terminal,
		struct triage *triage, enum top_action *end);

#endif
