/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a reader while all threads of a process are stopped. The process resumes in time even if
 * leakmon is killed or stopped during the pause (tracer.h).
 */
#ifndef LEAKMON_PAUSE_HOLD_H
#define LEAKMON_PAUSE_HOLD_H

#include "base/clock.h"
#include "process/pause/stop.h"
#include "process/pause/tracer.h"

struct hold {
	pid_t pid;
	uint64_t max_pause_ns;
	struct tracer *tracer; /* started; hold_process() ends it */
	/*
	 * Called during the stop, on another thread: it must keep the deadline and must not block
	 * (no output). Returns 0 or -errno.
	 */
	int (*read)(void *context, const struct stop *stop, struct deadline *deadline);
	void *context;

	/* Filled in. */
	struct stop stop; /* to be freed by stop_free() */
	bool stood;	  /* read() was called */
};

/*
 * Stops, reads and resumes. Returns the result of read(); if it was not called: errors of
 * stop_process(), or -EAGAIN: no thread or no tracer could be started. After a call of it also
 * -ETIMEDOUT, -ECANCELED or -EAGAIN (tracer_resume()): the data read may be inconsistent.
 */
int hold_process(struct hold *hold);

/* Returns why a process was not stopped, by that error; static. */
const char *hold_why_not(int error);

/* Returns the longest stop that the options allow for a process with this much writable memory. */
uint64_t hold_limit_ns(uint64_t given_ns, uint64_t writable_bytes);

#endif
