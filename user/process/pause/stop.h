/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holding every thread of a process for a moment (ptrace(2): PTRACE_SEIZE, PTRACE_INTERRUPT).
 *
 * Nothing of the process is changed, and none of its system calls fails that would not have failed
 * without: see below. A signal that arrives meanwhile is delivered when it goes on,
 * and a process that job control had stopped stays stopped.
 *
 * To be called, from begin to end, by one thread that ends soon after (tracer.h): the kernel lets
 * go of whatever a thread still traces when it ends, also of threads that have not come to a stop
 * yet.
 */
#ifndef LEAKMON_PAUSE_STOP_H
#define LEAKMON_PAUSE_STOP_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "base/vec.h"
#include "binary/arch/machine.h"
#include "binary/arch/system_call.h"

/* Whether a process may be stopped, and for how long. */
struct pause_options {
	bool no_stop;
	uint64_t max_pause_ns; /* 0: by the size of the process */
};

/*
 * System calls that a stop has interrupted (signal(7), "Interruption of system calls ... by stop
 * signals"; kernel: arch_do_signal_or_restart()).
 *
 * Most go on by themselves when the thread does. Two kinds do not: some fail with EINTR, though no
 * signal was there; and those that go on through restart_syscall(2) end as a seccomp filter wills
 * that does not know that call. Both are made to begin again as the kernel does where no handler
 * ran, and still fail with EINTR where one does (-ERESTARTNOHAND): relative time limits start over.
 */

struct stopped_thread {
	pid_t tid;
	bool interrupted, stopped;
	int signal; /* that it was about to get; 0: none */
	bool repeats;
	struct system_call_before before;
	struct machine_registers registers;
};

struct stop {
	VEC(struct stopped_thread) threads; /* good after stop_resume() too */
	struct hash known;		    /* the tids that were seized */
	/*
	 * From the first thread's interruption until the last one was let go (from the first
	 * that was seized, if a signal stopped one before its interruption). CLOCK_MONOTONIC; 0:
	 * not yet.
	 */
	uint64_t began_ns, ended_ns;
	uint64_t resume_ns; /* from then on, letting all go takes the rest of the pause */
	size_t repeated;    /* system calls that begin again */
	struct sock_filter *program;
};

/*
 * Stops all threads, in at most max_pause_ns, and reads their registers. 0; -EPERM: refused
 * (another tracer, yama, other user); -ETIMEDOUT: a thread does not stop (it is in an
 * uninterruptible call), or there are too many; -ESRCH: it ended; -ENOMEM. On failure all that
 * stopped go on, and began_ns and ended_ns say how long they stood. *stop is zeroed before, and
 * freed by the caller in any case.
 */
int stop_process(pid_t pid, uint64_t max_pause_ns, struct stop *stop);

/* Lets all of them go on. May be called twice. */
void stop_resume(struct stop *stop);
void stop_free(struct stop *stop);

#endif
