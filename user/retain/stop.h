/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holding every thread of a process for a moment (ptrace(2): PTRACE_SEIZE, PTRACE_INTERRUPT).
 *
 * Nothing of the process is changed. A signal that arrives meanwhile is delivered when it goes on,
 * a process that job control had stopped stays stopped, and should we die, the kernel lets go of
 * every thread by itself. To be called, from begin to end, by one thread of ours.
 */
#ifndef LEAKMON_RETAIN_STOP_H
#define LEAKMON_RETAIN_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/vec.h"

#define STOP_VECTOR_WORDS 32 /* xmm0 to xmm15 */

struct stopped_thread {
	pid_t tid;
	bool stopped;
	int signal; /* that it was about to get; 0: none */
	struct user_regs_struct registers;
	uint64_t vectors[STOP_VECTOR_WORDS];
};

struct stop {
	VEC(struct stopped_thread) threads; /* good after stop_resume() too */
	uint64_t began_ns, ended_ns;	    /* CLOCK_MONOTONIC; 0: not yet */
};

uint64_t stop_clock_ns(void);

/*
 * Stops all threads, at latest by deadline_ns (CLOCK_MONOTONIC), and reads their registers.
 * 0; -EPERM: refused (another tracer, yama, other user); -ETIMEDOUT: a thread does not stop (it is
 * in an uninterruptible call); -ESRCH: it ended; -ENOMEM. On failure nothing is held.
 */
int stop_process(pid_t pid, uint64_t deadline_ns, struct stop *stop);

/* Lets all of them go on. May be called twice. */
void stop_resume(struct stop *stop);
void stop_free(struct stop *stop);

#endif
