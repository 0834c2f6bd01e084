/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `leakmon triage`: polls and reports the whole machine. Suspects are sampled, and with --escalate
 * profiled (profile/) or, with --exact, tracked for a window (app/triage/escalate.h).
 */
#ifndef LEAKMON_RUNS_TRIAGE_RUN_H
#define LEAKMON_RUNS_TRIAGE_RUN_H

#include "app/triage/escalate.h"

/* Runs it. Returns the exit code. */
int triage_run(const struct triage_options *options);

#endif
