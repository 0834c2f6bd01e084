// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Handles through which native code refers to objects. Global handles are in blocks of 256 nodes of
 * four words (src/handles/global-handles.cc: NodeBlock, Node): the object, then, at the same
 * offsets from V8 10 to 13, the node's index in its block, a byte, and flags, two bits of which
 * have the state: free, strong, weak, or pending a callback. Only a strong one holds its object;
 * all handles of node's wrapper objects are weak.
 *
 * A block is recognised by its 256 indexes. Native objects point to their handles, and thus into
 * blocks that they share: each handle is a root, and pointers to a block are ignored. So are
 * pointers to the isolate and to the embedder's data of a context (its environment): native objects
 * point to them as well, and they lead to everything.
 *
 * V8 moves objects, so that other native memory does not refer to them: apparent pointers there are
 * stale (nodes of tables, zones, objects of C++), or hold nothing, such as the tables by which V8
 * finds the code for an access (src/ic/stub-cache.h), which each full collection empties. The
 * exceptions are the isolate itself, and two kinds of blocks, recognised by size: handles of
 * running functions, and handles that are never freed (EternalHandles). For the former, the isolate
 * has the next free place and its limit (src/handles/handles.h: HandleScopeData): words behind that
 * place are stale. So are all words of a spare block (src/api/api.h: HandleScopeImplementer): the
 * isolate leads to a structure with a vector of the blocks in use (src/utils/detachable-vector.h:
 * address, capacity, size), the last of which has the next free place. Spare blocks follow these in
 * the vector; one more is a member of the structure.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "heap/runtime/v8/v8.h"

#define NODES 256u
#define NODE_BYTES 32u
#define NODE_INDEX 10
#define NODE_FLAGS 11
#define NODE_PARAMETER 16
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

/* 8 KiB less two words (src/handles/handles.h: kHandleBlockSize). */
#define SCOPE_BYTES (1022u * 8u)
#define LEVELS_MAX 65535u
#define SPARES_MAX 64u
/* Limits of HandleScopeImplementer, and of its vector. */
#define IMPLEMENTER_BYTES_MAX 512u
#define ENTRIES_MAX 512u
#define ETERNAL_BYTES (256u * 8u)
/* malloc rounds up. */
#define SLACK_BYTES 16
/* A heap is a part of its isolate. */
#define ISOLATE_BYTES_MIN (16u << 10)
#define ISOLATE_BYTES_MAX (1u << 20)

/* Finds the nodes that contain a heap. 0 or -ENOMEM. */
static int find_isolates(const struct v8 *v8, const struct heap_sink *sink, struct hash *isolates)
{
	for (size_t i = 0; i < v8->chunks.count; i++) {
		uint32_t node = heap_sink_node(sink, v8->chunks.items[i].heap);

		if (node != BLOCK_NONE && sink->sizes[node] >= ISOLATE_BYTES_MIN &&
		    !hash_put(isolates, node, NULL))
			return -ENOMEM;
	}
	return 0;
}

static bool may_hold(const struct heap_sink *sink, const struct hash *isolates, uint32_t node)
{
	uint64_t size = sink->sizes[node];

	return size - SCOPE_BYTES <= SLACK_BYTES || size - ETERNAL_BYTES <= SLACK_BYTES ||
	       hash_get(isolates, node);
}

