/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loop of every command that reports at intervals: a report each INTERVAL and at SIGUSR1, the
 * last one at the end, which COUNT, SIGINT, SIGTERM, SIGHUP or the end of what is watched brings.
 */
#ifndef LEAKMON_MONITOR_REPORT_LOOP_H
#define LEAKMON_MONITOR_REPORT_LOOP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct report;
struct session;

/* When reports are made. */
struct schedule {
	uint64_t interval_ns,
		count; /* interval_ns 0: only at the end; count 0: until interrupted */
	bool repeat;   /* INTERVAL was given */
};

#define SCHEDULE_DEFAULTS                                                                          \
	{                                                                                          \
		.interval_ns = 5000000000ull                                                       \
	}

enum report_cause {
	REPORT_INTERVAL,
	REPORT_ASKED, /* by SIGUSR1, or by a hook; COUNT does not count it */
	REPORT_LAST,
};

/* A hook's result instead of 0: a report is to be made at once. */
#define REPORT_AGAIN 1

/* A vector (base/vec.h). */
struct pollfds {
	struct pollfd *items;
	size_t count, capacity;
};

/* Waits for `fd` to be readable. 0 or -ENOMEM. */
int pollfds_add(struct pollfds *fds, int fd);

/*
 * A command's additions to its run. Every hook gets the context. A hook that returns int gives 0,
 * or -errno after a message, which ends the run without a last report. Each may be NULL, which
 * means what stands beside it.
 */
struct run_hooks {
	void *context;

	/* Makes a report. REPORT_AGAIN: one more at once. With a session NULL makes the session's
	 * own; else it must be there. */
	int (*report)(void *context, enum report_cause cause);
	/* Adds what is waited for besides time and signals; a negative descriptor is passed over.
	 * NULL: nothing. */
	int (*wait_for)(void *context, struct pollfds *fds);
	/* After each wait; `fds` are those that wait_for() added, with their revents. REPORT_AGAIN:
	 * a report is wanted now. NULL: nothing to do. */
	int (*handle)(void *context, const struct pollfd *fds, size_t count);
	/* SIGCHLD. NULL: children do not matter; always so with a session, which has its own. */
	int (*on_child)(void *context);
	/* The longest wait, in milliseconds. NULL: no limit; always so with a session. */
	int (*timeout_ms)(void *context);
	/* Whether the run is to end. NULL: never; with a session, when its targets have ended. */
	bool (*is_done)(void *context);

	/* -------- of runs with a session: watch.h */

	/* All is loaded, and the first targets are attached. NULL: nothing to do. */
	int (*begin)(void *context, struct session *session);
	/* Before the session is closed, also if it never began. NULL: nothing to do. */
	void (*end)(void *context);
	/* Takes the session's reports, named and with all sites. `label` is NULL but for a snapshot
	 * that was asked for by signal, or that shows a kill. What can be mended is the hook's to
	 * count. NULL: they are written in the output format. */
	int (*take)(void *context, const struct report *report, const char *label, bool last);
	/* True: what happens to processes has to wait. NULL: never. */
	bool (*is_busy)(void *context);
	/*
	 * Once, when all targets have ended, after a report of them. With this hook the run is a
	 * live one: it goes on until is_done(), its reports do not wait for line numbers, and it
	 * has no last one. NULL: the run ends with its targets.
	 */
	void (*targets_gone)(void *context);
	const char *label;  /* of snapshots that are asked for by signal; NULL: none */
	bool needs_history; /* reports that take() gets have their history */
	bool takes_kills;   /* a report is made at once of what was OOM-killed */
	bool leaves_kills;  /* another run reports them: they are not noted here */
	bool keeps_ended;   /* reports show what has ended by figures of the hooks' own */
};

struct report_loop {
	const struct schedule *schedule;
	int signal_fd, timer_fd;
	uint64_t reports;
	bool finished; /* by a signal, or by COUNT */
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
int report_loop_run(struct report_loop *loop, const struct run_hooks *hooks);

#endif
