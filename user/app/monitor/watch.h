/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run that watches processes: a session in the report loop, with the events of its targets. */
#ifndef LEAKMON_MONITOR_WATCH_H
#define LEAKMON_MONITOR_WATCH_H

#include "app/monitor/report_loop.h"
#include "app/monitor/session.h"

/*
 * Runs a session; `hooks` may be NULL: its reports are written, at intervals. Returns the exit
 * code: EXIT_ERROR after an error of leakmon itself, else the exit status of a launched command
 * that failed (128 + the signal that ended it), else EXIT_LEAK or EXIT_OK.
 */
int watch_run(const struct session_options *options, const struct run_hooks *hooks);

#endif
