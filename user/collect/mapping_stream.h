/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --mappings: the events from the BPF side, replayed, and put into snapshots. */
#ifndef LEAKMON_COLLECT_MAPPING_STREAM_H
#define LEAKMON_COLLECT_MAPPING_STREAM_H

#include "collect/collect.h"
#include "collect/snapshot.h"
#include "probe/loader.h"

struct mapping_stream;

/* `bpf` was loaded with loader_config.mappings, and is borrowed. NULL: out of memory. */
struct mapping_stream *mapping_stream_new(const struct bpf_side *bpf);
void mapping_stream_free(struct mapping_stream *stream);

/* From now on the mappings of this process are followed. 0 or -errno. */
int mapping_stream_follow(struct mapping_stream *stream, int pid);

/* No more; what it has mapped stays counted until it ends. */
void mapping_stream_forget(struct mapping_stream *stream, int pid);

/* Readable when there is something to consume. */
int mapping_stream_fd(const struct mapping_stream *stream);
/* Replays what is waiting. 0 or -errno. */
int mapping_stream_consume(struct mapping_stream *stream);

/*
 * Consumes, mends what was lost, purges what is over, and adds the sites of the mapping family and
 * their ledgers to a snapshot that collector_read has just made. 0 or -errno; the snapshot is to be
 * freed either way.
 */
int mapping_stream_fill(struct mapping_stream *stream, const struct collect_options *options,
			struct snapshot *snapshot);

#endif
