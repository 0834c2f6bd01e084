// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Handles that native code has of objects. Those for longer stand in blocks of 256 nodes of four
 * words (src/handles/global-handles.cc: NodeBlock, Node): the object, then, at the same places from
 * V8 10 to 13, the node's index in its block, a byte, and flags, of which two bits say what it is:
 * free, strong, weak, or about to be told. Only a strong one holds its object; weak are all of
 * node's that wrap an object of its own.
 *
 * That a block is one is proved by its 256 indexes.
 */
#include <errno.h>
#include <string.h>

#include "runtime/v8.h"

#define NODES 256u
#define NODE_BYTES 32u
#define NODE_INDEX 10
#define NODE_FLAGS 11
#define NODE_STATE 3u
#define NODE_STRONG 1u
#define BLOCK_BYTES_MAX (NODES * NODE_BYTES + 256)

static bool is_block(const unsigned char *bytes)
{
	for (uint32_t i = 0; i < NODES; i++) {
		if (bytes[i * NODE_BYTES + NODE_INDEX] != i)
			return false;
	}
	return true;
}

static int claim_weak(struct heap_sink *sink, uint64_t address, const unsigned char *bytes)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < NODES; i++) {
		if ((bytes[i * NODE_BYTES + NODE_FLAGS] & NODE_STATE) != NODE_STRONG)
			error = heap_sink_claim_within(sink, address + i * NODE_BYTES, 8);
	}
	return error;
}

int v8_claim_handles(struct v8 *v8, struct heap_sink *sink)
{
	unsigned char bytes[NODES * NODE_BYTES];
	int error = 0;

	for (uint32_t i = 0; !error && i < sink->count; i++) {
		if (node_has_class(sink->whats[i]) || sink->sizes[i] < sizeof(bytes) ||
		    sink->sizes[i] > BLOCK_BYTES_MAX ||
		    target_read(v8->memory, sink->starts[i], bytes, sizeof(bytes)))
			continue;
		if (is_block(bytes))
			error = claim_weak(sink, sink->starts[i], bytes);
	}
	return error;
}
