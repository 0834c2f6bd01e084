/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a small program of OCaml 5.3: one domain with three pools, a large block, a minor
 * heap, a finaliser and a stack; a module App with a continuation on a separate stack.
 */
#ifndef LEAKMON_UNIT_OCAML5_FIXTURE_H
#define LEAKMON_UNIT_OCAML5_FIXTURE_H

#include "heap/runtime/ocaml/ocaml.h"
#include "unit/forged_memory.h"

#define FORGED_BASE 0x200000000000ull
#define FORGED_BYTES 0x50000u
#define FORGED_DATA 0x10000u /* of the program: the rest is heap */
#define FORGED_MALLOC 0x10000u
#define FORGED_POOLS 0x30000u
#define FORGED_YOUNG 0x48000u
#define FORGED_YOUNG_BYTES 0x2000u
#define FORGED_YOUNG_BLOCKS 3
#define FORGED_PAIRS 5
#define FORGED_LARGE_WORDS 200
#define FORGED_FIELDS 4 /* of App */
#define FORGED_DOMAIN_BYTES 400
#define FORGED_STACK_WORDS 64
#define FORGED_POOL_WORDS (OCAML_POOL_BYTES / 8)
/* Pools of blocks of three words, of six, and of ten, in older ones nine: their size classes, and
 * where blocks begin. */
#define FORGED_SMALL 2
#define FORGED_SMALL_FIRST 4
#define FORGED_MEDIUM 5
#define FORGED_MEDIUM_FIRST 4
#define FORGED_THIRD 8
#define FORGED_THIRDS 100

struct forged {
	struct forged_memory memory;
	uint64_t globals, module, table, state, heap, final, code, frames;
	uint64_t small, medium, third; /* pools */
	uint64_t large, stack, suspended, young, pairs, continuation, doomed;
	uint64_t kept, stale; /* values that the suspended stack holds, and does not any more */
};

static inline uint64_t forged_header(unsigned tag, uint64_t size, unsigned colour)
{
	return size << 10 | (uint64_t)colour << 8 | tag;
}

/* The n-th block of a pool. Returns the value. */
static inline uint64_t forged_block(uint64_t pool, uint64_t first, uint64_t words, uint64_t n,
				    uint64_t header)
{
	uint64_t address = pool + (first + n * words) * 8;

	forged_put(address, header);
	return address + HEADER_BYTES;
}

static inline void forged_symbols(struct forged *forged)
{
	struct forged_memory *memory = &forged->memory;

	forged->globals = forged_memory_symbol(memory, "caml_globals", 0x100, 64);
	forged_memory_symbol(memory, "caml_frametable", 0x200, 16);
	forged_memory_symbol(memory, "caml_global_heap_state", 0x300, 24);
	forged_memory_symbol(memory, "caml_minor_heaps_start", 0x320, 8);
	forged_memory_symbol(memory, "all_domains", 0x330, 8);
	forged->module = forged_memory_symbol(memory, "camlApp", 0x408, 8 * FORGED_FIELDS);
	forged->frames = memory->base + 0x800;
	forged->code = forged_memory_symbol(memory, "camlApp.fun_13", 0x8040, 64);
	forged_put(memory->base + 0x300, 0x100); /* marked */
	forged_put(memory->base + 0x308, 0x200);
	forged_put(memory->base + 0x310, 0); /* garbage */
	forged_put(memory->base + 0x200, forged->frames);
}

/*
 * Makes one descriptor: a value 16 bytes after the pointer, and the caller 32 bytes on; app.ml:7.
 */
static inline void forged_frame_table(const struct forged *forged)
{
	uint64_t at = forged->frames + 8, debug = at + 16;

	forged_put(forged->frames, 1);
	forged_put(at, forged->code + 16);
	forged_put(at + 8, (32u | 1u) | 1ull << 16 | 16ull << 32 | 0ull << 48);
	forged_put(debug, 16);			 /* distance to the next item */
	forged_put(debug + 16, 16 | 7ull << 51); /* names are 16 on; line 7 */
	forged_put(debug + 32, 8);		 /* the file's is 8 on */
	forged_put_text(debug + 40, "src/app.ml");
}

static inline void forged_pool(uint64_t pool, uint64_t state, unsigned size)
{
	forged_put(pool + 16, state);
	forged_put(pool + 24, size);
}

