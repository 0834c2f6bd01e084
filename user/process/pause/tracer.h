/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process beside this one that stops a process for it (stop.h), and lets it go: when asked, or
 * when its time is up, or at once when this process ends or is stopped. So nothing that happens to
 * this one makes the other stand longer, or lets a system call of it fail.
 *
 * It has a session and a name of its own, so what is sent to a terminal's job or to all that are
 * called leakmon does not reach it. It ends after one stop. It cannot help where both are frozen,
 * or without CPU time: in one control group, that is.
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
 * Forks, so best when little memory is in use. 0 or -errno: nothing can be stopped then. *tracer is
 * untouched on failure.
 */
int tracer_start(struct tracer *tracer);

/*
 * As stop_process(), for once; *stop has the threads and their registers. stop->resume_ns is when
 * it lets them go at the latest. -EAGAIN: the tracer is gone. *stop is zeroed before, and freed by
 * the caller in any case.
 */
int tracer_stop(struct tracer *tracer, pid_t pid, uint64_t max_pause_ns, struct stop *stop);

/*
 * Lets them go, if they still stand, and waits until all have been; on success fills in when.
 * 0: they stood until this call. -ETIMEDOUT: only until their time was up; -ECANCELED: until this
 * process was stopped itself (SIGSTOP, Ctrl-Z); -EAGAIN: until the tracer was gone. Then what was
 * read before the call may not be of one moment.
 */
int tracer_resume(struct tracer *tracer, struct stop *stop);

/* Ends it. May be called of one that is zeroed, and twice. */
void tracer_end(struct tracer *tracer);

#endif
