/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loop of every command that watches targets: reports at intervals, by signal, and at the end.
 */
#ifndef LEAKMON_MONITOR_WATCH_LOOP_H
#define LEAKMON_MONITOR_WATCH_LOOP_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "monitor/emit.h"

struct pollfd;
struct session;
struct session_options;

/* When reports are made. */
struct schedule {
	uint64_t interval_ns, count; /* count 0: until interrupted */
	bool repeat;		     /* INTERVAL was given */
};

#define SCHEDULE_DEFAULTS                                                                          \
	{                                                                                          \
		.interval_ns = 5000000000ull                                                       \
	}

/*
 * The loop of every command that reports at intervals: a report each INTERVAL and at SIGUSR1, the
 * last one at the end, which COUNT, SIGINT, SIGTERM, SIGHUP or the end of what is watched brings.
 */

enum report_cause {
	REPORT_INTERVAL,
	REPORT_ASKED, /* by SIGUSR1; COUNT does not count it */
	REPORT_LAST,
};

/* What report() gives instead of 0 when one more is to be made at once. */
#define REPORT_AGAIN 1

/* A vector (base/vec.h). */
struct pollfds {
	struct pollfd *items;
	size_t count, capacity;
};

/* Waits for `fd` to be readable. 0 or -ENOMEM. */
int pollfds_add(struct pollfds *fds, int fd);

/* What the loop runs. Functions that may be NULL say what that means. Those that return int give 0,
 * or -errno after a message, which ends the loop without a last report. */
struct reporter {
	void *context;
	int (*report)(void *context, enum report_cause cause);
	/* Adds what is to be waited for; NULL: nothing but time and signals. A negative descriptor
	 * is passed over. */
	int (*wait_for)(void *context, struct pollfds *fds);
	/* After each wait; `fds` are those that wait_for() added, with their revents. NULL: none.
	 */
	int (*handle)(void *context, const struct pollfd *fds, size_t count);
	/* SIGCHLD; NULL: the ends of children do not matter. */
	int (*on_child)(void *context);
	/* The longest wait, in milliseconds; NULL: no limit. */
	int (*timeout_ms)(void *context);
	/* Whether there is nothing left to watch; NULL: never. */
	bool (*is_done)(void *context);
};

struct report_loop {
	const struct schedule *schedule;
	int signal_fd, timer_fd;
	uint64_t reports;
	bool finished;
};

/* The value of a loop that is not open yet: it can be closed. */
#define REPORT_LOOP_CLOSED ((struct report_loop){.signal_fd = -1, .timer_fd = -1})

/*
 * Blocks the signals, before anything is opened that they should end in order; `children`: SIGCHLD
 * as well. 0, or -errno after a message.
 */
int report_loop_open(struct report_loop *loop, const struct schedule *schedule, bool children);

void report_loop_close(struct report_loop *loop);

/* The first interval begins now. 0, or -errno after a message. */
int report_loop_run(struct report_loop *loop, const struct reporter *reporter);

/* `sink` takes the reports instead of the output format, or is NULL. Returns the exit code. */
int watch_run(const struct session_options *options, const struct report_sink *sink);

/* What a run does between its reports. */
struct watch_work {
	/* Everything is loaded, and the first targets are there. 0, or -errno after a message. */
	int (*begin)(void *context, struct session *session);
	/* As in monitor/watch_loop.h. */
	int (*wait_for)(void *context, struct pollfds *fds);
	int (*handle)(void *context, const struct pollfd *fds, size_t count);
	/* True: what happens to processes has to wait. */
	bool (*is_busy)(void *context);
	/* Before the session is closed, also if it never began. */
	void (*end)(void *context);
	/* Its reports show session->oom: one is made of what is killed for want of memory. */
	bool takes_kills;
	/* A session_reporter; its context is this one. */
	int (*report)(struct session *session, const void *context, bool last);
	void *context;
};
/* Of `sink`, what is live about it alone: reports are the work's. Or NULL. */
int watch_run_work(const struct session_options *options, const struct report_sink *sink,
		   const struct watch_work *work);

/* Makes and writes a report. 0, or -errno after a message, which ends the run. */
typedef int (*session_reporter)(struct session *session, const void *context, bool last);
/* The same with reports of another kind; `context` is the reporter's. */
int watch_run_reporter(const struct session_options *options, session_reporter report,
		       const void *context);

#endif
