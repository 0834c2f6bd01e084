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
struct pollfd;
struct pollfds;

/* What a run does between its reports. */
struct watch_work {
	/* Everything is loaded, and the first targets are there. 0, or -errno after a message. */
	int (*begin)(void *context, struct session *session);
	/* As in monitor/report_loop.h. */
	int (*wait_for)(void *context, struct pollfds *fds);
	int (*handle)(void *context, const struct pollfd *fds, size_t count);
	/* True: what happens to processes has to wait. */
	bool (*is_busy)(void *context);
	/* Before the session is closed, also if it never began. */
	void (*end)(void *context);
	/* A session_reporter; its context is this one. */
	int (*report)(struct session *session, const void *context, bool last);
	void *context;
};
int watch_run_work(const struct session_options *options, const struct watch_work *work);

/* Makes and writes a report. 0, or -errno after a message, which ends the run. */
typedef int (*session_reporter)(struct session *session, const void *context, bool last);
/* The same with reports of another kind; `context` is the reporter's. */
int watch_run_reporter(const struct session_options *options, session_reporter report,
		       const void *context);

#endif
