// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/collect/event_streams.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"

static struct event_stream *(*const makers[FAMILY_MAX_])(const struct bpf_side *bpf) = {
	[FAMILY_MAPPING] = mapping_stream_new,
	[FAMILY_DESCRIPTORS] = descriptor_stream_new,
};

static int wait_for(const struct event_streams *streams, const struct event_stream *stream)
{
	struct epoll_event event = {.events = EPOLLIN};

	if (stream->fd < 0)
		return 0;
	return epoll_ctl(streams->fd, EPOLL_CTL_ADD, stream->fd, &event) ? -errno : 0;
}

int event_streams_open(struct event_streams *streams, const struct bpf_side *bpf, uint32_t families)
{
	int error = 0;

	*streams = (struct event_streams){.fd = families ? epoll_create1(EPOLL_CLOEXEC) : -1};
	if (families && streams->fd < 0)
		return -errno;
	for (size_t id = 0; id < FAMILY_MAX_ && !error; id++) {
		if (!(families >> id & 1) || !makers[id])
			continue;
		streams->of_family[id] = makers[id](bpf);
		error = streams->of_family[id] ? wait_for(streams, streams->of_family[id])
					       : -ENOMEM;
	}
	return error;
}

void event_streams_close(struct event_streams *streams)
{
	for (size_t id = 0; id < FAMILY_MAX_; id++) {
		struct event_stream *stream = streams->of_family[id];

		if (stream)
			stream->ops->free(stream);
	}
	/* If zeroed, it was never opened. */
	if (streams->fd > 0)
		close(streams->fd);
	*streams = (struct event_streams){.fd = -1};
}

void event_streams_follow(const struct event_streams *streams, int pid)
{
	for (size_t id = 0; id < FAMILY_MAX_; id++) {
		struct event_stream *stream = streams->of_family[id];

		if (stream)
			stream->ops->follow(stream, pid);
	}
}

void event_streams_forget(const struct event_streams *streams, int pid)
{
	for (size_t id = 0; id < FAMILY_MAX_; id++) {
		struct event_stream *stream = streams->of_family[id];

		if (stream)
			stream->ops->forget(stream, pid);
	}
}

int event_streams_consume(const struct event_streams *streams)
{
	int error = 0;

	for (size_t id = 0; id < FAMILY_MAX_ && !error; id++) {
		struct event_stream *stream = streams->of_family[id];

		if (stream)
			error = stream->ops->consume(stream);
	}
	return error;
}

int event_streams_fill(const struct event_streams *streams, const struct collect_options *options,
		       struct snapshot *snapshot)
{
	int error = 0;

	for (size_t id = 0; id < FAMILY_MAX_ && !error; id++) {
		struct event_stream *stream = streams->of_family[id];

		if (stream)
			error = stream->ops->fill(stream, options, snapshot);
	}
	return error;
}

/* -------- events of processes */

struct events {
	struct ring_buffer *ring;
	event_handler handler;
	void *context;
};

static int on_record(void *context, void *data, size_t size)
{
	struct events *events = context;

	if (size >= sizeof(struct lm_event))
		events->handler(data, events->context);
	return 0;
}

struct events *events_new(const struct bpf_side *bpf, event_handler handler, void *context)
{
	struct events *events = calloc(1, sizeof(*events));

	if (!events)
		return NULL;
	events->handler = handler;
	events->context = context;
	events->ring = ring_buffer__new(bpf->events_fd, on_record, events, NULL);
	if (!events->ring) {
		free(events);
		return NULL;
	}
	return events;
}

void events_free(struct events *events)
{
	if (!events)
		return;
	ring_buffer__free(events->ring);
	free(events);
}

int events_fd(const struct events *events)
{
	return ring_buffer__epoll_fd(events->ring);
}

int events_consume(struct events *events)
{
	int count = ring_buffer__consume(events->ring);

	return count < 0 ? count : 0;
}

int event_stack_copy(const struct bpf_side *bpf, lm_process_key process, uint32_t index,
		     struct site *site)
{
	const struct lm_site *raw = index < bpf->max_sites ? &bpf->sites[index] : NULL;

	site->lost = LM_LOST_SITES_FULL;
	if (index == LM_SITE_LOST || !raw || !process || raw->process != process)
		return 0;
	site->addresses = calloc(LM_MAX_FRAMES, sizeof(*site->addresses));
	if (!site->addresses)
		return -ENOMEM;
	site->lost = LM_LOST_NONE;
	site->depth = MIN(raw->depth, LM_MAX_FRAMES);
	site->end = raw->end < LM_WALK_MAX_ ? raw->end : LM_WALK_ROOT;
	memcpy(site->addresses, bpf->stacks[index].frames, site->depth * sizeof(*site->addresses));
	return 0;
}
