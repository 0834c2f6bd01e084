/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A companion process that stops a process on leakmon's behalf (stop.h), and resumes it: when
 * asked, when the time is up, or at once when leakmon ends or is stopped. So no failure of leakmon
 * can prolong the stop, or make a system call of the target fail.
 *
 * It has its own session and name, so signals to a terminal's job or to all processes called
 * leakmon do not reach it. It ends after one stop. It cannot help if both are frozen or without CPU
 * time, that is, in one control group.
 */
#ifndef LEAKMON_PAUSE_TRACER_H
#define LEAKMON_PAUSE_TRACER_H

#include <stdint.h>
#include <sys/types.h>

#include "process/pause/stop.h"

struct tracer_shared;

struct tracer {
	pid_t pid;  /* 0: not started */
	int socket; /* -1: none */
	struct tracer_shared *shared;
};

/*
 * Starts it by a fork, so preferably while little memory is in use. Returns 0, or -errno: then no
 * process can be stopped. *tracer is untouched on failure.
 */
int tracer_start(struct tracer *tracer);

/*
 * Works like stop_process(), once; *stop gets the threads and their registers. stop->resume_ns is
 * the latest time of their resume. -EAGAIN: the tracer is gone. *stop is zeroed first, and freed by
 * the caller in any case.
 */
int tracer_stop(struct tracer *tracer, pid_t pid, uint64_t max_pause_ns, struct stop *stop);

/*
 * Resumes them, if still stopped, and waits until all are; on success fills in the times. Returns
 * 0: they were stopped until this call. -ETIMEDOUT: only until their time was up; -ECANCELED: until
 * leakmon itself was stopped (SIGSTOP, Ctrl-Z); -EAGAIN: until the tracer was gone. Then data read
 * before the call may be inconsistent.
 */
int tracer_resume(struct tracer *tracer, struct stop *stop);

/* Ends it. May be called on a zeroed one, and twice. */
void tracer_end(struct tracer *tracer);

#endif
