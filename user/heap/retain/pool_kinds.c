// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/pool_kinds.h"

#include <stddef.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "heap/allocators/data_modules.h"
#include "heap/retain/heap_graph.h"

/* Blocks with their own end in their head: at that index, in words. */
static const struct {
	const char *name;
	uint8_t place;
} ends[] = {
	{"obstack chunk", 0},	/* glibc, malloc/obstack.h: struct _obstack_chunk, limit */
	{"nginx pool", 1},	/* nginx, src/core/ngx_palloc.h: ngx_pool_data_t, end */
	{"APR memory node", 4}, /* APR, include/apr_allocator.h: struct apr_memnode_t, endp */
};

/* Smaller blocks are no pools. */
#define POOL_BYTES_MIN 256
/* malloc rounds a size up by less than this. */
#define MALLOC_ROUNDING 16

bool pool_kinds_is_end(uint64_t place, uint64_t value, uint64_t size)
{
	if (size < POOL_BYTES_MIN || value > size || size - value >= MALLOC_ROUNDING)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		if (ends[i].place == place)
			return true;
	}
	return false;
}

/* Links at that index of a block, in words. */
static const struct {
	const char *library; /* prefix of its file's name */
	uint8_t place;
	uint8_t back; /* index of the target's back link; 0: none */
	uint8_t pool; /* then: index of the block's link to the start of a pool */
	uint8_t size; /* and the block's size */
} links[] = {
	/* talloc.c: struct talloc_chunk, next, prev, parent and child. */
	{"libtalloc.so", 1, 2, 0, 0},
	{"libtalloc.so", 2, 1, 0, 0},
	{"libtalloc.so", 3, 4, 0, 0},
	{"libtalloc.so", 4, 3, 0, 0},
	/* dbus/dbus-mempool.c: struct DBusMemPool, free_elements and blocks. */
	{"libdbus-1.so", 2, 0, 3, 40},
	{"libdbus-1.so", 3, 0, 3, 40},
};
_Static_assert(ARRAY_SIZE(links) <= 32, "a bit for each");

uint32_t pool_kinds_loaded(const struct data_modules *modules)
{
	uint32_t loaded = 0;

	for (size_t i = 0; i < modules->list.count; i++) {
		const char *file = text_path_base(modules->list.items[i].path);

		for (size_t j = 0; j < ARRAY_SIZE(links); j++)
			loaded |= (uint32_t)text_begins(file, links[j].library) << j;
	}
	return loaded;
}

/*
 * Returns the target of the block's word at an index, if that points to a start; GRAPH_NONE: none.
 */
static uint32_t target_at(const struct heap_graph *graph, uint32_t block, uint8_t place)
{
	for (uint32_t i = graph->graph.first[block]; i < graph->graph.first[block + 1]; i++) {
		if ((graph->places[i] & EDGE_PLACE) > place)
			break;
		if (graph->places[i] == place)
			return graph->graph.targets[i];
	}
	return GRAPH_NONE;
}

static bool leads_to_pool(const struct heap_graph *graph, uint32_t block, uint8_t place)
{
	uint32_t target = target_at(graph, block, place);

	return target != GRAPH_NONE && heap_graph_is_pool(graph, target);
}

bool pool_kinds_is_link(const struct heap_graph *graph, uint32_t block, uint32_t edge)
{
	uint32_t place = graph->places[edge], target = graph->graph.targets[edge];

	if (!graph->pool_libraries || place & EDGE_LABELLED ||
	    heap_graph_what(graph, block) != NODE_PLAIN)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		if (!(graph->pool_libraries >> i & 1) || (place & EDGE_PLACE) != links[i].place)
			continue;
		if (links[i].back)
			return !(place & EDGE_INSIDE) &&
			       target_at(graph, target, links[i].back) == block;
		return graph->sizes[block] == links[i].size &&
		       leads_to_pool(graph, block, links[i].pool);
	}
	return false;
}