static uint64_t word_at(const unsigned char *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* Adds a root "handle of Session". */
static int add_handle(struct heap_sink *sink, uint64_t object)
{
	uint32_t node = v8_is_object(object) ? heap_sink_node(sink, object - V8_TAG) : BLOCK_NONE;
	char name[V8_NAME_BYTES + 16];

	if (node == BLOCK_NONE || sink->starts[node] != object - V8_TAG ||
	    !node_has_class(sink->whats[node]))
		return 0;
	snprintf(name, sizeof(name), "handle of %s",
		 sink->classes.items[sink->whats[node] & NODE_CLASS].name);
	return heap_sink_own_root(sink, V8_KEY, name, object - V8_TAG);
}

/* Makes each handle a separate root, and the parameter of a weak handle's callback, too. */
static int add_handles(struct heap_sink *sink, uint32_t block, const unsigned char *bytes)
{
	uint64_t start = sink->starts[block];
	int error = heap_sink_apart_root(sink, V8_KEY, "handles", start, MANAGED_OWN);

	if (!error)
		error = heap_sink_claim_within(sink, start, sink->sizes[block]);
	for (uint32_t i = 0; !error && i < NODES; i++) {
		unsigned state = bytes[i * NODE_BYTES + NODE_FLAGS] & NODE_STATE;
		uint64_t parameter = word_at(bytes, i * NODE_BYTES + NODE_PARAMETER);

		if (state == NODE_STRONG)
			error = add_handle(sink, word_at(bytes, i * NODE_BYTES));
		else if (state && heap_sink_node(sink, parameter) != block)
			error = heap_sink_own_root(sink, V8_KEY, "parameter of a weak handle",
						   parameter);
	}
	return error;
}

/* Returns the block of handles that contains an address, or ends at it; BLOCK_NONE: none. */
static uint32_t scope_block(const struct heap_sink *sink, uint64_t address)
{
	uint32_t node = heap_sink_node(sink, address);

	return node != BLOCK_NONE && sink->whats[node] == NODE_PLAIN && address % 8 == 0 &&
			       sink->sizes[node] - SCOPE_BYTES <= SLACK_BYTES
		       ? node
		       : BLOCK_NONE;
}

/* Returns whether a word has the levels of scopes, and of sealed scopes: two numbers of 32 bits. */
static bool are_levels(uint64_t word)
{
	return (word & UINT32_MAX) <= LEVELS_MAX && word >> 32 <= LEVELS_MAX;
}

/* Claims the free rest of the block in use; in a sealed scope, the limit equals the next place.
 * *last: start of this block. */
static int claim_scope(struct v8 *v8, struct heap_sink *sink, uint32_t isolate, uint64_t *last)
{
	uint64_t size = MIN(sink->sizes[isolate], ISOLATE_BYTES_MAX);

	for (uint64_t at = 0; at + 24 <= size; at += 8) {
		uint64_t next = target_word(v8->memory, sink->starts[isolate] + at), limit, end;
		uint32_t block = scope_block(sink, next);

		if (block == BLOCK_NONE)
			continue;
		limit = target_word(v8->memory, sink->starts[isolate] + at + 8);
		end = sink->starts[block] + SCOPE_BYTES;
		if (next <= limit && limit <= end && limit % 8 == 0 && next < end &&
		    are_levels(target_word(v8->memory, sink->starts[isolate] + at + 16))) {
			*last = sink->starts[block];
			return heap_sink_claim_within(sink, next, end - next);
		}
	}
	return 0;
}

/* Starts of spare blocks, without duplicates. */
struct spares {
	uint64_t starts[SPARES_MAX];
	size_t count;
};

static uint64_t scope_start(const struct heap_sink *sink, uint64_t address)
{
	uint32_t block = scope_block(sink, address);

	return block != BLOCK_NONE && sink->starts[block] == address ? address : 0;
}

static void add_spare(const struct heap_sink *sink, uint64_t address, const uint64_t *used,
		      size_t used_count, struct spares *spares)
{
	if (!scope_start(sink, address))
		return;
	for (size_t i = 0; i < used_count; i++) {
		if (used[i] == address)
			return;
	}
	for (size_t i = 0; i < spares->count; i++) {
		if (spares->starts[i] == address)
			return;
	}
	if (spares->count < SPARES_MAX)
		spares->starts[spares->count++] = address;
}

/* Returns whether three words describe the vector of blocks in use, the last one of which is
 * `last`. */
static bool read_vector(struct v8 *v8, const struct heap_sink *sink, const uint64_t *words,
			uint64_t last, uint64_t *entries)
{
	uint32_t vector = heap_sink_node(sink, words[0]);

	if (!words[2] || words[2] > words[1] || words[1] > ENTRIES_MAX || vector == BLOCK_NONE ||
	    sink->whats[vector] != NODE_PLAIN || sink->starts[vector] != words[0] ||
	    words[1] > sink->sizes[vector] / 8 ||
	    target_read(v8->memory, words[0], entries, words[1] * 8) ||
	    entries[words[2] - 1] != last)
		return false;
	for (size_t i = 0; i < words[2]; i++) {
		if (!scope_start(sink, entries[i]))
			return false;
	}
	return true;
}

/* Finds spare blocks; returns whether the node is HandleScopeImplementer. */
static bool find_spares(struct v8 *v8, const struct heap_sink *sink, uint32_t node, uint64_t last,
			struct spares *spares)
{
	uint64_t words[IMPLEMENTER_BYTES_MAX / 8], entries[ENTRIES_MAX];
	size_t count = sink->sizes[node] / 8;

	if (count < 3 || count > ARRAY_SIZE(words) ||
	    target_read(v8->memory, sink->starts[node], words, count * 8))
		return false;
	for (size_t i = 0; i + 3 <= count; i++) {
		if (!read_vector(v8, sink, words + i, last, entries))
			continue;
		for (size_t j = words[i + 2]; j < words[i + 1]; j++)
			add_spare(sink, entries[j], entries, words[i + 2], spares);
		for (size_t j = 0; j < count; j++)
			add_spare(sink, words[j], entries, words[i + 2], spares);
		return true;
	}
	return false;
}

static int claim_spares(struct v8 *v8, struct heap_sink *sink, uint32_t isolate, uint64_t last)
{
	uint64_t size = MIN(sink->sizes[isolate], ISOLATE_BYTES_MAX);
	struct spares spares = {0};
	int error = 0;

	for (uint64_t at = 0; at + 8 <= size; at += 8) {
		uint64_t word = target_word(v8->memory, sink->starts[isolate] + at);
		uint32_t node = heap_sink_node(sink, word);

		if (node != BLOCK_NONE && sink->whats[node] == NODE_PLAIN &&
		    sink->starts[node] == word && find_spares(v8, sink, node, last, &spares))
			break;
	}
	for (size_t i = 0; !error && i < spares.count; i++)
		error = heap_sink_claim_within(sink, spares.starts[i], SCOPE_BYTES);
	return error;
}

static int claim_scopes(struct v8 *v8, struct heap_sink *sink)
{
	uint64_t last = 0;
	int error = 0;

	for (size_t i = 0; !error && i < v8->chunks.count; i++) {
		uint64_t heap = v8->chunks.items[i].heap, block = 0;
		uint32_t isolate = heap_sink_node(sink, heap);

		/* Chunks of a heap are mostly adjacent. */
		if (!heap || heap == last || isolate == BLOCK_NONE ||
		    sink->whats[isolate] != NODE_PLAIN)
			continue;
		error = claim_scope(v8, sink, isolate, &block);
		if (!error && block)
			error = claim_spares(v8, sink, isolate, block);
		last = heap;
	}
	return error;
}

/* Claims a block; *proved: whether it contains handles. */
static int claim_handles(struct v8 *v8, struct heap_sink *sink, uint32_t node, bool *proved)
{
	unsigned char bytes[NODES * NODE_BYTES];

	*proved = sink->sizes[node] >= sizeof(bytes) && sink->sizes[node] <= BLOCK_BYTES_MAX &&
		  !target_read(v8->memory, sink->starts[node], bytes, sizeof(bytes)) &&
		  is_block(bytes);
	return *proved ? add_handles(sink, node, bytes) : 0;
}

/* Claims all other blocks: their words lead to blocks, but to no objects. `handles`: nodes of
 * handles, ascending, which are left out. */
static int claim_others(struct v8 *v8, struct heap_sink *sink, const uint32_t *handles,
			size_t count)
{
	_cleanup_(hash_free) struct hash isolates = {0};
	size_t at = 0;
	int error = find_isolates(v8, sink, &isolates);

	for (uint32_t i = 0; !error && i < sink->count; i++) {
		bool is_handles = at < count && handles[at] == i;

		at += is_handles;
		if (!is_handles && sink->whats[i] == NODE_PLAIN && !may_hold(sink, &isolates, i))
			error = heap_sink_claim(sink, sink->starts[i], sink->sizes[i], true);
	}
	return error;
}

/* Sets isolates apart: every native object points to its isolate. */
static int add_isolates(const struct v8 *v8, struct heap_sink *sink)
{
	_cleanup_(hash_free) struct hash isolates = {0};
	int error = find_isolates(v8, sink, &isolates);

	for (size_t i = 0; !error && i < isolates.capacity; i++) {
		if (isolates.entries[i].used)
			error = heap_sink_apart_root(
				sink, V8_KEY, "isolate",
				sink->starts[(uint32_t)isolates.entries[i].key], MANAGED_OWN);
	}
	return error;
}

int v8_claim_native(struct v8 *v8, struct heap_sink *sink)
{
	VEC(uint32_t) handles = {0};
	int error = 0;

	for (uint32_t i = 0; !error && i < sink->count; i++) {
		bool proved = false;
		uint32_t *kept;

		if (sink->whats[i] == NODE_PLAIN)
			error = claim_handles(v8, sink, i, &proved);
		kept = proved && !error ? vec_push(&handles) : NULL;
		if (kept)
			*kept = i;
		else if (proved)
			error = -ENOMEM;
	}
	/* Without handles, this version has another format. */
	if (!error && handles.count)
		error = claim_others(v8, sink, handles.items, handles.count);
	vec_free(&handles);
	if (!error)
		error = claim_scopes(v8, sink);
	return error ? error : add_isolates(v8, sink);
}
