/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loop of every command that reports at intervals: a report each INTERVAL and at SIGUSR1, the
 * last one at the end, which COUNT, SIGINT, SIGTERM, SIGHUP or the end of what is watched brings.
 */
#ifndef LEAKMON_MONITOR_REPORT_LOOP_H
#define LEAKMON_MONITOR_REPORT_LOOP_H

#include <poll.h>
#include <stdbool.h>

#include "cli/options.h"

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

#endif
