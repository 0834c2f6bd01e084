/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page faults of one process, sampled: a perf event on each of its threads, which those that they
 * create inherit (inherit_thread, Linux 5.13), and which an exec ends. No other process pays for
 * it, and a process that is killed takes them along.
 *
 * Not by frequency: the kernel's own pacing takes the first faults of a burst for the whole rate,
 * and then waits for long.
 */
#ifndef LEAKMON_PROBE_FAULT_EVENTS_H
#define LEAKMON_PROBE_FAULT_EVENTS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/vec.h"

#define FAULT_THREADS_MAX 64

struct fault_events {
	VEC(int) fds;	 /* owned */
	unsigned period; /* one fault in so many, of each thread */
	size_t missed;	 /* threads that are not sampled: there are too many, or descriptors ran out
			  */
};

/*
 * Hands one fault in `period` to the program. 0; -ESRCH; -errno when not even one thread can be
 * sampled (*events is untouched then).
 */
int fault_events_open(struct fault_events *events, pid_t pid, int program_fd, unsigned period);
void fault_events_close(struct fault_events *events);

#endif
