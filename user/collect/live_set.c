// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/live_set.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "base/cleanup.h"

#define BATCH_ENTRIES 4096
/* A bucket with more colliding entries than this does not exist. */
#define BATCH_ENTRIES_MAX (1 << 20)

struct batch_buffer {
	struct lm_block_key *keys;
	struct lm_block *values;
	uint32_t capacity;
};

static int buffer_resize(struct batch_buffer *buffer, uint32_t capacity)
{
	struct lm_block_key *keys = reallocarray(buffer->keys, capacity, sizeof(*keys));
	struct lm_block *values;

	if (!keys)
		return -ENOMEM;
	buffer->keys = keys;
	values = reallocarray(buffer->values, capacity, sizeof(*values));
	if (!values)
		return -ENOMEM;
	buffer->values = values;
	buffer->capacity = capacity;
	return 0;
}

static void buffer_free(struct batch_buffer *buffer)
{
	free(buffer->keys);
	free(buffer->values);
}

static int walk(int map_fd, struct batch_buffer *buffer, live_visit visit, void *context)
{
	uint32_t position, next, *from = NULL;
	int error = 0, last = 0;

	while (!last) {
		uint32_t count = buffer->capacity;
		struct live_batch batch;

		errno = 0;
		error = bpf_map_lookup_batch(map_fd, from, &next, buffer->keys, buffer->values,
					     &count, NULL);
		if (error)
			error = -errno;
		if (error == -ENOSPC) { /* one bucket holds more than the buffer */
			if (buffer->capacity >= BATCH_ENTRIES_MAX)
				return error;
			error = buffer_resize(buffer, buffer->capacity * 2);
			if (error)
				return error;
			continue;
		}
		if (error && error != -ENOENT)
			return error;
		last = error == -ENOENT;
		batch = (struct live_batch){buffer->keys, buffer->values, count};
		error = visit(&batch, context);
		if (error)
			return error;
		position = next;
		from = &position;
	}
	return 0;
}

int live_set_walk(int map_fd, live_visit visit, void *context)
{
	struct batch_buffer buffer = {0};
	int error = buffer_resize(&buffer, BATCH_ENTRIES);

	if (!error)
		error = walk(map_fd, &buffer, visit, context);
	buffer_free(&buffer);
	return error;
}
