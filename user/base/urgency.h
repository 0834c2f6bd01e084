/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raises the priority of a thread while a target waits for it: real-time, because nice orders only
 * threads within one control group (sched(7), autogroup and cpu.shares), and the load is usually in
 * others. Threads and helpers started before the end inherit it. For milliseconds of work.
 */
#ifndef LEAKMON_BASE_URGENCY_H
#define LEAKMON_BASE_URGENCY_H

#include <sched.h>

struct urgency {
	int policy, nice; /* the previous values */
	struct sched_param param;
};

/*
 * Raises the calling thread's priority. Without the right to (CAP_SYS_NICE, cpu.rt_runtime_us) it
 * gets nice, or stays unchanged.
 */
void urgency_begin(struct urgency *before);
void urgency_end(const struct urgency *before);

/* Drops the priority of the calling process: for longer work, in a child of such a thread. */
void urgency_renounce(void);

#endif
