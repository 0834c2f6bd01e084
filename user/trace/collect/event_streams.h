/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Families beside the heap that follow processes one by one, and what they put into snapshots: a
 * row in event_streams.c each.
 */
#ifndef LEAKMON_COLLECT_EVENT_STREAMS_H
#define LEAKMON_COLLECT_EVENT_STREAMS_H

#include "leakmon_abi.h"
#include "report/snapshot.h"
#include "trace/collect/collect.h"
#include "trace/probe/loader.h"

struct event_stream;

/* Operations of one of them, see below. */
struct event_stream_ops {
	void (*free)(struct event_stream *stream);
	int (*follow)(struct event_stream *stream, int pid);
	void (*forget)(struct event_stream *stream, int pid);
	int (*consume)(struct event_stream *stream);
	int (*fill)(struct event_stream *stream, const struct collect_options *options,
		    struct snapshot *snapshot);
};

/* Stands first in the struct of each. */
struct event_stream {
	const struct event_stream_ops *ops;
	int fd; /* readable when there is something to consume; borrowed; -1: the kernel counts */
};

/* By family; NULL: not tracked. */
struct event_streams {
	struct event_stream *of_family[FAMILY_MAX_];
	int fd; /* readable when one of them is; -1: there is none */
};

/*
 * `families` is a set of 1 << enum family_id, for which `bpf`, which is borrowed, was loaded. 0 or
 * -errno; to be closed in either case. Zeroed, it can be closed, too.
 */
int event_streams_open(struct event_streams *streams, const struct bpf_side *bpf,
		       uint32_t families);
void event_streams_close(struct event_streams *streams);

/* From now on this process is followed; no more: what it holds stays counted until it ends. */
void event_streams_follow(const struct event_streams *streams, int pid);
void event_streams_forget(const struct event_streams *streams, int pid);

/* Replays what is waiting. 0 or -errno. */
int event_streams_consume(const struct event_streams *streams);

/*
 * Consumes, mends what was lost, purges what is over, and adds the sites and figures of these
 * families to a snapshot that collector_read has just made. 0 or -errno; the snapshot is to be
 * freed either way.
 */
int event_streams_fill(const struct event_streams *streams, const struct collect_options *options,
		       struct snapshot *snapshot);

/* NULL: out of memory. */
struct event_stream *mapping_stream_new(const struct bpf_side *bpf);
struct event_stream *descriptor_stream_new(const struct bpf_side *bpf);

/* The ring buffer from the BPF side: what happens to processes, and --trace. */

struct events;

typedef void (*event_handler)(const struct lm_event *event, void *context);

/* NULL: out of memory, or the kernel refused. */
struct events *events_new(const struct bpf_side *bpf, event_handler handler, void *context);
void events_free(struct events *events);

/* Readable when there is something to consume. */
int events_fd(const struct events *events);
/* Hands every waiting event to the handler. 0 or -errno. */
int events_consume(struct events *events);

/* For a stream: the call stack of the site that `process` had (0: not known), or LM_LOST_SITES_FULL
 * when the site has another process now. The addresses are the site's. 0 or -ENOMEM. */
int event_stack_copy(const struct bpf_side *bpf, lm_process_key process, uint32_t index,
		     struct site *site);

#endif
