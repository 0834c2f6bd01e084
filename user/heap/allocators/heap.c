// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocators/heap.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/search.h"

#define WORD_BITS 64u
#define PLACE_BYTES 16ull

/* Two planes of bits: 1 0 is live, 0 1 cached, 1 1 fast, 0 0 free. */

static uint32_t words_of(uint32_t count)
{
	return (count + WORD_BITS - 1) / WORD_BITS;
}

static uint64_t *first_word(const struct heap *heap, const struct heap_run *run, uint32_t i)
{
	return &heap->bits.items[run->bits + i / WORD_BITS];
}

static uint64_t *second_word(const struct heap *heap, const struct heap_run *run, uint32_t i)
{
	return first_word(heap, run, i) + words_of(run->count);
}

static uint64_t bit(uint32_t i)
{
	return 1ull << i % WORD_BITS;
}

static int reserve_bits(struct heap *heap, uint32_t count, uint32_t *first)
{
	size_t wanted = heap->bits.count + 2 * (size_t)words_of(count);

	if (wanted > UINT32_MAX)
		return -ENOMEM;
	if (wanted > heap->bits.capacity) {
		size_t grown = MAX(wanted, heap->bits.capacity * 2);
		uint64_t *moved = reallocarray(heap->bits.items, grown, sizeof(*moved));

		if (!moved)
			return -ENOMEM;
		heap->bits.items = moved;
		heap->bits.capacity = grown;
	}
	*first = (uint32_t)heap->bits.count;
	heap->bits.count = wanted;
	return 0;
}

/* Makes all blocks of a run live. Returns 0 or -ENOMEM. */
static int add_bits(struct heap *heap, struct heap_run *run)
{
	uint32_t words = words_of(run->count);

	if (!words)
		return 0;
	if (reserve_bits(heap, run->count, &run->bits))
		return -ENOMEM;
	memset(first_word(heap, run, 0), 0xff, words * sizeof(uint64_t));
	memset(second_word(heap, run, 0), 0, words * sizeof(uint64_t));
	if (run->count % WORD_BITS)
		*first_word(heap, run, run->count) = bit(run->count) - 1;
	return 0;
}

int heap_add(struct heap *heap, const struct heap_run *run)
{
	struct heap_run *added = vec_push(&heap->runs);

	if (!added)
		return -ENOMEM;
	*added = *run;
	return add_bits(heap, added);
}

int heap_add_mapped(struct heap *heap, const struct mapped_block *block)
{
	return heap_add(heap, &(struct heap_run){.start = block->page,
						 .end = block->end,
						 .first = block->address,
						 .block = block->end - block->address,
						 .count = 1,
						 .use = RUN_MAPPED});
}

int heap_set_places(struct heap *heap, struct heap_run *run, uint32_t *places, uint32_t count)
{
	run->packed = true;
	run->places = places;
	run->count = count;
	return add_bits(heap, run);
}

static void drop_places(struct heap_run *run)
{
	if (run->packed)
		free(run->places);
	run->packed = false;
	run->places = NULL;
	run->count = 0;
}

static int compare_runs(const void *left_pointer, const void *right_pointer)
{
	const struct heap_run *left = left_pointer, *right = right_pointer;

	return left->start < right->start ? -1 : left->start > right->start;
}

void heap_sort(struct heap *heap)
{
	struct heap_run *runs = heap->runs.items;
	size_t kept = 0;

	if (heap->runs.count)
		qsort(runs, heap->runs.count, sizeof(*runs), compare_runs);
	for (size_t i = 0; i < heap->runs.count; i++) {
		bool overlaps = kept && runs[i].start < runs[kept - 1].end;

		heap->broken += overlaps;
		if (!overlaps && runs[i].start < runs[i].end)
			runs[kept++] = runs[i];
		else
			drop_places(&runs[i]);
	}
	heap->runs.count = kept;
}

struct heap_run *heap_at(const struct heap *heap, uint64_t address)
{
	return RANGE_AT(heap->runs.items, heap->runs.count, address);
}

bool heap_overlaps(const struct heap *heap, uint64_t start, uint64_t end)
{
	size_t at = SORTED_BEFORE(run, heap->runs.items, heap->runs.count, run->end <= start);

	return at < heap->runs.count && heap->runs.items[at].start < end;
}

bool heaps_have(const struct heaps *heaps, uint64_t address)
{
	for (size_t i = 0; i < heaps->list.count; i++) {
		if (heap_at(&heaps->list.items[i], address))
			return true;
	}
	return false;
}

void heap_drop(struct heap_run *run)
{
	run->end = run->start;
}

void heap_set_use(struct heap *heap, const struct heap_run *run, uint32_t i, enum block_use use)
{
	uint64_t *first = first_word(heap, run, i), *second = second_word(heap, run, i);

	*first = use == BLOCK_LIVE || use == BLOCK_FAST ? *first | bit(i) : *first & ~bit(i);
	*second = use == BLOCK_CACHED || use == BLOCK_FAST ? *second | bit(i) : *second & ~bit(i);
}

