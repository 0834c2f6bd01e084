// SPDX-License-Identifier: GPL-2.0-or-later
/* --mappings: the events from the BPF side, replayed, and put into snapshots. */
#include "collect/event_streams.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "collect/mappings.h"

struct mapping_stream {
	struct event_stream base;
	const struct bpf_side *bpf;
	struct ring_buffer *ring;
	struct mappings *mappings;
};

static int on_record(void *context, void *data, size_t size)
{
	struct mapping_stream *stream = context;

	/* Out of memory: the process is marked as inexact, and the others go on. */
	if (size >= sizeof(struct lm_mapping_event))
		mappings_apply(stream->mappings, data);
	return 0;
}

static int stream_follow(struct event_stream *base, int pid)
{
	struct mapping_stream *stream = (struct mapping_stream *)base;
	uint32_t tgid = (uint32_t)pid, value = 1;

	if (bpf_map_update_elem(stream->bpf->mapping_targets_fd, &tgid, &value, BPF_ANY))
		return -errno;
	/* Only now: what is mapped between the two is told of, and was there before, which is
	 * right. */
	mappings_watch(stream->mappings, pid);
	return 0;
}

static void stream_forget(struct event_stream *base, int pid)
{
	struct mapping_stream *stream = (struct mapping_stream *)base;
	uint32_t tgid = (uint32_t)pid;

	bpf_map_delete_elem(stream->bpf->mapping_targets_fd, &tgid);
}

static int stream_consume(struct event_stream *base)
{
	struct mapping_stream *stream = (struct mapping_stream *)base;
	int count = ring_buffer__consume(stream->ring);

	return count < 0 ? count : 0;
}

/* Processes whose ledgers are open: alive, or ended and still shown. */
struct open_ledgers {
	struct hash keys;
};

static bool is_over(lm_process_key process, const void *context)
{
	const struct open_ledgers *open = context;

	return !hash_get(&open->keys, process);
}

static int find_open(const struct bpf_side *bpf, bool keep_exited, struct open_ledgers *open)
{
	uint32_t count =
		MIN(__atomic_load_n(bpf->process_count, __ATOMIC_ACQUIRE), bpf->max_processes);

	for (uint32_t slot = 1; slot < count; slot++) {
		const struct lm_process *process = &bpf->processes[slot];

		if (!process->key || process->state == LM_PROCESS_EXECED ||
		    (process->state == LM_PROCESS_EXITED && !keep_exited))
			continue;
		if (!hash_put(&open->keys, process->key, NULL))
			return -ENOMEM;
	}
	return 0;
}

static int stream_fill(struct event_stream *base, const struct collect_options *options,
		       struct snapshot *snapshot)
{
	struct mapping_stream *stream = (struct mapping_stream *)base;
	/* Read first: what is lost from here on is mended next time. */
	uint64_t lost = __atomic_load_n(stream->bpf->mapping_events_lost, __ATOMIC_ACQUIRE);
	struct open_ledgers open = {0};
	int error = stream_consume(base);

	mappings_heal(stream->mappings, lost);
	if (!error)
		error = find_open(stream->bpf, options->keep_exited, &open);
	if (!error)
		mappings_purge(stream->mappings, is_over, &open);
	hash_free(&open.keys);
	return error ? error : mapping_fill(stream->mappings, stream->bpf, options, snapshot);
}

static void stream_free(struct event_stream *base)
{
	struct mapping_stream *stream = (struct mapping_stream *)base;

	ring_buffer__free(stream->ring);
	mappings_free(stream->mappings);
	free(stream);
}

struct event_stream *mapping_stream_new(const struct bpf_side *bpf)
{
	static const struct event_stream_ops ops = {
		.free = stream_free,
		.follow = stream_follow,
		.forget = stream_forget,
		.consume = stream_consume,
		.fill = stream_fill,
	};
	struct mapping_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->bpf = bpf;
	stream->mappings = mappings_new(maps_read);
	stream->ring = ring_buffer__new(bpf->mapping_events_fd, on_record, stream, NULL);
	if (!stream->mappings || !stream->ring) {
		stream_free(&stream->base);
		return NULL;
	}
	stream->base = (struct event_stream){&ops, ring_buffer__epoll_fd(stream->ring)};
	return &stream->base;
}
