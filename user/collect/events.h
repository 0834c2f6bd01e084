/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring buffer from the BPF side: what happens to processes, and --trace. */
#ifndef LEAKMON_COLLECT_EVENTS_H
#define LEAKMON_COLLECT_EVENTS_H

#include "leakmon_abi.h"
#include "probe/loader.h"

struct events;

typedef void (*event_handler)(const struct lm_event *event, void *context);

/* NULL: out of memory, or the kernel refused. */
struct events *events_new(const struct bpf_side *bpf, event_handler handler, void *context);
void events_free(struct events *events);

/* Readable when there is something to consume. */
int events_fd(const struct events *events);
/* Hands every waiting event to the handler. 0 or -errno. */
int events_consume(struct events *events);

#endif
