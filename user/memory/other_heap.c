// SPDX-License-Identifier: GPL-2.0-or-later
#include "memory/other_heap.h"

#include <errno.h>

#include "base/cleanup.h"
#include "heap/heap_image_zones.h"
#include "memory/residency.h"

/* A heap can change while it is read: this often it is begun anew. */
#define READ_TRIES 3
/* Stretches without a gap are looked at together, so many bytes at once. */
#define STRETCH_BYTES (1ull << 30)

static void add_share(struct heap_share *share, const struct residency *residency, uint64_t start,
		      uint64_t end)
{
	share->bytes += end - start;
	share->resident += residency_bytes(residency, start, end, RESIDENT);
	share->swapped += residency_bytes(residency, start, end, IN_SWAP);
}

static enum heap_use use_of_block(const struct heap *read, const struct heap_run *run, uint32_t i)
{
	if (heap_is_live(read, run, i))
		return HEAP_LIVE;
	return heap_is_cached(read, run, i) ? HEAP_CACHED : HEAP_BINS;
}

/* What lies before, between and behind its blocks is free, too: it serves nobody. */
static void add_blocks(struct other_heap *heap, const struct heap *read, const struct heap_run *run,
		       const struct residency *residency)
{
	uint64_t at = run->start;

	for (uint32_t i = 0; i < run->count; i++) {
		uint64_t start = run->first + i * run->block, end = start + run->block;
		enum heap_use use = use_of_block(read, run, i);

		if (use == HEAP_BINS)
			continue;
		if (start > at)
			add_share(&heap->uses[HEAP_BINS], residency, at, start);
		add_share(&heap->uses[use], residency, start, end);
		heap->uses[use].chunks++;
		at = end;
	}
	if (run->end > at)
		add_share(&heap->uses[HEAP_BINS], residency, at, run->end);
}

static void add_run(struct other_heap *heap, const struct heap *read, const struct heap_run *run,
		    const struct residency *residency)
{
	static const enum heap_use uses[] = {
		[RUN_DIRTY] = HEAP_DIRTY, [RUN_MUZZY] = HEAP_DIRTY, [RUN_RETAINED] = HEAP_DIRTY,
		[RUN_OWN] = HEAP_OWN,	  [RUN_TABLES] = HEAP_OWN,  [RUN_UNKNOWN] = HEAP_UNKNOWN,
	};
	_Static_assert(ARRAY_SIZE(uses) == RUN_USE_MAX_, "a use for every run");

	if (run->use == RUN_BLOCKS)
		add_blocks(heap, read, run, residency);
	else
		add_share(&heap->uses[uses[run->use]], residency, run->start, run->end);
}

static int add_extent(struct other_heap *heap, uint64_t start, uint64_t end)
{
	struct heap_extent *extent = vec_push(&heap->extents);

	if (!extent)
		return -ENOMEM;
	*extent = (struct heap_extent){start, end};
	return 0;
}

static bool is_tables(const struct heap_run *run)
{
	return run->use == RUN_TABLES;
}

/* Runs from the i-th on without a gap between them; *next gets the first one behind. */
static uint64_t stretch_end(const struct heap *read, size_t i, size_t *next)
{
	const struct heap_run *runs = read->runs.items;
	uint64_t end = runs[i].end;

	for (i++; i < read->runs.count && runs[i].start == end &&
		  is_tables(&runs[i]) == is_tables(&runs[*next]) &&
		  runs[i].end - runs[*next].start <= STRETCH_BYTES;
	     i++)
		end = runs[i].end;
	*next = i;
	return end;
}

/* Beyond this, which pages are resident is not asked for one by one: nobody has so much. */
#define RUN_MAX_BYTES (1ull << 40)

static int sum_up(struct other_heap *heap, const struct heap *read, int pagemap)
{
	size_t next;

	for (size_t i = 0; i < read->runs.count; i = next) {
		_cleanup_(residency_free) struct residency residency = {0};
		uint64_t start = read->runs.items[i].start, end;

		next = i;
		end = stretch_end(read, i, &next);
		if (end - start > RUN_MAX_BYTES || is_tables(&read->runs.items[i]))
			continue;
		if (residency_read(&residency, pagemap, start, end) || add_extent(heap, start, end))
			return -ENOMEM;
		for (; i < next; i++)
			add_run(heap, read, &read->runs.items[i], &residency);
	}
	return 0;
}

static int read_once(struct peek *peek, const struct filter *heaps, const struct heap_place *place,
		     struct heap *read)
{
	heap_free(read);
	peek_forget(peek);
	return heap_read(peek, heaps, place, read);
}

static int read_heap(const struct maps *maps, struct peek *peek, struct heap *read)
{
	_cleanup_(filter_free) struct filter heaps = {0};
	struct heap_place place = {0};
	int error = filter_heaps_from_maps(maps, &heaps);

	if (!error)
		error = heap_find(peek, &heaps, maps, &place);
	if (!error)
		error = read_once(peek, &heaps, &place, read);
	for (size_t try = 1; !error && (read->broken || read->broken_caches) && try < READ_TRIES;
	     try++)
		error = read_once(peek, &heaps, &place, read);
	return error;
}

int other_heap_read(const struct maps *maps, int pagemap, struct other_heap *heap)
{
	_cleanup_(heap_free) struct heap read = {0};
	struct peek peek = {.source = maps->source, .pagemap = pagemap};
	int error;

	peek_forget(&peek);
	error = read_heap(maps, &peek, &read);
	peek_free(&peek);
	if (error)
		return error;
	memcpy(heap->name, read.name, sizeof(heap->name));
	heap->figures = read.figures;
	heap->arenas = read.arenas;
	heap->caches = read.caches;
	heap->live_bytes = read.live_bytes;
	heap->live_blocks = read.live_blocks;
	heap->why = read.why;
	return sum_up(heap, &read, pagemap);
}

void other_heap_free(struct other_heap *heap)
{
	vec_free(&heap->extents);
}
