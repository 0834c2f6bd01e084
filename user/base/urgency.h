/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that goes first while a target waits for it: real-time, for nice orders a control
 * group's own threads only (sched(7), autogroup and cpu.shares), and what keeps the machine busy is
 * in others. Threads and helpers that it starts before the end go first, too. For work of
 * milliseconds.
 */
#ifndef LEAKMON_BASE_URGENCY_H
#define LEAKMON_BASE_URGENCY_H

#include <sched.h>

struct urgency {
	int policy, nice; /* what the thread had before */
	struct sched_param param;
};

/* Of the calling thread. Without the right to it (CAP_SYS_NICE, cpu.rt_runtime_us) it gets nice, or
 * stays as it is. */
void urgency_begin(struct urgency *before);
void urgency_end(const struct urgency *before);

/* The calling process no longer goes first: for longer work, in a child of such a thread. */
void urgency_renounce(void);

#endif
