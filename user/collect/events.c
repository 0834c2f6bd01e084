// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/events.h"

#include <bpf/libbpf.h>
#include <stdlib.h>

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
