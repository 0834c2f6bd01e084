// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Array buffers, including Buffers: their bytes lie outside V8's heap, mostly in a block of
 * malloc's, which then belongs to the buffer. They are data, and hold no objects, but may hold
 * blocks of native code.
 *
 * Several buffers may share one store, that of a SharedArrayBuffer, which is charged to the first.
 * Small arrays have their numbers in the heap, and no store.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "heap/runtime/v8/v8.h"

#define STORE_BYTES_MAX (1ull << 46)
/* Most bytes by which a block of malloc's exceeds its store: absolute, or as a share. */
#define SLACK_BYTES 32
#define SLACK_SHARE 4
#define PART_NAME "array buffers, outside the heap"

struct store {
	uint64_t address, bytes;
};

/* Reads the store of an array buffer; returns false for any other object, or if it has no store. */
static bool read_store(struct v8 *v8, uint64_t object, struct store *store)
{
	if (!v8_place(v8, V8_TYPE_BUFFER) || !v8_is_type(v8, v8_map_of(v8, object), V8_TYPE_BUFFER))
		return false;
	store->address = v8_field(v8, object, v8_place(v8, V8_BUFFER_STORE));
	store->bytes = v8_field(v8, object, v8_place(v8, V8_BUFFER_BYTES));
	return store->address && store->bytes && store->bytes < STORE_BYTES_MAX &&
	       !v8_chunk_at(v8, store->address);
}

static bool is_block(const struct heap_sink *sink, const struct store *store)
{
	uint32_t node = heap_sink_node(sink, store->address);

	return node != BLOCK_NONE && !node_has_class(sink->whats[node]) &&
	       sink->starts[node] == store->address && sink->sizes[node] >= store->bytes &&
	       sink->sizes[node] - store->bytes <= MAX(SLACK_BYTES, store->bytes / SLACK_SHARE);
}

int v8_find_external(struct v8 *v8, struct heap_sink *sink)
{
	_cleanup_(hash_free) struct hash seen = {0};
	struct heap_part part = {.name = PART_NAME};
	struct store store;

	for (uint32_t i = 0; i < sink->count; i++) {
		bool fresh = false;

		if (!node_has_class(sink->whats[i]) || sink->whats[i] & NODE_PART ||
		    !v8_chunk_at(v8, sink->starts[i]) ||
		    !read_store(v8, sink->starts[i] | V8_TAG, &store))
			continue;
		if (!hash_put(&seen, store.address, &fresh))
			return -ENOMEM;
		if (!fresh)
			continue;
		part.objects++;
		part.bytes += store.bytes;
		/* The buffer may be garbage, its store freed, and the block reused: its size is
		 * kept, and its words count. */
		if (is_block(sink, &store) && heap_sink_part(sink, i, store.address, 0, true))
			sink->whats[heap_sink_node(sink, store.address)] |= NODE_NATIVE;
	}
	sink->reports.items[v8->report].parts[0] = part;
	return 0;
}

int v8_refer_store(struct v8 *v8, struct heap_sink *sink, uint32_t node)
{
	struct store store;

	return read_store(v8, sink->starts[node] | V8_TAG, &store)
		       ? heap_sink_reference(sink, node, store.address, 0)
		       : 0;
}
