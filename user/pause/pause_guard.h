/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process beside this one that sees to it that what this one holds (stop.h) is let go in time,
 * also when it cannot do so itself. Signals that stop a program cannot all be blocked: if it is
 * stopped while it holds something, the guard continues it at once; if it is late for another
 * reason, by much, the guard kills it, and the kernel lets go.
 *
 * It has a session and a name of its own, so what is sent to a terminal's job or to all that are
 * called leakmon does not reach it. It ends with this process. It cannot help where both are
 * frozen, or without CPU time: in one control group, that is.
 */
#ifndef LEAKMON_PAUSE_PAUSE_GUARD_H
#define LEAKMON_PAUSE_PAUSE_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct guard_state;

struct pause_guard {
	pid_t pid; /* 0: not started */
	int wake;  /* a pipe; -1: none */
	struct guard_state *state;
};

/*
 * Forks, so best when little memory is in use. 0 or -errno: nothing may be held then. *guard is
 * untouched on failure.
 */
int pause_guard_start(struct pause_guard *guard);

/* Something is held until `until_ns` at most (CLOCK_MONOTONIC); 0: nothing any more. guard may be
 * NULL. */
void pause_guard_watch(struct pause_guard *guard, uint64_t until_ns);

/* Ends it. True: this process had been stopped, and was continued; its stopper still wants it
 * so. May be called of one that is zeroed. */
bool pause_guard_end(struct pause_guard *guard);

#endif
