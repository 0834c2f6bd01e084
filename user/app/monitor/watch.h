/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run that watches processes: a session in the report loop, with what happens to its targets. */
#ifndef LEAKMON_MONITOR_WATCH_H
#define LEAKMON_MONITOR_WATCH_H

#include "app/monitor/report_loop.h"
#include "app/monitor/session.h"

/*
 * `hooks` may be NULL: the session's reports are written, at intervals. Returns the exit code:
 * EXIT_ERROR after an error of leakmon's own, else the exit status of a command that was started
 * and failed (128 + the signal that ended it), else EXIT_LEAK or EXIT_OK.
 */
int watch_run(const struct session_options *options, const struct run_hooks *hooks);

#endif
