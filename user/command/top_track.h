/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon top` over processes that are tracked. */
#ifndef LEAKMON_COMMAND_TOP_TRACK_H
#define LEAKMON_COMMAND_TOP_TRACK_H

#include "command/command.h"
#include "top/terminal.h"
#include "triage/triage.h"

/*
 * Runs until it is quit. Opens the terminal when the probes are in, unless it is open. `triage`
 * goes on being polled; with it, *leave says that the way back to it was asked for. Returns the
 * exit code.
 */
int top_track(const struct top_options *options, struct top_terminal *terminal,
	      struct triage *triage, bool *leave);

#endif
