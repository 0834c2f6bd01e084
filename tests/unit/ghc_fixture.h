/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a small Haskell program: a constant expression Main.cache that is a list of items,
 * a stable pointer, a thread with its stack, a weak pointer, arrays; a nursery of four blocks, of
 * which the second one is being filled.
 */
#ifndef LEAKMON_UNIT_GHC_FIXTURE_H
#define LEAKMON_UNIT_GHC_FIXTURE_H

#include "heap/runtime/ghc/ghc.h"
#include "unit/forged_memory.h"

#define FORGED_BASE 0x200000000000ull
#define FORGED_HEAP 0x100000u
#define FORGED_MEGABLOCKS 1u
#define FORGED_BYTES (FORGED_HEAP + FORGED_MEGABLOCKS * (uint32_t)GHC_MEGABLOCK)
#define FORGED_DATA 0x20000u
#define FORGED_CODE 0x8000u
#define FORGED_MALLOC 0x20000u
#define FORGED_ITEMS 5
#define FORGED_YOUNG 4
#define FORGED_ARRAY_BYTES (300u << 10)
#define FORGED_DESCRIPTOR 64u

/* Blocks of the first megablock. */
enum forged_block {
	FORGED_OLD_BLOCK = 4,
	FORGED_NURSERY = 8,
	FORGED_NURSERY_BLOCKS = 4,
	FORGED_OTHER_USE = 20, /* of the collector's own */
	FORGED_FREE = 24,
	FORGED_PINNED = 25,
	FORGED_BYTES_BLOCK = 26, /* a large object of bytes */
	FORGED_SEGMENT = 104,	 /* of the non-moving collector */
};

/* Blocks of the segment: two allocated since it was swept, one free, one survivor. */
#define FORGED_KEPT_BYTES 32
#define FORGED_KEPT_BITS 5
#define FORGED_KEPT_FIRST 1016 /* after its head and 992 marks */
#define FORGED_KEPT_NEXT 2
#define FORGED_KEPT_OLD 3
#define FORGED_KEPT 3 /* in all */

enum forged_info {
	FORGED_ITEM,
	FORGED_CONS,
	FORGED_THUNK,
	FORGED_FUN,
	FORGED_BLACKHOLE,
	FORGED_CAF,
	FORGED_ARR_WORDS,
	FORGED_ARRAY,
	FORGED_TSO,
	FORGED_STACK,
	FORGED_WEAK,
	FORGED_PAP,
	FORGED_PART,
	FORGED_INFOS_
};

struct forged {
	struct forged_memory memory;
	uint64_t infos[FORGED_INFOS_];
	uint64_t generations, capability, nurseries, stable, static_flag;
	uint64_t cache;	       /* the constant expression */
	uint64_t next;	       /* where the next closure comes */
	uint64_t list, pinned; /* closures */
	uint64_t thread, stack, weak, key, array;
	uint64_t waited; /* a thunk that only the stack has */
};

static inline uint64_t forged_block_at(const struct forged *forged, unsigned block)
{
	return forged->memory.base + FORGED_HEAP + block * GHC_BLOCK;
}

static inline uint64_t forged_descriptor(const struct forged *forged, unsigned block)
{
	return forged->memory.base + FORGED_HEAP + (uint64_t)block * FORGED_DESCRIPTOR;
}

/* A group of blocks in use up to an address; UINT64_MAX: free. */
static inline void forged_group(const struct forged *forged, unsigned block, uint32_t blocks,
				uint64_t used, unsigned generation, unsigned flags)
{
	uint64_t descriptor = forged_descriptor(forged, block);

	forged_put(descriptor, forged_block_at(forged, block));
	forged_put(descriptor + 8, used);
	forged_put(descriptor + 32, forged->generations + generation * 256ull);
	forged_put(descriptor + 40, generation | (uint64_t)flags << 48);
	forged_put(descriptor + 48, blocks);
}

