/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stops every thread of a process for a moment (ptrace(2): PTRACE_SEIZE, PTRACE_INTERRUPT).
 *
 * The process is unchanged, and no system call fails that would not have failed otherwise: see
 * below. A signal that arrives meanwhile is delivered at the resume, and a process that job control
 * had stopped stays stopped.
 *
 * To be called, from begin to end, by one thread that ends soon after (tracer.h): when a tracing
 * thread ends, the kernel releases all its tracees, even those that have not stopped yet.
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
 * System calls interrupted by a stop (signal(7), "Interruption of system calls ... by stop
 * signals"; kernel: arch_do_signal_or_restart()).
 *
 * Most restart by themselves when the thread resumes. Two kinds do not: some fail with EINTR,
 * although there was no signal; and those that continue by restart_syscall(2) may be ended by a
 * seccomp filter that does not know that call. Both are made to restart as the kernel does when no
 * handler ran, and still fail with EINTR when one does (-ERESTARTNOHAND): relative timeouts start
 * over.
 */

struct stopped_thread {
	pid_t tid;
	bool interrupted, stopped;
	int signal; /* pending delivery; 0: none */
	bool repeats;
	struct system_call_before before;
	struct machine_registers registers;
};

struct stop {
	VEC(struct stopped_thread) threads; /* valid after stop_resume(), too */
	struct hash known;		    /* the seized TIDs */
	/*
	 * From the first thread's interruption until the last one was resumed (from the first
	 * seized one, if a signal stopped it before its interruption). CLOCK_MONOTONIC; 0: not yet.
	 */
	uint64_t began_ns, ended_ns;
	uint64_t resume_ns; /* from then on, resuming all takes the rest of the pause */
	size_t repeated;    /* restarted system calls */
	struct sock_filter *program;
};

/*
 * Stops all threads, in at most max_pause_ns, and reads their registers. Returns 0; -EPERM: refused
 * (another tracer, yama, other user); -ETIMEDOUT: a thread does not stop (it is in an
 * uninterruptible call), or there are too many; -ESRCH: it ended; -ENOMEM. On failure all stopped
 * threads are resumed, and began_ns and ended_ns tell how long they were stopped. *stop is zeroed
 * first, and freed by the caller in any case.
 */
int stop_process(pid_t pid, uint64_t max_pause_ns, struct stop *stop);

/* Resumes all of them. May be called twice. */
void stop_resume(struct stop *stop);
void stop_free(struct stop *stop);

#endif
