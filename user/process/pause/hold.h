/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads something of a process while all its threads stand. The process resumes in time even if
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
	 * Called while it stands, by another thread: it must keep to the deadline, and wait for
	 * nothing (no output). 0 or -errno.
	 */
	int (*read)(void *context, const struct stop *stop, struct deadline *deadline);
	void *context;

	/* Filled in. */
	struct stop stop; /* to be freed by stop_free() */
	bool stood;	  /* read() was called */
};

/*
 * The result of read(); without a call of it: errors of stop_process(), or -EAGAIN: there can be no
 * thread, or no tracer. After a call of it also -ETIMEDOUT, -ECANCELED or -EAGAIN
 * (tracer_resume()): what was read may not be of one moment.
 */
int hold_process(struct hold *hold);

/* Why a process did not stand, by that error; static. */
const char *hold_why_not(int error);

/* The longest stop that the options allow for a process with so much memory that it can write
 * to. */
uint64_t hold_limit_ns(uint64_t given_ns, uint64_t writable_bytes);

#endif
