/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of musl's malloc (mallocng) made by hand in this process. Used by unit tests and a
 * fuzzer. */
#ifndef LEAKMON_UNIT_MUSL_FIXTURE_H
#define LEAKMON_UNIT_MUSL_FIXTURE_H

#include "unit/heap_fixture.h"

#define PAGE 4096ull
#define SECRET 0x1234567890abcdefull
#define DATA_BYTES (64ull << 10)
#define HEAP_BYTES (64 * MIB)
#define RECORDS_EACH 101
/* Size classes in units of 16 bytes. */
#define CLASS_48 2
#define CLASS_240 11
#define CLASS_4080 27
#define MAPPED 63

struct fixture {
	struct made_memory memory;
	uint64_t context; /* meta_area_head */
	uint64_t areas, groups;
	uint64_t area_count, record_count;
};

static inline uint64_t put_area(struct fixture *fixture)
{
	uint64_t area = fixture->areas + fixture->area_count++ * PAGE;

	at(area)[0] = SECRET;
	at(area)[2] = RECORDS_EACH;
	if (fixture->area_count > 1)
		at(area - PAGE)[1] = area;
	else
		at(fixture->context)[0] = area;
	at(fixture->context)[1] = area;
	return area;
}

static inline uint64_t usage_at(struct fixture *fixture, uint32_t class)
{
	return fixture->context + (3 + 48 + class) * 8;
}

/* Writes the record of a group of `count` slots; the masks `avail` and `freed` mark free ones.
 * `pages`: the size of the group's own mapping. */
static inline uint64_t *put_group(struct fixture *fixture, uint64_t start, uint32_t class,
				  uint32_t count, uint32_t avail, uint32_t freed, uint64_t pages)
{
	uint64_t record = fixture->areas + 24 + fixture->record_count++ * 40;

	at(record)[2] = start;
	at(record)[3] = avail | (uint64_t)freed << 32;
	at(record)[4] = (count - 1) | 1 << 5 | class << 6 | pages << 12;
	*at(start) = record;
	if (class != MAPPED)
		*at(usage_at(fixture, class)) += count;
	return at(record);
}

static inline int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint64_t start;

	made_map(&fixture->memory, "musl", DATA_BYTES, 2 * HEAP_BYTES);
	start = (fixture->memory.start + DATA_BYTES + MIB - 1) / MIB * MIB;
	fixture->context = fixture->memory.start + 0x1238;
	fixture->areas = start;
	fixture->groups = start + MIB;
	*at(fixture->context - 56) = SECRET;
	put_area(fixture);
	*state = fixture;
	return made_heap(&fixture->memory, start, start + HEAP_BYTES);
}

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;

	made_free(&fixture->memory);
	free(fixture);
	return 0;
}

#define SLOT_4080(fixture, i) ((fixture)->groups + 16 + (i)*4080ull)

/* Four slots of 4080 bytes in 16 KiB, the second of which has a group of 16 slots of 240 bytes, and
 * the third is free; a block of three pages. */
static inline uint64_t *put_usual(struct fixture *fixture)
{
	uint64_t *inner;

	put_group(fixture, fixture->groups, CLASS_4080, 4, 0, 1 << 2, 4);
	inner = put_group(fixture, SLOT_4080(fixture, 1) + 32, CLASS_240, 16, 3, 1 << 15, 0);
	put_group(fixture, fixture->groups + 8 * PAGE, MAPPED, 1, 0, 0, 3);
	return inner;
}

#endif