/* Fills the third pool with blocks that begin there. */
static inline void forged_thirds(const struct forged *forged, uint64_t first, uint64_t words)
{
	forged_pool(forged->third, forged->state, FORGED_THIRD);
	for (uint64_t at = 4; at < FORGED_POOL_WORDS; at++)
		forged_put(forged->third + at * 8, 0);
	for (uint64_t i = 0; i < FORGED_THIRDS; i++) {
		uint64_t block =
			forged_block(forged->third, first, words, i, forged_header(3, 8, 1));

		for (uint64_t at = 0; at < 64; at += 8)
			forged_put(block + at, 1);
	}
}

static inline void forged_pools(struct forged *forged)
{
	uint64_t last = 1;

	forged->small = forged->memory.base + FORGED_POOLS;
	forged->medium = forged->small + OCAML_POOL_BYTES;
	forged_pool(forged->small, forged->state, FORGED_SMALL);
	forged_pool(forged->medium, forged->state, FORGED_MEDIUM);
	forged->third = forged->medium + OCAML_POOL_BYTES;
	forged_thirds(forged, 4 + (FORGED_POOL_WORDS - 4) % 10, 10);
	for (uint64_t i = 0; i < FORGED_PAIRS; i++) {
		uint64_t pair = forged_block(forged->small, FORGED_SMALL_FIRST, 3, i,
					     forged_header(0, 2, 1));

		forged_put(pair, 17);
		forged_put(pair + 8, last);
		last = pair;
	}
	forged->pairs = last;
	/* Garbage: one has a finaliser of C's. */
	forged_block(forged->small, FORGED_SMALL_FIRST, 3, 8, forged_header(0, 2, 0));
	forged->doomed = forged_block(forged->small, FORGED_SMALL_FIRST, 3, 9,
				      forged_header(TAG_CUSTOM, 2, 0));
	forged_put(forged->doomed, forged->memory.base + 0x900);
	forged_put(forged->memory.base + 0x900, forged->memory.base + 0x940);
	forged_put(forged->memory.base + 0x908, forged->code);
	forged_put_text(forged->memory.base + 0x940, "_mutex");
	forged->kept = forged_block(forged->medium, FORGED_MEDIUM_FIRST, 6, 0,
				    forged_header(TAG_STRING, 4, 2));
	forged->stale = forged_block(forged->medium, FORGED_MEDIUM_FIRST, 6, 1,
				     forged_header(TAG_DOUBLE_ARRAY, 4, 2));
	forged->continuation = forged_block(forged->small, FORGED_SMALL_FIRST, 3, 20,
					    forged_header(TAG_CONTINUATION, 2, 1));
	forged->large = forged_memory_malloc(&forged->memory, 16 + 8 + FORGED_LARGE_WORDS * 8);
	forged_put(forged->large, forged->state);
	forged_put(forged->large + 16, forged_header(9, FORGED_LARGE_WORDS, 1));
}

/* Where its pointer, its handler and its cache are. */
static inline uint64_t forged_stack(struct forged *forged, uint64_t used)
{
	uint64_t stack = forged_memory_malloc(&forged->memory, (7 + FORGED_STACK_WORDS + 7) * 8);
	uint64_t handler = align_up(stack + (7 + FORGED_STACK_WORDS) * 8, 16);

	forged_put(stack, handler - used);
	forged_put(stack + 16, handler);
	return stack;
}

/* A function that waits, which was called from C. */
static inline void forged_stacks(struct forged *forged)
{
	uint64_t pointer;

	forged->stack = forged_stack(forged, 16);
	forged->suspended = forged_stack(forged, 8 + 32 + 32);
	pointer = forged_word(forged->suspended);
	forged_put(pointer, forged->code + 16);
	forged_put(pointer + 8, forged->stale);
	forged_put(pointer + 8 + 16, forged->kept);
	forged_put(forged->continuation, forged->suspended | 1);
	forged_put(forged->continuation + 8, 1);
}

