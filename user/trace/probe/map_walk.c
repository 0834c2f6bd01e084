// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/map_walk.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "base/cleanup.h"

#define BATCH_ENTRIES 4096
/* More colliding entries than any bucket has. */
#define BATCH_ENTRIES_MAX (1u << 20)

struct batch_buffer {
	size_t key_size, value_size;
	void *keys, *values;
	uint32_t capacity;
};

static int buffer_resize(struct batch_buffer *buffer, uint32_t capacity)
{
	void *keys = reallocarray(buffer->keys, capacity, buffer->key_size), *values;

	if (!keys)
		return -ENOMEM;
	buffer->keys = keys;
	values = reallocarray(buffer->values, capacity, buffer->value_size);
	if (!values)
		return -ENOMEM;
	buffer->values = values;
	buffer->capacity = capacity;
	return 0;
}

static int walk(int map_fd, struct batch_buffer *buffer, map_visit visit, void *context)
{
	uint32_t position, next, *from = NULL;
	int error, last = 0;

	while (!last) {
		uint32_t count = buffer->capacity;

		errno = 0;
		error = bpf_map_lookup_batch(map_fd, from, &next, buffer->keys, buffer->values,
					     &count, NULL)
				? -errno
				: 0;
		if (error == -ENOSPC && buffer->capacity < BATCH_ENTRIES_MAX) {
			error = buffer_resize(buffer, buffer->capacity * 2);
			if (error)
				return error;
			continue; /* a bucket exceeds the buffer */
		}
		if (error && error != -ENOENT)
			return error;
		last = error == -ENOENT;
		error = visit(buffer->keys, buffer->values, count, context);
		if (error)
			return error;
		position = next;
		from = &position;
	}
	return 0;
}

int map_walk(int map_fd, size_t key_size, size_t value_size, map_visit visit, void *context)
{
	struct batch_buffer buffer = {.key_size = key_size, .value_size = value_size};
	int error = buffer_resize(&buffer, BATCH_ENTRIES);

	if (!error)
		error = walk(map_fd, &buffer, visit, context);
	free(buffer.keys);
	free(buffer.values);
	return error;
}
