/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that detaches probes: each detach waits for a grace period of the kernel, and the report
 * loop must not. It also enforces a deadline: probes handed over in time are detached by then,
 * however late the loop is.
 */
#ifndef LEAKMON_PROBE_ASYNC_DETACH_H
#define LEAKMON_PROBE_ASYNC_DETACH_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/probe/attach.h"

struct async_detach;

/* Returns NULL if out of memory, or no thread could be created. */
struct async_detach *async_detach_new(void);
/* Waits until all are detached. */
void async_detach_free(struct async_detach *detach);

/* A cost limit at which probes must be detached. */
struct detach_guard {
	/* Returns the CPU time left; at <= 0 they are closed. Called by the thread. */
	double (*left_s)(void *context);
	void *context;
};

/*
 * Takes over *attachments, which are closed by async_detach_now(), or at the deadline
 * (CLOCK_MONOTONIC; 0: now), or when the guard (NULL: none) has no time left. One at a time:
 * async_detach_is_done() must be true. Returns 0 or -ENOMEM; then everything is already closed.
 */
int async_detach_add(struct async_detach *detach, struct attachments *attachments,
		     uint64_t deadline_ns, const struct detach_guard *guard);

/* Closes them now. Returns false if the deadline, or the guard, already did. */
bool async_detach_now(struct async_detach *detach);

/* Returns when the latest ones began to be closed (CLOCK_MONOTONIC); 0: pending. */
uint64_t async_detach_closed_ns(struct async_detach *detach);

/* Returns whether all attachments handed over are closed. */
bool async_detach_is_done(struct async_detach *detach);

/* Returns the CPU time of the helper processes that have set and closed these probes so far. */
double async_detach_cpu_s(struct async_detach *detach);

#endif
