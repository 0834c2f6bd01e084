/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a program with the heap profiles of gperftools and of Google's TCMalloc, made by
 * hand in this process. Used by a unit test and a fuzzer, so it asserts nothing.
 */
#ifndef LEAKMON_UNIT_SAMPLER_FIXTURE_H
#define LEAKMON_UNIT_SAMPLER_FIXTURE_H

#include "heap/runtime/own_profile.h"
#include "unit/forged_memory.h"

extern const struct own_profile_source own_profile_gperftools, own_profile_tcmalloc;

#define FORGED_BASE 0x230000000000ull
#define FORGED_BYTES (2u << 20)
#define FORGED_DATA 0x10000u
#define FORGED_TABLE (FORGED_BASE + 0x20000)  /* of gperftools */
#define FORGED_STACKS (FORGED_BASE + 0x21000) /* its call stacks, 256 bytes each */
#define FORGED_LISTS (FORGED_BASE + 0x40000)
#define FORGED_LIST_COUNT 179999u
#define FORGED_RECORDS (FORGED_BASE + 0x30000) /* of TCMalloc, 1 KiB each */
#define FORGED_RECORDER (FORGED_BASE + 0x900)
#define FORGED_SAMPLES 3
#define FORGED_WEIGHT (3u << 20)

struct forged {
	struct forged_memory memory;
	uint64_t code;
	uint32_t counted; /* words before a hash of gperftools */
};

/* heap-profile-table.cc: GetBucket() */
static inline uint64_t forged_hash(const uint64_t *stack, uint32_t depth)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < depth; i++) {
		hash += stack[i];
		hash += hash << 10;
		hash ^= hash >> 6;
	}
	hash += hash << 3;
	return hash ^ hash >> 11;
}

static inline void forged_counts(const struct forged *forged, uint64_t address, uint32_t allocated,
				 uint32_t freed, uint64_t size)
{
	uint32_t counts[] = {allocated, freed};

	if (forged->counted == 3) {
		memcpy(forged_memory_place(address), counts, sizeof(counts));
	} else {
		forged_put(address, allocated);
		forged_put(address + 8, freed);
	}
	forged_put(address + forged->counted * 8ull - 16, allocated * size);
	forged_put(address + forged->counted * 8ull - 8, freed * size);
}

static inline void forged_stack(const struct forged *forged, uint32_t n, uint32_t allocated,
				uint32_t freed)
{
	const uint64_t stack[] = {forged->code + 0x100 + n, forged->code + 0x200};
	uint64_t address = FORGED_STACKS + n * 256ull, words = address + forged->counted * 8ull;
	uint64_t hash = forged_hash(stack, 2);
	uint64_t list = FORGED_LISTS + (uint32_t)hash % FORGED_LIST_COUNT * 8ull;

	forged_counts(forged, address, allocated, freed, 1000);
	forged_put(words, hash);
	forged_put(words + 8, 2);
	forged_put(words + 16, address + 128);
	forged_put(words + 24, forged_word(list));
	memcpy(forged_memory_place(address + 128), stack, sizeof(stack));
	forged_put(list, address);
}

/* The second record is that of a block that was freed. */
static inline void forged_sample(const struct forged *forged, uint32_t n)
{
	uint64_t record = FORGED_RECORDS + n * 1024ull;

	forged_put(record + 8, n + 1 < FORGED_SAMPLES ? record + 1024 : 0);
	forged_put(record + 16, n == 1 ? FORGED_RECORDER + 8 : 0);
	forged_put(record + 32, (1u << 20) - 1);
	forged_put(record + 40, 16);
	forged_put(record + 56, 1u << 20);
	forged_put(record + 72, FORGED_WEIGHT);
	forged_put(record + 96, FORGED_BASE + n * 8192ull);
	forged_put(record + 104, 2);
	forged_put(record + 112, forged->code + 0x300);
	forged_put(record + 120, forged->code + 0x400);
}

/*
 * Makes a profile with gperftools' counts as of 2.10 (3 words) or 2.16 (4). Returns false when out
 * of memory.
 */
static inline bool forged_make_counted(struct forged *forged, uint32_t counted)
{
	uint64_t head = FORGED_TABLE + 16 + (counted + 5) * 8ull;

	*forged = (struct forged){.counted = counted};
	if (!forged_memory_make(&forged->memory, FORGED_BASE, FORGED_BYTES, FORGED_DATA,
				FORGED_DATA))
		return false;
	forged->code = forged_memory_code(&forged->memory);
	/* gperftools clears its lists: all their pages are present. */
	memset(forged_memory_place(FORGED_LISTS), 0, FORGED_LIST_COUNT * sizeof(uint64_t));
	forged_memory_symbol(&forged->memory, "malloc", 0x800, 8);
	forged_put(FORGED_BASE + 0x800, FORGED_TABLE);
	forged_put(FORGED_RECORDER, FORGED_RECORDS);
	forged_put(FORGED_RECORDER + 24, FORGED_RECORDS + 1024);
	forged_put(FORGED_TABLE, forged->code + 0x10);
	forged_put(FORGED_TABLE + 8, forged->code + 0x20);
	forged_counts(forged, FORGED_TABLE + 16, 60, 12, 1000);
	forged_put(head, FORGED_LISTS);
	forged_put(head + 8, 3);
	forged_stack(forged, 0, 40, 10);
	forged_stack(forged, 1, 18, 0);
	forged_stack(forged, 2, 2, 2);
	for (uint32_t i = 0; i < FORGED_SAMPLES; i++)
		forged_sample(forged, i);
	forged_memory_find_places(&forged->memory);
	return true;
}

static inline bool forged_make(struct forged *forged)
{
	return forged_make_counted(forged, 4);
}

#endif
