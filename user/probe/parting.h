/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that has probes taken out: each detach waits for the kernel's grace period, and the loop
 * that watches must not. It is also the last to trust: probes that are handed to it in time go at
 * their deadline, whatever the loop is held up by.
 */
#ifndef LEAKMON_PROBE_PARTING_H
#define LEAKMON_PROBE_PARTING_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/attach.h"

struct parting;

/* NULL: out of memory, or of threads. */
struct parting *parting_new(void);
/* Waits until everything is out. */
void parting_free(struct parting *parting);

/*
 * Takes over what is in *attachments; it is closed by parting_now(), or at the deadline
 * (CLOCK_MONOTONIC; 0: now). One at a time: parting_is_done() must be true. 0 or -ENOMEM, and
 * then everything is closed already.
 */
int parting_take(struct parting *parting, struct attachments *attachments, uint64_t deadline_ns);

/* False: they were closed before, at their deadline. */
bool parting_now(struct parting *parting);

/* Nothing is left of what was taken. */
bool parting_is_done(struct parting *parting);

/* CPU time of the processes that have set and closed what was taken so far. */
double parting_apart_s(struct parting *parting);

#endif
