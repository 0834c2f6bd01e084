// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocators/mimalloc_pages.h"

#include <errno.h>

#include "base/cleanup.h"

#define MAX_BLOCKS (1ull << 31)

int mimalloc_word(const struct mimalloc_reading *reading, uint64_t address, uint64_t *word)
{
	return address % 8 ? -EFAULT : heap_words(reading->peek, address, word, 1);
}

static uint64_t rotate_right(uint64_t value, uint64_t bits)
{
	bits %= 64;
	return bits ? value >> bits | value << (64 - bits) : value;
}

uint64_t mimalloc_decode(uint64_t owner, const uint64_t keys[2], uint64_t next)
{
	if (!owner)
		return next;
	next = rotate_right(next - keys[0], keys[0]) ^ keys[1];
	return next == owner ? 0 : next;
}

/* Reads ahead the memory pages in which a page's blocks begin. */
static void look_ahead(struct mimalloc_reading *reading, const struct mimalloc_page *page)
{
	uint64_t pages[PEEK_AHEAD], step = MAX(page->block, MEMORY_PAGE);
	uint64_t end = page->first + page->capacity * page->block;
	size_t count = 0;

	for (uint64_t at = page->first; at < end && count < PEEK_AHEAD; at += step)
		pages[count++] = at & ~(MEMORY_PAGE - 1);
	peek_ahead_present(reading->peek, pages, count);
}

/* Counts the blocks of a list, all of which must be in the page. Returns false if it is wrong. */
static bool walk_list(struct mimalloc_reading *reading, const struct mimalloc_page *page,
		      uint64_t block, const struct heap_run *run, uint32_t *count)
{
	for (*count = 0; block; (*count)++) {
		uint64_t distance = block - page->first;
		uint32_t i = (uint32_t)(distance / page->block);

		if (block < page->first || distance / page->block >= page->capacity ||
		    distance % page->block || *count > page->capacity ||
		    (run && !heap_is_live(reading->heap, run, i)))
			return false;
		if (run)
			heap_set_use(reading->heap, run, i, BLOCK_FREE);
		if (mimalloc_word(reading, block, &block)) {
			reading->swapped |= heap_is_swapped(reading->peek, block);
			return false;
		}
		block = mimalloc_decode(page->owner, page->keys, block);
	}
	return true;
}

bool mimalloc_lists_hold(struct mimalloc_reading *reading, const struct mimalloc_page *page,
			 const struct heap_run *run, uint32_t *given_back)
{
	uint32_t own, local;
	uint64_t sum;

	if (page->lists[0] || page->lists[1] || page->lists[2])
		look_ahead(reading, page);
	if (!walk_list(reading, page, page->lists[0], run, &own) ||
	    !walk_list(reading, page, page->lists[1], run, &local) ||
	    !walk_list(reading, page, page->lists[2], run, given_back))
		return false;
	sum = (uint64_t)own + local + page->used;
	return *given_back <= page->used && (sum == page->capacity || sum == page->capacity + 1ull);
}

int mimalloc_page_add(struct mimalloc_reading *reading, const struct mimalloc_page *page)
{
	struct heap *heap = reading->heap;
	struct heap_run run = {.start = page->start,
			       .end = page->end,
			       .first = page->first,
			       .block = page->block,
			       .count = page->capacity};
	uint32_t given_back = 0;

	reading->blocks += run.count;
	if (reading->blocks > MAX_BLOCKS)
		return -E2BIG;
	if (heap_add(heap, &run))
		return -ENOMEM;
	if (!mimalloc_lists_hold(reading, page, &heap->runs.items[heap->runs.count - 1],
				 &given_back)) {
		heap_drop(&heap->runs.items[heap->runs.count - 1]);
		heap->broken++;
		return 1;
	}
	heap->figures[ALLOCATOR_ACTIVE] += run.end - run.start;
	heap->figures[ALLOCATOR_ALLOCATED] += page->used * page->block;
	heap->figures[ALLOCATOR_TRANSFER] += given_back * page->block;
	return 0;
}

int mimalloc_own_add(struct mimalloc_reading *reading, uint64_t start, uint64_t end)
{
	struct heap_run run = {.start = start, .end = end, .use = RUN_OWN};

	reading->heap->figures[ALLOCATOR_METADATA] += end - start;
	return heap_add(reading->heap, &run);
}

void mimalloc_finish(struct heap *heap)
{
	uint64_t *figures = heap->figures;

	figures[ALLOCATOR_MAPPED] =
		figures[ALLOCATOR_ACTIVE] + figures[ALLOCATOR_DIRTY] + figures[ALLOCATOR_METADATA];
	heap_finish(heap);
}

const char *mimalloc_why_uncertain(const struct mimalloc_reading *reading)
{
	if (reading->heap->why)
		return reading->heap->why;
	if (reading->swapped)
		return "a part of its free blocks is swapped out";
	return reading->heap->broken ? "it changed while it was read" : NULL;
}