static inline void forged_info_table(struct forged *forged, enum forged_info info, unsigned type,
				     uint32_t pointers, uint32_t others, const char *constructor)
{
	uint64_t code = forged->memory.base + FORGED_CODE + 0x100ull * (info + 1);

	forged->infos[info] = code;
	forged_put(code - 16, pointers | (uint64_t)others << 32);
	forged_put(code - 8, type);
	forged_put(code, 0xc3);
	if (constructor) {
		forged_put(code - 24, 32);
		forged_put_text(code + 32, constructor);
	}
}

/* Returns the closure, all of its payload zeros. */
static inline uint64_t forged_closure(struct forged *forged, enum forged_info info, uint64_t words)
{
	uint64_t closure = forged->next;

	forged_put(closure, forged->infos[info]);
	forged->next += words * 8;
	return closure;
}

static inline void forged_infos(struct forged *forged)
{
	forged_info_table(forged, FORGED_ITEM, 5, 1, 1, "main:Main.Item");
	forged_info_table(forged, FORGED_CONS, 4, 2, 0, "ghc-prim:GHC.Types.:");
	forged_info_table(forged, FORGED_THUNK, 18, 2, 0, NULL);
	forged_info_table(forged, FORGED_FUN, 9, 1, 0, NULL);
	forged_info_table(forged, FORGED_BLACKHOLE, 38, 1, 0, NULL);
	forged_info_table(forged, FORGED_CAF, 28, 1, 0, NULL);
	forged_info_table(forged, FORGED_ARR_WORDS, 42, 0, 0, NULL);
	forged_info_table(forged, FORGED_ARRAY, 43, 0, 0, NULL);
	forged_info_table(forged, FORGED_TSO, 52, 0, 0, NULL);
	forged_info_table(forged, FORGED_STACK, 53, 0, 0, NULL);
	forged_info_table(forged, FORGED_WEAK, 49, 4, 1, NULL);
	forged_info_table(forged, FORGED_PAP, 25, 0, 0, NULL);
	forged_info_table(forged, FORGED_PART, 5, 1, 1, "main:Main.Part");
}

static inline void forged_symbols(struct forged *forged)
{
	struct forged_memory *memory = &forged->memory;
	uint64_t heap = memory->base + FORGED_HEAP;
	uint64_t space = forged_memory_symbol(memory, "mblock_address_space", 0x100, 16);
	uint64_t table = forged_memory_symbol(memory, "stable_ptr_table", 0x200, 8);

	forged->static_flag = forged_memory_symbol(memory, "static_flag", 0x210, 8);
	forged->cache = forged_memory_symbol(memory, "Main_cache_closure", 0x300, 32);
	forged->capability = forged_memory_symbol(memory, "MainCapability", 0x1000, 0x800);
	/* The thunk's code precedes that of its function. */
	forged_memory_symbol(memory, "Main_zdwfun_info", FORGED_CODE + 0x100ull * (FORGED_FUN + 1),
			     64);
	forged_put(space, heap);
	forged_put(space + 8, heap + FORGED_MEGABLOCKS * GHC_MEGABLOCK);
	forged->stable = forged_memory_malloc(memory, 64);
	forged_put(table, forged->stable);
	forged->generations = forged_memory_malloc(memory, 512);
	forged_put(forged->generations + 120, forged->generations + 256);
	forged_put(forged->generations + 256, 1);
	forged_put(forged->generations + 256 + 120, forged->generations + 256);
}

/* Items, each in a cell of a list; one thunk that was evaluated, with a word left over. */
static inline void forged_list(struct forged *forged)
{
	uint64_t rest = 0, hole;

	for (size_t i = 0; i < FORGED_ITEMS; i++) {
		uint64_t item = forged_closure(forged, FORGED_ITEM, 3), cell;

		cell = forged_closure(forged, FORGED_CONS, 3);
		forged_put(cell + 8, item + 1);
		forged_put(cell + 16, rest ? rest + 2 : 0);
		rest = cell;
	}
	hole = forged_closure(forged, FORGED_BLACKHOLE, 4);
	forged_put(hole + 8, rest + 2);
	forged_put(hole + 16, rest);
	forged->list = hole;
	forged_put(forged->cache, forged->infos[FORGED_CAF]);
	forged_put(forged->cache + 8, hole);
	forged_put(forged->cache + 24, forged->infos[FORGED_FUN]);
}

