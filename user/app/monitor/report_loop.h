/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loop of every command that reports at intervals: a report each INTERVAL and at SIGUSR1, and a
 * last one at the end: after COUNT, SIGINT, SIGTERM or SIGHUP, or when the watched processes have
 * ended.
 */
#ifndef LEAKMON_MONITOR_REPORT_LOOP_H
#define LEAKMON_MONITOR_REPORT_LOOP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct report;
struct session;

/* Times of reports. */
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
	REPORT_ASKED, /* by SIGUSR1 or a hook; not included in COUNT */
	REPORT_LAST,
};

/* A hook returns this instead of 0 to request a report at once. */
#define REPORT_AGAIN 1

/* A vector (base/vec.h). */
struct pollfds {
	struct pollfd *items;
	size_t count, capacity;
};

/* Adds `fd` to wait for it to be readable. Returns 0 or -ENOMEM. */
int pollfds_add(struct pollfds *fds, int fd);

/*
 * A command's additions to its run. Every hook gets the context. A hook that returns int returns 0,
 * or -errno after a message, which ends the run without a last report. Each may be NULL, with the
 * meaning given.
 */
struct run_hooks {
	void *context;

	/* Makes a report. Returns REPORT_AGAIN to make another at once. NULL: the session makes its
	 * own; required without a session. */
	int (*report)(void *context, enum report_cause cause);
	/* Adds descriptors to wait for besides time and signals; negative ones are ignored. NULL:
	 * none. */
	int (*wait_for)(void *context, struct pollfds *fds);
	/* Called after each wait; `fds` are those that wait_for() added, with their revents.
	 * Returns REPORT_AGAIN to request a report now. NULL: nothing to do. */
	int (*handle)(void *context, const struct pollfd *fds, size_t count);
	/* Handles SIGCHLD. NULL: ignored; must be NULL with a session, which has its own. */
	int (*on_child)(void *context);
	/* Returns the longest wait, in milliseconds. NULL: no limit; must be NULL with a
	 * session. */
	int (*timeout_ms)(void *context);
	/* Returns whether the run is to end. NULL: never; with a session, when its targets have
	 * ended. */
	bool (*is_done)(void *context);

	/* -------- for runs with a session: watch.h */

	/* Called when all is loaded and the first targets are attached. NULL: nothing to do. */
	int (*begin)(void *context, struct session *session);
	/* Called before the session is closed, even if it never began. NULL: nothing to do. */
	void (*end)(void *context);
	/* Takes the session's reports, named and with all sites. `label` is NULL except for a
	 * snapshot requested by signal, or one that shows a kill. The hook counts temporary
	 * failures itself. NULL: reports are written in the output format. */
	int (*take)(void *context, const struct report *report, const char *label, bool last);
	/* Returns true to postpone the handling of events of processes. NULL: never. */
	bool (*is_busy)(void *context);
	/* Called once, when all targets have ended, after a report of them. This hook makes the run
	 * a live one: it goes on until is_done(), its reports do not wait for line numbers, and it
	 * writes no final report. NULL: the run ends with its targets. */
	void (*targets_gone)(void *context);
	const char *label;  /* of snapshots requested by signal; NULL: none */
	bool needs_history; /* take() needs reports with their history */
	bool takes_kills;   /* OOM kills are reported at once */
	bool leaves_kills;  /* another run reports kills: they are not recorded here */
	bool keeps_ended;   /* reports show ended processes by the hooks' own figures */
};

struct report_loop {
	const struct schedule *schedule;
	int signal_fd, timer_fd;
	uint64_t reports;
	bool finished; /* by a signal, or by COUNT */
};

/* The value of a loop that is not yet open: report_loop_close() accepts it. */
#define REPORT_LOOP_CLOSED ((struct report_loop){.signal_fd = -1, .timer_fd = -1})

/*
 * Blocks the signals; call it before anything is opened that an orderly end must close. `children`:
 * block SIGCHLD as well. Returns 0, or -errno after a message.
 */
int report_loop_open(struct report_loop *loop, const struct schedule *schedule, bool children);

void report_loop_close(struct report_loop *loop);

/* Runs the loop; the first interval begins now. Returns 0, or -errno after a message. */
int report_loop_run(struct report_loop *loop, const struct run_hooks *hooks);

#endif
