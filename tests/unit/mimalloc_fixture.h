/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of mimalloc made by hand in this process. Used by unit tests and a fuzzer. */
#ifndef LEAKMON_UNIT_MIMALLOC_FIXTURE_H
#define LEAKMON_UNIT_MIMALLOC_FIXTURE_H

#include "unit/heap_fixture.h"

#define SLICE 65536ull
#define SEGMENT (32 * MIB)
#define COOKIE 0x1234567890abcdefull
#define THREAD 0x7f0000001000ull

/* mimalloc 2.0.9: struct mi_segment_s, mi_page_s, mi_heap_s and mi_tld_s. */
#define HEAP_QUEUE_SIZE 1056
#define HEAP_DELAYED 2840
#define HEAP_THREAD 2848
#define HEAP_COOKIE 2864
#define HEAP_KEYS 2872
#define HEAP_BYTES 3064
#define THREAD_HEAP 16
#define THREAD_SEGMENTS 896
#define THREAD_LINKS 928
#define THREAD_OS 944
#define THREAD_STATS 960
#define SLICES_AT 264
#define PAGE_OFFSET 384

#define DATA_BYTES (64ull << 10)
#define HEAPS_BYTES (4 * SEGMENT)

struct fixture {
	struct made_memory memory;
	uint64_t heap; /* of a module */
	uint64_t segment;
	uint32_t page_words, thread_free, owner;
};

static inline void put_heap(uint64_t heap, uint64_t thread_data, uint64_t thread)
{
	static const uint64_t sizes[] = {8, 8, 16, 24, 32, 40, 48, 56, 64, 80};

	at(heap)[0] = thread_data;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		*at(heap + HEAP_QUEUE_SIZE + i * 24) = sizes[i];
	*at(heap + HEAP_THREAD) = thread;
	*at(heap + HEAP_COOKIE) = COOKIE;
	*at(thread_data + THREAD_HEAP) = heap;
	at(thread_data + THREAD_LINKS)[0] = thread_data + THREAD_STATS;
	at(thread_data + THREAD_LINKS)[1] = thread_data + THREAD_OS;
}

static inline uint64_t *slice_at(const struct fixture *fixture, uint64_t i)
{
	return at(fixture->segment + SLICES_AT + i * fixture->page_words * 8);
}

static inline void put_segment(uint64_t segment, uint64_t thread)
{
	at(segment)[14] = UINT64_MAX >> 4; /* the first 60 slices have memory */
	at(segment)[27] = segment ^ COOKIE;
	at(segment)[28] = at(segment)[31] = 512;
	at(segment)[29] = 1;
	at(segment)[32] = thread;
}

/*
 * Makes a page of `slices` slices, cut into blocks, of which `capacity` are allocated, and none is
 * free.
 */
static inline uint64_t *put_page(struct fixture *fixture, uint64_t i, uint64_t slices,
				 uint64_t block, uint64_t capacity)
{
	uint64_t *page = slice_at(fixture, i);
	uint64_t bytes = slices * SLICE - (block <= 1024 ? PAGE_OFFSET : 0);

	page[0] = slices;
	page[1] = capacity << 16 | bytes / block << 32;
	page[3] = capacity | block << 32;
	page[fixture->owner] = fixture->heap;
	at(fixture->segment)[26]++;
	return page;
}

static inline void put_free(struct fixture *fixture, uint64_t i, uint64_t slices)
{
	slice_at(fixture, i)[0] = slices;
}

static inline uint64_t encode(uint64_t owner, uint64_t next, const uint64_t keys[2])
{
	uint64_t bits = keys[0] % 64, word = (next ? next : owner) ^ keys[1];

	return (bits ? word << bits | word >> (64 - bits) : word) + keys[0];
}

/* Puts a block at the head of a page's list: 2, 4, or that of blocks freed by other threads. */
static inline void free_block(struct fixture *fixture, uint64_t *page, uint32_t list,
			      uint64_t block)
{
	bool encoded = fixture->page_words == 12;

	*at(block) = encoded ? encode((uintptr_t)page, page[list], page + 5) : page[list];
	page[list] = block;
	if (list != fixture->thread_free)
		page[3]--;
}

static inline void set_layout(struct fixture *fixture, bool encoded)
{
	fixture->page_words = encoded ? 12 : 10;
	fixture->thread_free = encoded ? 7 : 5;
	fixture->owner = encoded ? 8 : 6;
}

static inline int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint64_t start;

	made_map(&fixture->memory, "mimalloc", DATA_BYTES, HEAPS_BYTES);
	start = fixture->memory.start;
	fixture->heap = start + 0x1040;
	fixture->segment = (start + DATA_BYTES + SEGMENT - 1) / SEGMENT * SEGMENT;
	set_layout(fixture, false);
	put_heap(fixture->heap, start + 0x3000, THREAD);
	*at(start + 0x3000 + THREAD_SEGMENTS) = 1;
	put_segment(fixture->segment, THREAD);
	*state = fixture;
	return made_heap(&fixture->memory, fixture->segment, fixture->segment + 2 * SEGMENT);
}

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;

	made_free(&fixture->memory);
	free(fixture);
	return 0;
}

#define BLOCK_48(fixture, i) ((fixture)->segment + SLICE + PAGE_OFFSET + (i)*48ull)

/* A page of 100 blocks of 48 bytes, of which 3 are free; one block of two slices; free slices with
 * memory and without. */
static inline uint64_t *put_usual(struct fixture *fixture)
{
	uint64_t *page = put_page(fixture, 1, 1, 48, 100);

	page[5] = 0x0123456789abcdefull;
	page[6] = 0xfedcba9876543210ull;
	if (fixture->page_words == 10)
		page[5] = 0, page[6] = fixture->heap;
	free_block(fixture, page, 2, BLOCK_48(fixture, 1));
	free_block(fixture, page, 2, BLOCK_48(fixture, 99));
	free_block(fixture, page, 4, BLOCK_48(fixture, 4));
	put_page(fixture, 2, 2, 2 * SLICE, 1);
	put_free(fixture, 4, 508);
	return page;
}

#endif
