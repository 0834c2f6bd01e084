/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Families beside the heap that follow processes one by one, and their part of snapshots: one row
 * each in event_streams.c.
 */
#ifndef LEAKMON_COLLECT_EVENT_STREAMS_H
#define LEAKMON_COLLECT_EVENT_STREAMS_H

#include "leakmon_abi.h"
#include "report/snapshot.h"
#include "trace/collect/collect.h"
#include "trace/probe/loader.h"

struct event_stream;

/* Operations of a family, see below. */
struct event_stream_ops {
	void (*free)(struct event_stream *stream);
	int (*follow)(struct event_stream *stream, int pid);
	void (*forget)(struct event_stream *stream, int pid);
	int (*consume)(struct event_stream *stream);
	int (*fill)(struct event_stream *stream, const struct collect_options *options,
		    struct snapshot *snapshot);
};

/* The first member of each family's struct. */
struct event_stream {
	const struct event_stream_ops *ops;
	int fd; /* readable when there is something to consume; borrowed; -1: the kernel counts */
};

/* By family; NULL: not tracked. */
struct event_streams {
	struct event_stream *of_family[FAMILY_MAX_];
	int fd; /* readable when one of them is; -1: none */
};

/*
 * Opens the streams of `families`, a set of 1 << enum family_id, for which `bpf`, which is
 * borrowed, was loaded. Returns 0 or -errno; to be closed in either case. A zeroed struct can be
 * closed, too.
 */
int event_streams_open(struct event_streams *streams, const struct bpf_side *bpf,
		       uint32_t families);
void event_streams_close(struct event_streams *streams);

/*
 * Starts and stops following a process; after the stop, its resources stay counted until it ends.
 */
void event_streams_follow(const struct event_streams *streams, int pid);
void event_streams_forget(const struct event_streams *streams, int pid);

/* Replays pending events. Returns 0 or -errno. */
int event_streams_consume(const struct event_streams *streams);

/*
 * Consumes events, repairs losses, purges ended processes, and adds the sites and figures of these
 * families to a snapshot that collector_read has just made. Returns 0 or -errno; the snapshot is to
 * be freed either way.
 */
int event_streams_fill(const struct event_streams *streams, const struct collect_options *options,
		       struct snapshot *snapshot);

/* Return NULL if out of memory. */
struct event_stream *mapping_stream_new(const struct bpf_side *bpf);
struct event_stream *descriptor_stream_new(const struct bpf_side *bpf);

/* The ring buffer from the BPF side: process events, and --trace. */

struct events;

typedef void (*event_handler)(const struct lm_event *event, void *context);

/* Returns NULL if out of memory, or the kernel refused. */
struct events *events_new(const struct bpf_side *bpf, event_handler handler, void *context);
void events_free(struct events *events);

/* Returns a descriptor, readable when there is something to consume. */
int events_fd(const struct events *events);
/* Passes every pending event to the handler. Returns 0 or -errno. */
int events_consume(struct events *events);

/*
 * For streams: copies the call stack of the site that `process` had (0: unknown); sets
 * LM_LOST_SITES_FULL if the site now belongs to another process. The addresses are the site's.
 * Returns 0 or -ENOMEM.
 */
int event_stack_copy(const struct bpf_side *bpf, lm_process_key process, uint32_t index,
		     struct site *site);

#endif
