/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop of every command that watches targets: reports at intervals, by signal, and at the end.
 */
#ifndef LEAKMON_MONITOR_WATCH_LOOP_H
#define LEAKMON_MONITOR_WATCH_LOOP_H

#include "cli/options.h"
#include "monitor/emit.h"

/* `sink` takes the reports instead of the output format, or is NULL. Returns the exit code. */
int watch_run(const struct session_options *options, const struct report_sink *sink);

struct session;
/* Makes and writes a report. 0, or -errno after a message, which ends the run. */
typedef int (*session_reporter)(struct session *session, const void *context, bool last);
/* The same with reports of another kind; `context` is the reporter's. */
int watch_run_reporter(const struct session_options *options, session_reporter report,
		       const void *context);

#endif