static inline void forged_thread(struct forged *forged)
{
	forged->waited = forged_closure(forged, FORGED_THUNK, 4);
	forged->stack = forged_closure(forged, FORGED_STACK, 3 + 8);
	forged_put(forged->stack + 8, 8);
	forged_put(forged->stack + 16, forged->stack + 24 + 6 * 8);
	forged_put(forged->stack + 24, forged->list); /* left over */
	forged_put(forged->stack + 24 + 7 * 8, forged->waited);
	forged->thread = forged_closure(forged, FORGED_TSO, 15);
	forged_put(forged->thread + 24, forged->stack);
	forged_put(forged->thread + 32, 1);
	forged_put(forged->thread + 48, 7);
}

static inline void forged_weak(struct forged *forged)
{
	uint64_t value = forged_closure(forged, FORGED_FUN, 2);

	forged->key = forged_closure(forged, FORGED_FUN, 2);
	forged->pinned = forged_closure(forged, FORGED_ITEM, 3);
	forged_put(forged->stable + 8, forged->pinned + 1);
	forged_put(forged->stable + 16, forged->stable + 24);
	forged->weak = forged_closure(forged, FORGED_WEAK, 6);
	forged_put(forged->weak + 16, forged->key);
	forged_put(forged->weak + 24, value);
	forged->array = forged_closure(forged, FORGED_ARRAY, 3 + 2);
	forged_put(forged->array + 8, 1); /* plus a word of its card table */
	forged_put(forged->array + 16, 2);
	forged_put(forged->array + 24, forged->pinned);
	forged_put(forged->array + 32, forged->list);
	forged_put(forged_closure(forged, FORGED_PAP, 4) + 8, 1ull << 32);
}

/* Data after the end of the block being filled are old closures, not live ones. */
static inline void forged_nursery(struct forged *forged)
{
	uint64_t first = forged_descriptor(forged, FORGED_NURSERY);

	forged->nurseries = forged_memory_malloc(&forged->memory, 16);
	forged_put(forged->nurseries, first);
	forged_put(forged->nurseries + 8, FORGED_NURSERY_BLOCKS);
	forged_put(forged->capability + 904, forged->nurseries);
	forged_put(forged->capability + 912, first + FORGED_DESCRIPTOR);
	for (unsigned i = 0; i < FORGED_NURSERY_BLOCKS; i++) {
		uint64_t at = first + (uint64_t)i * FORGED_DESCRIPTOR;

		forged->next = forged_block_at(forged, FORGED_NURSERY + i);
		for (size_t j = 0; j < FORGED_YOUNG; j++)
			forged_closure(forged, FORGED_THUNK, 4);
		forged_group(forged, FORGED_NURSERY + i, 1, forged->next, 0, 0);
		forged_put(at + 16, i + 1 < FORGED_NURSERY_BLOCKS ? at + FORGED_DESCRIPTOR : 0);
		forged_put(at + 24, i ? at - FORGED_DESCRIPTOR : 0);
	}
}

static inline void forged_large(struct forged *forged)
{
	uint64_t other = forged_block_at(forged, FORGED_OTHER_USE);
	uint64_t bytes = forged_block_at(forged, FORGED_BYTES_BLOCK);
	uint64_t pinned = forged_block_at(forged, FORGED_PINNED);

	forged_put(other, forged->list);
	forged_group(forged, FORGED_OTHER_USE, 1, other + 64, 1, 0);
	forged_put(forged_block_at(forged, FORGED_FREE), forged->infos[FORGED_ITEM]);
	forged_group(forged, FORGED_FREE, 1, UINT64_MAX, 1, 0);
	forged_group(forged, FORGED_PINNED, 1, pinned + 256, 0, 2 | 4);
	forged_put(bytes, forged->infos[FORGED_ARR_WORDS]);
	forged_put(bytes + 8, FORGED_ARRAY_BYTES);
	forged_group(forged, FORGED_BYTES_BLOCK, FORGED_ARRAY_BYTES / GHC_BLOCK + 1,
		     bytes + 16 + FORGED_ARRAY_BYTES, 1, 2);
}

