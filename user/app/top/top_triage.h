/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon top` without a target. */
#ifndef LEAKMON_TOP_TOP_TRIAGE_H
#define LEAKMON_TOP_TOP_TRIAGE_H

#include "app/top/terminal.h"

struct top_options;

/* Runs the triage of the whole machine, and single processes from it. Returns the exit code. */
int top_triage(const struct top_options *options, struct top_terminal *terminal);

#endif
