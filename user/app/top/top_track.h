/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon top` for tracked processes. */
#ifndef LEAKMON_TOP_TOP_TRACK_H
#define LEAKMON_TOP_TOP_TRACK_H

#include "app/monitor/session.h"
#include "app/top/model.h"
#include "app/top/terminal.h"
#include "app/triage/triage.h"

struct top_options {
	struct session_options session;
	double budget;	       /* as in triage; 0: by attention.h */
	const char *recording; /* of snapshots; NULL: leakmon-TIME.lkm */
	const char *label;
};

_Static_assert(!offsetof(struct top_options, session), "a session's options stand first");

/*
 * Runs until the user quits. Opens the terminal when the probes are attached, unless it is open.
 * `triage` continues to be polled; with it, *end is the requested action: TOP_LEAVE, back to the
 * triage; TOP_TRACK, exact tracking instead of the profile; or TOP_QUIT. Returns the exit code.
 */
int top_track(const struct top_options *options, struct top_terminal *terminal,
	      struct triage *triage, enum top_action *end);

/*
 * Runs as top_track() does, while the target allocates so little that exact tracking costs it at
 * most 1 % of a core. The rate is checked a tenth of a second after the attach, and with each
 * report; if it is too high, *end is TOP_FOLLOW.
 */
int top_track_if_cheap(const struct top_options *options, struct top_terminal *terminal,
		       struct triage *triage, enum top_action *end);

/* Runs as top_track() does, with a profile of one target. */
int top_profile(const struct top_options *options, struct top_terminal *terminal,
		struct triage *triage, enum top_action *end);

#endif