static inline uint64_t forged_part(const struct forged *forged, unsigned block)
{
	return forged_block_at(forged, FORGED_SEGMENT) + FORGED_KEPT_FIRST +
	       (uint64_t)block * FORGED_KEPT_BYTES;
}

static inline void forged_segment(struct forged *forged)
{
	uint64_t segment = forged_block_at(forged, FORGED_SEGMENT);

	for (unsigned i = 0; i <= FORGED_KEPT_OLD; i++)
		forged_put(forged_part(forged, i), forged->infos[FORGED_PART]);
	forged_put(forged_part(forged, FORGED_KEPT_OLD) + 8, forged->pinned);
	/* Marks follow the number, two bytes each. */
	forged_put(segment + 16, FORGED_KEPT_NEXT | 1ull << (2 + FORGED_KEPT_OLD) * 8);
	forged_group(forged, FORGED_SEGMENT, 8, segment | FORGED_KEPT_BITS, 1, 1024);
}

/* Where lines are from 9.10 on: a table, its codes, entries and texts. */
#define FORGED_LINES (FORGED_BASE + 0x2000)
#define FORGED_LINE_CODES (FORGED_BASE + 0x2100)
#define FORGED_LINE_ENTRIES (FORGED_BASE + 0x2200)
#define FORGED_LINE_TEXTS (FORGED_BASE + 0x3000)
static const char forged_line_texts[] = "\0Int\0wait\0Main\0src/Leak.hs\0\0\0\00038:58-91";
static const uint64_t forged_line_entries[] = {0, 1 | 5ull << 32,  15 | 30ull << 32, 0,
					       0, 15 | 30ull << 32};

/* Writes the data of -finfo-table-map: of thunks and items. */
static inline void forged_lines(struct forged *forged)
{
	forged_put(FORGED_LINES + 16, 2);
	forged_put(FORGED_LINES + 24, FORGED_LINE_CODES);
	forged_put(FORGED_LINES + 32, FORGED_LINE_ENTRIES);
	forged_put(FORGED_LINES + 40, sizeof(forged_line_entries));
	forged_put(FORGED_LINES + 48, FORGED_LINE_TEXTS);
	forged_put(FORGED_LINES + 56, sizeof(forged_line_texts));
	forged_put(FORGED_LINES + 64, 10ull << 32); /* module */
	forged_put(FORGED_LINE_CODES, forged->infos[FORGED_THUNK]);
	forged_put(FORGED_LINE_CODES + 8, forged->infos[FORGED_ITEM]);
	memcpy(forged_memory_place(FORGED_LINE_ENTRIES), forged_line_entries,
	       sizeof(forged_line_entries));
	memcpy(forged_memory_place(FORGED_LINE_TEXTS), forged_line_texts,
	       sizeof(forged_line_texts));
}

/* False: no memory. */
static inline bool forged_make(struct forged *forged)
{
	*forged = (struct forged){0};
	if (!forged_memory_make(&forged->memory, FORGED_BASE, FORGED_BYTES, FORGED_DATA,
				FORGED_MALLOC))
		return false;
	forged_memory_split(&forged->memory, FORGED_HEAP);
	forged->memory.mappings[0].executable = true;
	forged_infos(forged);
	forged_symbols(forged);
	forged->next = forged_block_at(forged, FORGED_OLD_BLOCK);
	forged_list(forged);
	forged_thread(forged);
	forged_weak(forged);
	forged_group(forged, FORGED_OLD_BLOCK, 2, forged->next, 1, 0);
	forged_nursery(forged);
	forged_large(forged);
	forged_segment(forged);
	forged_memory_find_places(&forged->memory);
	return true;
}

#endif
