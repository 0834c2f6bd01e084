/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a small program with jemalloc's heap profile, made by hand in this process: three
 * call stacks, of which one has samples of two threads, and one has none that are live. Used by a
 * unit test and a fuzzer, so it asserts nothing.
 */
#ifndef LEAKMON_UNIT_JEMALLOC_PROFILE_FIXTURE_H
#define LEAKMON_UNIT_JEMALLOC_PROFILE_FIXTURE_H

#include <math.h>

#include "heap/runtime/own_profile.h"
#include "unit/forged_memory.h"

#define FORGED_BASE 0x220000000000ull
#define FORGED_BYTES (1u << 20)
#define FORGED_DATA 0x10000u
#define FORGED_TABLE 0x800u
#define FORGED_WEIGHTS 0x4000u
#define FORGED_CELLS 0x20000u
#define FORGED_RECORDS 0x30000u
#define FORGED_RECORD 0x400u /* bytes for each stack, with its threads' */
#define FORGED_STACKS 3
#define FORGED_BUCKET_BITS 2
#define FORGED_RATE_BITS 12
#define FORGED_STACK_DEPTH 4 /* the first one is of jemalloc's own */
#define FORGED_CALLER 0x10000000ull

struct forged {
	struct forged_memory memory;
	uint64_t code;
	uint64_t threads[FORGED_STACKS][2]; /* records; 0: none */
};

static inline double forged_weight(double size)
{
	return round(size / -expm1(-size / (1u << FORGED_RATE_BITS)));
}

static inline uint64_t forged_record(const struct forged *forged, uint32_t stack)
{
	return forged->memory.base + FORGED_RECORDS + stack * FORGED_RECORD;
}

/* Adds `objects` live samples of one size to a thread. */
static inline void forged_thread(struct forged *forged, uint32_t stack, uint32_t thread,
				 uint64_t objects, uint64_t size)
{
	uint64_t address = forged_record(forged, stack) + 0x100 + thread * 0x100;

	forged->threads[stack][thread] = address;
	forged_put(address + 32, objects);
	forged_put(address + 40,
		   objects * (uint64_t)round(8 * forged_weight((double)size) / (double)size));
	forged_put(address + 48, objects * size);
	forged_put(address + 56, objects * (uint64_t)forged_weight((double)size));
	forged_put(address + 96, forged_record(forged, stack));
}

static inline void forged_stack(struct forged *forged, uint32_t stack)
{
	uint64_t record = forged_record(forged, stack);
	uint64_t cell = forged->memory.base + FORGED_CELLS + stack * 5 * 16;

	forged_put(cell, record + 104);
	forged_put(cell + 8, record);
	forged_put(record + 16, forged->threads[stack][0]);
	forged_put(record + 104, record + 120);
	forged_put(record + 112, FORGED_STACK_DEPTH);
	forged_put(record + 120, forged->code + 0x40);
	for (uint32_t i = 1; i < FORGED_STACK_DEPTH; i++)
		forged_put(record + 120 + i * 8ull, FORGED_CALLER + stack * 256 + i);
	/* Black and red. */
	if (forged->threads[stack][1])
		forged_put(forged->threads[stack][0] + 120, forged->threads[stack][1] | 1);
}

/* False: no memory. */
static inline bool forged_make(struct forged *forged)
{
	static const double sizes[] = {8,   16,	 32,  48,  64,	80,  96,  112,
				       128, 160, 192, 224, 256, 320, 384, 448};
	uint64_t table = FORGED_BASE + FORGED_TABLE;

	*forged = (struct forged){0};
	if (!forged_memory_make(&forged->memory, FORGED_BASE, FORGED_BYTES, FORGED_DATA,
				FORGED_DATA))
		return false;
	forged->code = forged_memory_code(&forged->memory);
	forged_memory_symbol(&forged->memory, "malloc", FORGED_TABLE, 8);
	forged_put(table, FORGED_STACKS);
	forged_put(table + 8, (uint64_t)FORGED_BUCKET_BITS << 32 | FORGED_BUCKET_BITS);
	forged_put(table + 16, forged->code + 0x10);
	forged_put(table + 24, forged->code + 0x20);
	forged_put(table + 32, FORGED_BASE + FORGED_CELLS);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		forged_put(FORGED_BASE + FORGED_WEIGHTS + i * 8, (uint64_t)forged_weight(sizes[i]));
	forged_thread(forged, 0, 0, 30, 1024);
	forged_thread(forged, 0, 1, 12, 1024);
	forged_thread(forged, 1, 0, 5, 1u << 20);
	forged_thread(forged, 2, 0, 0, 64);
	for (uint32_t i = 0; i < FORGED_STACKS; i++)
		forged_stack(forged, i);
	forged_memory_find_places(&forged->memory);
	return true;
}

#endif
