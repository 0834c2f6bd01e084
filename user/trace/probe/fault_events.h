/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page faults of one process, sampled: a perf event on each of its threads, inherited by threads
 * that these create (inherit_thread, Linux 5.13), and ended by an exec. No other process pays for
 * it, and the events end with the process.
 *
 * Not by frequency: the kernel's own pacing spends the whole rate on the first faults of a burst,
 * and then pauses for long.
 */
#ifndef LEAKMON_PROBE_FAULT_EVENTS_H
#define LEAKMON_PROBE_FAULT_EVENTS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/vec.h"

#define FAULT_THREADS_MAX 64

struct fault_events {
	VEC(int) fds;	 /* owned */
	unsigned period; /* one fault in `period`, per thread */
	size_t missed;	 /* threads not sampled: too many, or descriptors ran out */
};

/*
 * Passes one fault in `period` to the program. Returns 0; -ESRCH; -errno if not even one thread can
 * be sampled (*events is then untouched).
 */
int fault_events_open(struct fault_events *events, pid_t pid, int program_fd, unsigned period);
void fault_events_close(struct fault_events *events);

#endif