static inline void forged_fields(struct forged *forged)
{
	uint64_t closure = forged_block(forged->medium, FORGED_MEDIUM_FIRST, 6, 2,
					forged_header(TAG_CLOSURE, 3, 1));

	forged_put(closure, forged->code);
	forged_put(closure + 8, 1ull << 56 | 1);
	forged_put(closure + 16, forged->pairs);
	forged_put(forged->globals, forged->memory.base + 0x180);
	forged_put(forged->memory.base + 0x180, forged->module);
	forged_put(forged->module - HEADER_BYTES, forged_header(0, FORGED_FIELDS, 3));
	forged_put(forged->module, forged->pairs);
	forged_put(forged->module + 8, forged->continuation);
	forged_put(forged->module + 16, forged->large + 24);
	forged_put(forged->module + 24, closure);
	/* A finaliser for the pairs. */
	forged->final = forged_memory_malloc(&forged->memory, 24);
	forged_put(forged->final, closure);
	forged_put(forged->final + 8, forged->pairs);
}

static inline void forged_minor_heap(struct forged *forged)
{
	uint64_t start = forged->memory.base + FORGED_YOUNG, end = start + FORGED_YOUNG_BYTES;

	forged->young = end - FORGED_YOUNG_BLOCKS * 5 * 8;
	for (uint64_t i = 0; i < FORGED_YOUNG_BLOCKS; i++)
		forged_put(forged->young + i * 5 * 8, forged_header(7, 4, 0));
	forged_put(forged->state + 8, forged->young);
	forged_put(forged->state + 16, start);
	forged_put(forged->state + 24, end);
	forged_put(forged->state + 32, start); /* where a slice begins */
	forged_put(forged->memory.base + 0x320, start);
	forged_put(forged->table + 8, forged->state);
	forged_put(forged->table + 0x90, start);
	forged_put(forged->table + 0x98, end);
}

/* Makes its heap: a list of pools for each size, one of which has been swept; statistics follow. */
static inline void forged_domain(struct forged *forged)
{
	uint64_t finalisers = forged_memory_malloc(&forged->memory, 120);

	forged_put(forged->heap + 8 * FORGED_SMALL, forged->small);
	forged_put(forged->heap + 8 * (3 * 32 + FORGED_MEDIUM), forged->medium);
	forged_put(forged->heap + 8 * 128, forged->large);
	forged_put(forged->heap + 8 * 131, forged->state);
	forged_put(forged->heap + 8 * FORGED_THIRD, forged->third);
	forged_put(forged->heap + 8 * 132, 3 * FORGED_POOL_WORDS);
	forged_put(forged->heap + 8 * (132 + 7), 1);
	forged_put(forged->state + 8 * 35, forged->heap);
	forged_put(forged->state + 8 * 5, forged->stack);
	forged_put(forged->state + 8 * 22, finalisers);
	forged_put(finalisers, forged->final);
	forged_put(finalisers + 16, 1);
	forged_put(finalisers + 24, 1);
}

/* False: no memory. */
static inline bool forged_make(struct forged *forged)
{
	*forged = (struct forged){0};
	if (!forged_memory_make(&forged->memory, FORGED_BASE, FORGED_BYTES, FORGED_DATA,
				FORGED_MALLOC))
		return false;
	forged_symbols(forged);
	forged_frame_table(forged);
	forged->state = forged_memory_malloc(&forged->memory, 64 * 8);
	forged->heap = forged_memory_malloc(&forged->memory, (132 + 8) * 8);
	forged->table = forged_memory_malloc(&forged->memory, 0xa0 * 2);
	forged_put(forged->memory.base + 0x330, forged->table);
	forged_pools(forged);
	forged_stacks(forged);
	forged_fields(forged);
	forged_minor_heap(forged);
	forged_domain(forged);
	forged_memory_find_places(&forged->memory);
	return true;
}

static inline void forged_move(uint64_t from, uint64_t to)
{
	forged_put(to, forged_word(from));
	forged_put(from, 0);
}

/* Turns the memory into that of a program of OCaml 5.1, or of 5.0. */
static inline void forged_make_older(struct forged *forged, bool first)
{
	uint64_t state = forged->state, table = forged->memory.base + 0x330;

	for (uint64_t at = 0; at < 0xa0; at += 8)
		forged_move(forged->table + at, table + at);
	forged_move(state + 8 * 35, state + 8 * 34);
	if (first)
		forged_move(state + 8 * 5, state + 8 * 4);
	else
		forged_move(state + 8 * 22, state + 8 * 21);
	forged_thirds(forged, 4, 9);
	forged_put(forged->continuation - HEADER_BYTES, forged_header(TAG_CONTINUATION, 1, 1));
	forged_put(forged->continuation + 8, 0);
}

#endif
