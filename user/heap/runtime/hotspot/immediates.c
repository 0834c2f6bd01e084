// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Malloc's blocks held by compiled code. An inline cache has the address of its CompiledICHolder
 * (code/compiledIC.cpp, up to JDK 22) as an operand of an instruction, at any byte, and no other
 * word leads there. Where operands are split over instructions, nothing is found.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "heap/runtime/hotspot/hotspot.h"
#include "heap/runtime/hotspot/reader.h"
#include "heap/runtime/mapping_shape.h"

#define NAME "compiled code"
#define WINDOW (1u << 20)
/* The largest code cache (-XX:ReservedCodeCacheSize) limits the search. */
#define CODE_BYTES_MAX (2ull << 30)

struct scan {
	struct heap_sink *sink;
	uint64_t low, high; /* bounds of all blocks */
	struct hash seen;   /* blocks that already have such a root */
	uint64_t left;	    /* remaining bytes of the search */
};

static bool is_block(const struct heap_sink *sink, uint32_t node)
{
	return sink->whats[node] == NODE_PLAIN;
}

static void find_bounds(struct scan *scan)
{
	const struct heap_sink *sink = scan->sink;
	uint32_t first = 0, end = (uint32_t)sink->count;

	while (first < end && !is_block(sink, first))
		first++;
	while (end > first && !is_block(sink, end - 1))
		end--;
	if (first == end)
		return;
	scan->low = sink->starts[first];
	scan->high = sink->starts[end - 1] + 1;
}

static int add(struct scan *scan, uint64_t address)
{
	uint32_t node = heap_sink_node(scan->sink, address);
	bool fresh;

	if (node == BLOCK_NONE || scan->sink->starts[node] != address ||
	    !is_block(scan->sink, node))
		return 0;
	if (!hash_put(&scan->seen, address, &fresh))
		return -ENOMEM;
	return fresh ? heap_sink_passing_root(scan->sink, HOTSPOT_KEY, NAME, address) : 0;
}

/* Adds operands that begin in the first `size` bytes; they may reach up to 7 bytes further. */
static int scan_bytes(struct scan *scan, const unsigned char *bytes, size_t size, size_t there)
{
	int error = 0;

	for (size_t i = 0; !error && i < size && i + 8 <= there; i++) {
		uint64_t operand;

		memcpy(&operand, bytes + i, sizeof(operand));
		if (operand >= scan->low && operand < scan->high)
			error = add(scan, operand);
	}
	return error;
}

static int scan_mapping(struct scan *scan, struct target_memory *memory,
			const struct mapping *mapping, unsigned char *window)
{
	uint64_t end = mapping->start + MIN(mapping->end - mapping->start, scan->left);
	int error = 0;

	scan->left -= end - mapping->start;
	for (uint64_t at = mapping->start; !error && at < end; at += WINDOW) {
		size_t size = MIN(end - at, (uint64_t)WINDOW);
		size_t more = MIN(end - at - size, (uint64_t)MEMORY_PAGE);

		if (target_read_pages(memory, at, window, size + more))
			error = scan_bytes(scan, window, size, size + more);
	}
	return error;
}

int hotspot_immediates(const struct hotspot *hotspot, struct heap_sink *sink)
{
	const struct maps *maps = hotspot->memory->maps;
	_cleanup_free_ unsigned char *window = malloc(WINDOW + MEMORY_PAGE);
	struct scan scan = {.sink = sink, .left = CODE_BYTES_MAX};
	int error = window ? 0 : -ENOMEM;

	find_bounds(&scan);
	for (size_t i = 0; !error && scan.high && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (mapping->executable && mapping->writable && mapping_is_anonymous(mapping))
			error = scan_mapping(&scan, hotspot->memory, mapping, window);
	}
	hash_free(&scan.seen);
	return error;
}
