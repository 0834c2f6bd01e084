// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocators/page_copies.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "process/proc/process_memory.h"

#define BLOCK_PAGES 1024u
#define BLOCK_BYTES (BLOCK_PAGES * MEMORY_PAGE)

/* Linux 5.14; missing in older headers. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

struct block {
	_Atomic(unsigned char *) pages;
	uint32_t released;
};

struct page_copies {
	atomic_uint count; /* may include some without room */
	uint32_t room;	   /* blocks */
	struct block blocks[];
};

struct page_copies *page_copies_new(uint64_t pages)
{
	uint64_t room = MIN(pages, UINT32_MAX / 2) / BLOCK_PAGES + 1;
	struct page_copies *copies = calloc(1, sizeof(*copies) + room * sizeof(copies->blocks[0]));

	if (copies)
		copies->room = (uint32_t)room;
	return copies;
}

void page_copies_free(struct page_copies *copies)
{
	for (uint32_t i = 0; copies && i < copies->room; i++) {
		if (copies->blocks[i].pages)
			munmap(copies->blocks[i].pages, BLOCK_BYTES);
	}
	free(copies);
}

/* Another thread may be faster: then its block is used. Returns NULL if out of memory. */
static unsigned char *block_at(struct page_copies *copies, uint32_t number)
{
	unsigned char *block = atomic_load(&copies->blocks[number].pages), *known = NULL;

	if (block)
		return block;
	block = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		return NULL;
	madvise(block, BLOCK_BYTES, MADV_HUGEPAGE);
	if (atomic_compare_exchange_strong(&copies->blocks[number].pages, &known, block))
		return block;
	munmap(block, BLOCK_BYTES);
	return known;
}

void page_copies_warm(struct page_copies *copies, uint64_t pages)
{
	uint64_t first = atomic_load(&copies->count), end = first + pages;

	for (uint64_t i = first / BLOCK_PAGES; i < copies->room && i * BLOCK_PAGES < end; i++) {
		uint64_t from = MAX(first, i * BLOCK_PAGES) - i * BLOCK_PAGES;
		uint64_t until = MIN(end - i * BLOCK_PAGES, BLOCK_PAGES);
		unsigned char *block = block_at(copies, (uint32_t)i);

		if (!block || madvise(block + from * MEMORY_PAGE, (until - from) * MEMORY_PAGE,
				      MADV_POPULATE_WRITE))
			return;
	}
}

unsigned char *page_copies_add(struct page_copies *copies, uint32_t *number)
{
	unsigned int place = atomic_load(&copies->count);
	unsigned char *block;

	if (place / BLOCK_PAGES >= copies->room)
		return NULL;
	place = atomic_fetch_add(&copies->count, 1);
	block = place / BLOCK_PAGES < copies->room ? block_at(copies, place / BLOCK_PAGES) : NULL;
	if (!block)
		return NULL;
	*number = place;
	return block + place % BLOCK_PAGES * MEMORY_PAGE;
}

unsigned char *page_copies_at(const struct page_copies *copies, uint32_t number)
{
	return atomic_load(&copies->blocks[number / BLOCK_PAGES].pages) +
	       number % BLOCK_PAGES * MEMORY_PAGE;
}

void page_copies_trim(struct page_copies *copies)
{
	uint64_t count = atomic_load(&copies->count);

	for (uint64_t i = count / BLOCK_PAGES; i < copies->room; i++) {
		uint64_t used = count > i * BLOCK_PAGES ? count - i * BLOCK_PAGES : 0;

		if (copies->blocks[i].pages)
			madvise(copies->blocks[i].pages + used * MEMORY_PAGE,
				(BLOCK_PAGES - used) * MEMORY_PAGE, MADV_DONTNEED);
	}
}

void page_copies_release(struct page_copies *copies, uint32_t number)
{
	struct block *block = &copies->blocks[number / BLOCK_PAGES];

	if (++block->released == BLOCK_PAGES)
		madvise(block->pages, BLOCK_BYTES, MADV_DONTNEED);
}