static enum block_use use_of(const struct heap *heap, const struct heap_run *run, uint32_t i)
{
	static const enum block_use uses[2][2] = {{BLOCK_FREE, BLOCK_CACHED},
						  {BLOCK_LIVE, BLOCK_FAST}};
	uint64_t first = *first_word(heap, run, i), second = *second_word(heap, run, i);

	return uses[first >> i % WORD_BITS & 1][second >> i % WORD_BITS & 1];
}

bool heap_is_live(const struct heap *heap, const struct heap_run *run, uint32_t i)
{
	return use_of(heap, run, i) == BLOCK_LIVE;
}

static uint64_t place_of(const struct heap_run *run, uint32_t i)
{
	return run->start + (run->places[i] >> 1) * PLACE_BYTES;
}

struct heap_block heap_block(const struct heap *heap, const struct heap_run *run, uint32_t i)
{
	struct heap_block block = {.use = use_of(heap, run, i)};

	if (run->packed) {
		block.start = place_of(run, i);
		block.end = place_of(run, i + 1);
		block.address = block.start + heap->header;
		block.size = block.end + heap->overlap - block.address;
	} else {
		block.start = block.address = run->first + i * run->block;
		block.end = block.start + run->block;
		block.size = run->block;
	}
	return block;
}

struct heap_run *heap_block_from(const struct heap *heap, uint64_t start, uint32_t *i)
{
	struct heap_run *run = heap_at(heap, start);

	if (!run || !run->packed)
		return NULL;
	*i = (uint32_t)SORTED_BEFORE(place, run->places, run->count,
				     run->start + (*place >> 1) * PLACE_BYTES < start);
	return *i < run->count && place_of(run, *i) == start ? run : NULL;
}

/* Returns the run of the live block that contains address, and its index; NULL: none. */
static const struct heap_run *block_at(const struct heap *heap, uint64_t address, uint32_t *i)
{
	const struct heap_run *run = heap_at(heap, address);

	if (!run || run->packed || !run->count || address < run->first ||
	    (address - run->first) / run->block >= run->count)
		return NULL;
	*i = (uint32_t)((address - run->first) / run->block);
	return heap_is_live(heap, run, *i) ? run : NULL;
}

/*
 * Changes the use of the block of that size that begins at address. Returns false if it is not
 * live.
 */
static bool set_from(struct heap *heap, uint64_t address, uint64_t block, enum block_use use)
{
	uint32_t i;
	const struct heap_run *run = block_at(heap, address, &i);

	if (!run || run->block != block || run->first + i * block != address)
		return false;
	heap_set_use(heap, run, i, use);
	return true;
}

bool heap_cache(struct heap *heap, uint64_t address, uint64_t block)
{
	bool was_live = set_from(heap, address, block, BLOCK_CACHED);

	heap->figures[ALLOCATOR_CACHED] += was_live ? block : 0;
	return was_live;
}

bool heap_transfer(struct heap *heap, uint64_t address, uint64_t block)
{
	bool was_live = set_from(heap, address, block, BLOCK_FREE);

	heap->figures[ALLOCATOR_TRANSFER] += was_live ? block : 0;
	return was_live;
}

bool heap_own(struct heap *heap, uint64_t address)
{
	uint32_t i;
	const struct heap_run *run = block_at(heap, address, &i);

	if (!run)
		return false;
	heap_set_use(heap, run, i, BLOCK_FREE);
	heap->figures[ALLOCATOR_OWN] += run->block;
	return true;
}

void heap_finish(struct heap *heap)
{
	for (size_t i = 0; i < heap->runs.count; i++) {
		const struct heap_run *run = &heap->runs.items[i];
		uint32_t words = words_of(run->count);
		uint64_t live = 0;

		for (uint32_t j = 0; j < words; j++) {
			const uint64_t *plane = &heap->bits.items[run->bits + j];

			live += (uint64_t)__builtin_popcountll(plane[0] & ~plane[words]);
		}
		heap->figures[ALLOCATOR_LIVE_BLOCKS] += live;
		heap->figures[ALLOCATOR_LIVE] += live * run->block;
	}
}

void heap_drop_blocks(struct heap *heap)
{
	for (size_t i = 0; i < heap->runs.count; i++)
		drop_places(&heap->runs.items[i]);
	vec_free(&heap->bits);
}

void heap_free(struct heap *heap)
{
	heap_drop_blocks(heap);
	vec_free(&heap->runs);
	vec_free(&heap->arenas);
	vec_free(&heap->trims);
	*heap = (struct heap){0};
}

void heaps_free(struct heaps *heaps)
{
	for (size_t i = 0; i < heaps->list.count; i++)
		heap_free(&heaps->list.items[i]);
	vec_free(&heaps->list);
}
