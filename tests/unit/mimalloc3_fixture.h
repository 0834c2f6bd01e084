/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of mimalloc 3 made by hand in this process. Used by unit tests and a fuzzer. */
#ifndef LEAKMON_UNIT_MIMALLOC3_FIXTURE_H
#define LEAKMON_UNIT_MIMALLOC3_FIXTURE_H

#include "unit/heap_fixture.h"

#define SLICE (64ull << 10)
#define PART_SPAN (512 * MIB)
#define ROOT_BYTES (2 * MIB)
#define DATA_BYTES (64ull << 10)
#define HEAP_BYTES (64 * MIB)

/*
 * Layout of struct mi_page_s: words, halves of 16 bits, the encoding of its first block's address,
 * and the offset of the words about its arena.
 */
struct built {
	uint32_t free, local_free, thread_free, block, start;
	uint32_t used, capacity, reserved;
	enum { BY_ADDRESS, BY_WORDS, BY_BYTES } kind;
	uint32_t memid, root_header;
};

static const struct built built_3_0 = {1, 3, 4, 5, 6, 8, 9, 10, BY_ADDRESS, 12, 0};
static const struct built built_3_4 = {1, 3, 4, 5, 6, 8, 9, 10, BY_WORDS, 11, 0};
static const struct built built_3_6 = {2, 3, 8, 4, 6, 20, 28, 29, BY_BYTES, 13, 80};

struct fixture {
	struct made_memory memory;
	const struct built *built;
	uint64_t variable, map, part, arena, pages; /* pages: with an index of 256 in the arena */
};

static inline uint16_t *half_at(uint64_t record, uint32_t i)
{
	return (uint16_t *)(uintptr_t)record + i;
}

static inline uint64_t part_element(struct fixture *fixture, uint64_t address)
{
	return fixture->part + address % PART_SPAN / SLICE * 8;
}

/* Makes the record of a page of `slices` slices from the i-th on, followed by its blocks. */
static inline uint64_t put_page(struct fixture *fixture, uint64_t i, uint64_t slices,
				uint64_t block, uint32_t capacity)
{
	const struct built *built = fixture->built;
	uint64_t record = fixture->pages + i * SLICE, first = record + 256;

	at(record)[built->block] = block;
	at(record)[built->start] = built->kind == BY_ADDRESS ? first
				   : built->kind == BY_WORDS ? 256 / 8
							     : 256;
	*half_at(record, built->used) = (uint16_t)capacity;
	*half_at(record, built->capacity) = (uint16_t)capacity;
	*half_at(record, built->reserved) = (uint16_t)((slices * SLICE - 256) / block);
	at(record)[built->thread_free] = 1;
	at(record)[built->memid] = fixture->arena;
	at(record)[built->memid + 1] = (256 + i) | slices << 32;
	for (uint64_t j = 0; j < slices; j++)
		*at(part_element(fixture, record + j * SLICE)) = record;
	return record;
}

#define BLOCK(record, size, i) ((record) + 256 + (uint64_t)(i) * (size))

/*
 * Puts a block on one of the page's lists: a word of the record. Blocks freed by other threads
 * count as used.
 */
static inline void free_block(struct fixture *fixture, uint64_t record, uint32_t list,
			      uint64_t block)
{
	*at(block) = at(record)[list] & ~1ull;
	at(record)[list] = block | (at(record)[list] & 1);
	if (list != fixture->built->thread_free)
		(*half_at(record, fixture->built->used))--;
}

static inline int setup_built(void **state, const struct built *built)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint64_t start;

	made_map(&fixture->memory, "mimalloc 3", DATA_BYTES, 2 * HEAP_BYTES);
	start = (fixture->memory.start + DATA_BYTES + MIB - 1) / MIB * MIB;
	fixture->built = built;
	fixture->variable = fixture->memory.start + 0x1238;
	fixture->map = start;
	fixture->part = start + 4 * MIB;
	fixture->arena = start + 8 * MIB;
	fixture->pages = fixture->arena + 256 * SLICE;
	*at(fixture->variable) = fixture->map;
	*at(fixture->map + built->root_header + fixture->pages / PART_SPAN * 8) = fixture->part;
	/* 40 MiB, 3 slices of which are its own. */
	at(fixture->arena)[4] = 640;
	at(fixture->arena)[5] = 3;
	*state = fixture;
	return made_heap(&fixture->memory, start, start + HEAP_BYTES);
}

static inline int setup(void **state)
{
	return setup_built(state, &built_3_6);
}

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;

	made_free(&fixture->memory);
	free(fixture);
	return 0;
}

/* 300 blocks of 48 bytes, three of which are free, one of them freed by another thread; one of
 * three slices. */
static inline uint64_t put_usual(struct fixture *fixture)
{
	uint64_t record = put_page(fixture, 0, 1, 48, 300);

	free_block(fixture, record, fixture->built->free, BLOCK(record, 48, 1));
	free_block(fixture, record, fixture->built->free, BLOCK(record, 48, 5));
	free_block(fixture, record, fixture->built->local_free, BLOCK(record, 48, 299));
	free_block(fixture, record, fixture->built->thread_free, BLOCK(record, 48, 7));
	put_page(fixture, 4, 3, 3 * SLICE - 256, 1);
	return record;
}

#endif
