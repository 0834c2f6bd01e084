// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/heap_blocks.h"

#include <errno.h>

#include "base/cleanup.h"

#define CHUNK_HEADER 16
/* The last word of a chunk in use lies in the next one's header. */
#define CHUNK_OVERLAP 8

struct lister {
	const struct picture *picture;
	struct heap_graph *graph;
	const struct tracked_block *tracked;
	size_t tracked_count, tracked_at;
	size_t capacity;
	uint64_t end; /* of the last block */
};

static int grow(struct lister *lister)
{
	struct heap_graph *graph = lister->graph;
	size_t grown = MAX(lister->capacity + lister->capacity / 2, (size_t)4096);
	uint64_t *starts = reallocarray(graph->starts, grown, sizeof(uint64_t)), *sizes;
	uint32_t *sites;

	if (starts)
		graph->starts = starts;
	sizes = starts ? reallocarray(graph->sizes, grown, sizeof(uint64_t)) : NULL;
	if (sizes)
		graph->sizes = sizes;
	sites = sizes && lister->tracked ? reallocarray(graph->sites, grown, sizeof(uint32_t))
					 : NULL;
	if (sites)
		graph->sites = sites;
	if (!sizes || (lister->tracked && !sites))
		return -ENOMEM;
	lister->capacity = grown;
	return 0;
}

static int push(struct lister *lister, uint64_t start, uint64_t size, uint32_t site)
{
	struct heap_graph *graph = lister->graph;

	/* Inside another one: an allocator that got its memory from malloc. */
	if (start < lister->end)
		return 0;
	if (graph->blocks == lister->capacity && grow(lister))
		return -ENOMEM;
	if (graph->blocks >= GRAPH_NONE - 16)
		return -ENOMEM;
	graph->starts[graph->blocks] = start;
	graph->sizes[graph->blocks] = size;
	if (graph->sites)
		graph->sites[graph->blocks] = site;
	graph->blocks++;
	lister->end = start + MAX(size, 1u);
	return 0;
}

/* Tracked blocks below `address` that no heap of glibc's has. */
static int push_tracked_below(struct lister *lister, uint64_t address)
{
	int err = 0;

	while (!err && lister->tracked_at < lister->tracked_count &&
	       lister->tracked[lister->tracked_at].address < address) {
		const struct tracked_block *block = &lister->tracked[lister->tracked_at++];
		uint32_t before = lister->graph->blocks;

		err = push(lister, block->address, block->size, block->site);
		lister->graph->tracked_blocks += lister->graph->blocks - before;
	}
	return err;
}

/* A block of the heap's own; what was asked for is known if it was tracked. */
static int push_chunk(struct lister *lister, uint64_t start, uint64_t size)
{
	uint32_t site = 0;
	int err = push_tracked_below(lister, start);

	if (!err && lister->tracked_at < lister->tracked_count &&
	    lister->tracked[lister->tracked_at].address == start) {
		const struct tracked_block *block = &lister->tracked[lister->tracked_at++];

		site = block->site;
		size = MIN(size, block->size);
		lister->graph->tracked_blocks++;
	}
	if (!err)
		err = push(lister, start, size, site);
	lister->graph->census_blocks++;
	return err;
}

static int add_span(struct lister *lister, const struct heap_span *span)
{
	const struct free_chunks *free_chunks = &lister->picture->free_chunks;
	const uint64_t *next_free = free_chunks->list.items;
	const uint64_t *end = next_free + free_chunks->list.count;
	int err = 0;

	for (size_t i = 0; !err && i + 1 < span->chunks.count; i++) {
		const uint32_t *chunk = &span->chunks.items[i];
		uint64_t address = span->start + chunk_distance(chunk[0]);
		uint64_t size = chunk_distance(chunk[1]) - chunk_distance(chunk[0]);

		while (next_free < end && *next_free < address)
			next_free++;
		/* Whether this one is in use stands in the next one. */
		if (!(chunk[1] & 1) || (next_free < end && *next_free == address))
			continue;
		err = push_chunk(lister, address + CHUNK_HEADER, size - CHUNK_OVERLAP);
	}
	return err;
}

static int compare_mapped(const void *left_pointer, const void *right_pointer)
{
	const struct mapped_chunk *left = left_pointer, *right = right_pointer;

	return left->address < right->address ? -1 : left->address > right->address;
}

/* What looks like a header within a stack, a heap or another mapped chunk is none. */
static bool is_plausible(const struct lister *lister, const struct mapped_chunk *chunk,
			 uint64_t mapped_end)
{
	const struct zone *zone = picture_zone(lister->picture, chunk->address);
	const struct page_range *range = pages_range_of(&lister->picture->pages, chunk->address);

	/* The kernel joins mappings: thread-locals may have been given neighbours. */
	return chunk->address >= mapped_end && (!zone || zone->kind == ZONE_TLS) && range &&
	       chunk->size <= range->end - chunk->address;
}

/*
 * Of an aligned block two headers may be left: that of the whole mapping at its front, and behind
 * it the one that counts. Both end at the same address.
 */
static size_t last_of_mapping(const struct mapped_chunk *mapped, size_t count, size_t at)
{
	uint64_t end = mapped[at].address + mapped[at].size;
	size_t last = at;

	for (size_t i = at + 1; i < count && mapped[i].address < end; i++) {
		if (mapped[i].address + mapped[i].size == end)
			last = i;
	}
	return last;
}

static int list_all(struct lister *lister, const struct mapped_chunk *mapped, size_t count)
{
	const struct heap_spans *spans = &lister->picture->spans;
	uint64_t mapped_end = 0;
	size_t at = 0;
	int err = 0;

	for (size_t i = 0; !err && i <= spans->list.count; i++) {
		uint64_t limit = i < spans->list.count ? spans->list.items[i].start : UINT64_MAX;

		for (; !err && at < count && mapped[at].address < limit; at++) {
			if (!is_plausible(lister, &mapped[at], mapped_end))
				continue;
			at = last_of_mapping(mapped, count, at);
			mapped_end = mapped[at].address + mapped[at].size;
			err = push_chunk(lister, mapped[at].address + CHUNK_HEADER,
					 mapped[at].size - CHUNK_HEADER);
		}
		if (!err && i < spans->list.count)
			err = add_span(lister, &spans->list.items[i]);
	}
	return err ? err : push_tracked_below(lister, UINT64_MAX);
}

int heap_blocks_list(const struct picture *picture, const struct tracked_block *tracked,
		     size_t tracked_count, struct heap_graph *graph)
{
	/* Without an arena there is no glibc, and so none of its chunks. */
	size_t count = picture->arenas.list.count ? picture->pages.mapped.count : 0;
	_cleanup_free_ struct mapped_chunk *mapped = calloc(count + 1, sizeof(*mapped));
	struct lister lister = {.picture = picture,
				.graph = graph,
				.tracked = tracked,
				.tracked_count = tracked_count};

	if (!mapped || grow(&lister))
		return -ENOMEM;
	if (count) {
		memcpy(mapped, picture->pages.mapped.items, count * sizeof(*mapped));
		qsort(mapped, count, sizeof(*mapped), compare_mapped);
	}
	return list_all(&lister, mapped, count);
}
