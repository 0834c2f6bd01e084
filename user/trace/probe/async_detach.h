/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that takes probes out: each detach waits for a grace period of the kernel, and the
 * report loop must not. It also enforces a deadline: probes that are handed over in time are taken
 * out by then, however late the loop is.
 */
#ifndef LEAKMON_PROBE_ASYNC_DETACH_H
#define LEAKMON_PROBE_ASYNC_DETACH_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/probe/attach.h"

struct async_detach;

/* NULL: out of memory, or no thread could be created. */
struct async_detach *async_detach_new(void);
/* Waits until everything is out. */
void async_detach_free(struct async_detach *detach);

/* The cost limit at which probes must go. */
struct detach_guard {
	/* CPU time that is left; from <= 0 on they are closed. Called by the thread. */
	double (*left_s)(void *context);
	void *context;
};

/*
 * Takes over *attachments, which are closed by async_detach_now(), or at the deadline
 * (CLOCK_MONOTONIC; 0: now), or when the guard (NULL: none) has nothing left. One at a time:
 * async_detach_is_done() must be true. 0 or -ENOMEM, and then everything is closed already.
 */
int async_detach_add(struct async_detach *detach, struct attachments *attachments,
		     uint64_t deadline_ns, const struct detach_guard *guard);

/* False: the deadline, or the guard, has closed them already. */
bool async_detach_now(struct async_detach *detach);

/* When the latest ones began to be closed (CLOCK_MONOTONIC); 0: they wait. */
uint64_t async_detach_closed_ns(struct async_detach *detach);

/* Whether everything that was handed over is closed. */
bool async_detach_is_done(struct async_detach *detach);

/* CPU time of the helper processes that have set and closed these probes so far. */
double async_detach_cpu_s(struct async_detach *detach);

#endif
