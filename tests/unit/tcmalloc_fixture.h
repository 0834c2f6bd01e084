/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of tcmalloc made by hand in this process. Used by unit tests and a fuzzer. */
#ifndef LEAKMON_UNIT_TCMALLOC_FIXTURE_H
#define LEAKMON_UNIT_TCMALLOC_FIXTURE_H

#include "unit/heap_fixture.h"

#define PAGE 8192ull

/* gperftools 2.10: struct Span, class PageHeap, CentralFreeList, SizeMap and ThreadCache. */
#define LEAF_PLACES (1ull << 18)
#define ROOT_BYTES (MIB)
#define LISTS 256ull
#define SPAN 48
#define CENTRAL 1216ull
#define CENTRAL_USED 1152
#define CACHE 4160
#define CACHE_NEXT 4144
#define CACHE_NEXT_2_16 4128
#define CLASSES 6
#define CLASS_16 2
#define CLASS_48 3
#define LARGE 0
enum { IN_USE, FREE, RETURNED };

#define DATA_BYTES (MIB + 0x60000)
#define HEAP_BYTES (64 * MIB)

static const uint32_t sizes[CLASSES] = {0, 8, 16, 48, 8192, 262144};
static const uint64_t spans[CLASSES] = {0, 1, 1, 1, 2, 32};

struct fixture {
	struct made_memory memory;
	uint64_t map, lists, stats, central, sizes, caches; /* of a module */
	uint64_t leaf, records, cache, heap;
	uint64_t links; /* in a cache */
	uint32_t record_count, cache_count;
};

static inline void set_map(struct fixture *fixture, uint64_t page, uint64_t record)
{
	at(fixture->leaf)[page % LEAF_PLACES] = record;
}

/* The record of pages of the heap, which the map leads to; none of its blocks is free. */
static inline uint64_t *put_span(struct fixture *fixture, uint64_t page, uint64_t pages,
				 uint64_t class, uint64_t location)
{
	uint64_t record = fixture->records + fixture->record_count++ * SPAN;
	uint64_t first = fixture->heap / PAGE + page;
	uint64_t used = class ? pages * PAGE / sizes[class] : 0;

	at(record)[0] = first;
	at(record)[1] = pages;
	at(record)[5] = used | class << 16 | location << 24;
	set_map(fixture, first, record);
	set_map(fixture, first + pages - 1, record);
	at(fixture->stats)[0] += pages * PAGE;
	at(fixture->stats)[1] += location == FREE ? pages * PAGE : 0;
	at(fixture->stats)[2] += location == RETURNED ? pages * PAGE : 0;
	at(fixture->stats)[3] += location == RETURNED ? 0 : pages * PAGE;
	return at(record);
}

static inline void put_head(uint64_t head)
{
	at(head)[2] = at(head)[3] = head;
}

static inline void put_tables(struct fixture *fixture)
{
	uint32_t *class_sizes = (uint32_t *)(uintptr_t)(fixture->sizes - 4);

	for (uint64_t i = 0; i < LISTS; i++)
		put_head(fixture->lists + i * SPAN);
	for (uint64_t i = 0; i < CLASSES; i++) {
		at(fixture->central + i * CENTRAL)[1] = i;
		put_head(fixture->central + i * CENTRAL + 16);
		put_head(fixture->central + i * CENTRAL + 16 + SPAN);
		class_sizes[i] = sizes[i];
		(class_sizes - 128)[i] = i ? 2 : 0; /* how many move at a time */
		at(fixture->sizes + 512)[i] = spans[i];
	}
	*at(fixture->sizes + 512 + 1024) = CLASSES;
	at(fixture->map)[fixture->heap / PAGE / LEAF_PLACES] = fixture->leaf;
}

/* Puts a cache at the head of the list. */
static inline uint64_t put_cache(struct fixture *fixture)
{
	uint64_t cache = fixture->cache + fixture->cache_count++ * CACHE, next;

	for (uint64_t i = 1; i < CLASSES; i++)
		at(cache + i * 32)[3] = sizes[i];
	next = *at(fixture->caches);
	*at(cache + fixture->links) = next;
	if (next)
		*at(next + fixture->links + 8) = cache;
	*at(fixture->caches) = cache;
	return cache;
}

static inline void cache_block(uint64_t cache, uint64_t class, uint64_t block)
{
	uint64_t *list = at(cache + class * 32);

	*at(block) = list[0];
	list[0] = block;
	list[1]++;
}

static inline void free_block(uint64_t *record, uint64_t block)
{
	*at(block) = record[4];
	record[4] = block;
	record[5]--;
}

static inline int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint64_t start;

	made_map(&fixture->memory, "tcmalloc", DATA_BYTES, 2 * HEAP_BYTES);
	start = fixture->memory.start;
	fixture->map = start + 0x1238;
	fixture->lists = fixture->map + ROOT_BYTES + 8 + 96;
	fixture->stats = fixture->lists + LISTS * SPAN;
	fixture->central = start + MIB + 0x20040;
	fixture->sizes = start + MIB + 0x40018;
	fixture->caches = start + MIB + 0x48008;
	fixture->links = CACHE_NEXT;
	/* Do not cross the border of two leaves. */
	fixture->heap = (start + DATA_BYTES + PAGE) / PAGE * PAGE;
	if (fixture->heap / PAGE / LEAF_PLACES != (fixture->heap + HEAP_BYTES) / PAGE / LEAF_PLACES)
		fixture->heap += HEAP_BYTES;
	fixture->leaf = fixture->heap + 40 * MIB + 8;
	fixture->records = fixture->heap + 44 * MIB;
	fixture->cache = fixture->heap + 48 * MIB;
	put_tables(fixture);
	*state = fixture;
	return made_heap(&fixture->memory, fixture->heap, fixture->heap + HEAP_BYTES);
}

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;

	made_free(&fixture->memory);
	free(fixture);
	return 0;
}

#define BLOCK_48(fixture, i) ((fixture)->heap + (i)*48ull)

/* A span of 170 blocks of 48 bytes, three of which are free; one block of three pages; free pages
 * and returned ones. */
static inline uint64_t *put_usual(struct fixture *fixture)
{
	uint64_t *record = put_span(fixture, 0, 1, CLASS_48, IN_USE);

	free_block(record, BLOCK_48(fixture, 1));
	free_block(record, BLOCK_48(fixture, 169));
	free_block(record, BLOCK_48(fixture, 4));
	put_span(fixture, 1, 3, LARGE, IN_USE);
	put_span(fixture, 4, 10, LARGE, FREE);
	put_span(fixture, 14, 100, LARGE, RETURNED);
	put_cache(fixture);
	return record;
}

#endif
