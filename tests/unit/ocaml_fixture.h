/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a small program of OCaml 4.13: a module App with a list of sessions, an exception,
 * a custom block and two finalisers; two chunks of a major heap, and a minor one.
 */
#ifndef LEAKMON_UNIT_OCAML_FIXTURE_H
#define LEAKMON_UNIT_OCAML_FIXTURE_H

#include "heap/runtime/ocaml/ocaml.h"
#include "unit/forged_memory.h"

#define FORGED_BASE 0x200000000000ull
#define FORGED_BYTES 0xb0000u
#define FORGED_DATA 0x10000u   /* of the program: the rest is heap */
#define FORGED_MALLOC 0x30000u /* stacks for signals, too: 47 KiB each where there is AMX */
#define FORGED_CHUNK 0x20000u
#define FORGED_CHUNK_BYTES 0x2000u
#define FORGED_OTHER_CHUNK 0x24000u
#define FORGED_OTHER_CHUNK_BYTES 0x1000u
#define FORGED_YOUNG 0x28000u
#define FORGED_YOUNG_BYTES 0x2000u
#define FORGED_SESSIONS 5
#define FORGED_YOUNG_BLOCKS 3
#define FORGED_FIELDS 4 /* of App */
#define FORGED_FINALISERS 2
/* Where a chunk's size and the next one are, before it. */
#define FORGED_CHUNK_SIZE 32
#define FORGED_CHUNK_NEXT 24

struct forged {
	struct forged_memory memory;
	uint64_t state, heap_start, phase, sweep_at, globals, module;
	uint64_t finalisable_first, finalisable_last, finalisers, ephemerons;
	uint64_t add, fun, curry; /* code */
	uint64_t constructor, custom;
	uint64_t next; /* in the chunk: where the next block comes */
	/* Values. */
	uint64_t sessions, closure, weak, kept, young;
};

static inline uint64_t forged_header(unsigned tag, uint64_t size, unsigned colour)
{
	return size << 10 | (uint64_t)colour << 8 | tag;
}

/* Returns the value; its fields are zeros. */
static inline uint64_t forged_value(struct forged *forged, unsigned tag, uint64_t size)
{
	uint64_t value = forged->next + HEADER_BYTES;

	forged_put(forged->next, forged_header(tag, size, COLOUR_BLACK));
	forged->next = value + size * 8;
	return value;
}

/* A free block up to the end. */
static inline void forged_fill(const struct forged *forged, uint64_t end)
{
	if (forged->next < end)
		forged_put(forged->next,
			   forged_header(0, (end - forged->next) / 8 - 1, COLOUR_BLUE));
}

static inline uint64_t forged_closure(struct forged *forged, uint64_t code, uint64_t arity,
				      uint64_t environment)
{
	uint64_t value = forged_value(forged, TAG_CLOSURE, 4);

	forged_put(value, code);
	forged_put(value + 8, arity << 56 | 1);
	forged_put(value + 16, environment);
	forged_put(value + 24, environment);
	return value;
}

static inline void forged_symbols(struct forged *forged)
{
	struct forged_memory *memory = &forged->memory;

	forged->globals = forged_memory_symbol(memory, "caml_globals", 0x100, 64);
	forged_memory_symbol(memory, "caml_data_segments", 0x200, 32);
	forged_memory_symbol(memory, "Caml_state", 0x300, 8);
	forged->heap_start = forged_memory_symbol(memory, "caml_heap_start", 0x310, 8);
	forged->phase = forged_memory_symbol(memory, "caml_gc_phase", 0x320, 4);
	forged->sweep_at = forged_memory_symbol(memory, "caml_gc_sweep_hp", 0x330, 8);
	forged->finalisable_first = forged_memory_symbol(memory, "finalisable_first", 0x340, 32);
	forged->finalisable_last = forged_memory_symbol(memory, "finalisable_last", 0x360, 32);
	forged->ephemerons = forged_memory_symbol(memory, "caml_ephe_list_head", 0x380, 8);
	forged_memory_symbol(memory, "caml_page_table", 0x390, 40);
	forged->module = forged_memory_symbol(memory, "camlApp", 0x408, 8 * FORGED_FIELDS);
	forged->add = forged_memory_symbol(memory, "camlApp__add_12", 0x8000, 64);
	forged->fun = forged_memory_symbol(memory, "camlApp__fun_13", 0x8040, 64);
	forged->curry = forged_memory_symbol(memory, "caml_curry2_1", 0x8080, 64);
}

/* The module's own block, its exception's constructor, and the operations of the custom block. */
static inline void forged_statics(struct forged *forged)
{
	uint64_t base = forged->memory.base, list = base + 0x180, text = base + 0x548;

	forged_put(forged->globals, list);
	forged_put(list, forged->module);
	forged_put(base + 0x200, base + 0x400);
	forged_put(base + 0x208, base + 0x600);
	forged_put(forged->module - HEADER_BYTES, forged_header(0, FORGED_FIELDS, COLOUR_BLACK));
	forged->constructor = base + 0x518;
	forged_put(base + 0x510, forged_header(TAG_OBJECT, 2, COLOUR_BLACK));
	forged_put(base + 0x518, text);
	forged_put(base + 0x540, forged_header(TAG_STRING, 2, COLOUR_BLACK));
	forged_put_text(text, "App.Broken");
	forged_put(text + 8, forged_word(text + 8) | 5ull << 56);
	forged->custom = base + 0x900;
	forged_put(forged->custom, base + 0x940);
	forged_put_text(base + 0x940, "_j");
}

static inline uint64_t forged_session(struct forged *forged, uint64_t next)
{
	uint64_t floats = forged_value(forged, TAG_DOUBLE_ARRAY, 8);
	uint64_t session = forged_value(forged, 0, 3), cell;

	forged_put(session, floats);
	forged_put(session + 8, 2 * 17 + 1);
	forged_put(session + 16, forged->closure);
	cell = forged_value(forged, 0, 2);
	forged_put(cell, session);
	forged_put(cell + 8, next);
	return cell;
}

/* Makes the values of App's fields. */
static inline void forged_fields(struct forged *forged)
{
	uint64_t custom, broken, partial;

	forged->closure = forged_closure(forged, forged->fun, 1, 1);
	forged->sessions = 1;
	for (size_t i = 0; i < FORGED_SESSIONS; i++)
		forged->sessions = forged_session(forged, forged->sessions);
	broken = forged_value(forged, 0, 2);
	forged_put(broken, forged->constructor);
	forged_put(broken + 8, 3);
	custom = forged_value(forged, TAG_CUSTOM, 2);
	forged_put(custom, forged->custom);
	partial = forged_closure(forged, forged->curry, 1, broken);
	forged_put(partial + 24, forged_closure(forged, forged->add, 1, 1));
	forged_put(forged->module, forged->sessions);
	forged_put(forged->module + 8, forged->constructor);
	forged_put(forged->module + 16, custom);
	forged_put(forged->module + 24, partial);
}

/* Two finalisers with one function; an ephemeron. */
static inline void forged_waiting(struct forged *forged)
{
	forged->finalisers = forged_memory_malloc(&forged->memory, 24 * FORGED_FINALISERS);
	forged_put(forged->finalisable_first, forged->finalisers);
	forged_put(forged->finalisable_first + 16, FORGED_FINALISERS);
	forged_put(forged->finalisable_first + 24, FORGED_FINALISERS);
	for (size_t i = 0; i < FORGED_FINALISERS; i++) {
		uint64_t closure = forged_closure(forged, forged->add, 1, 1);

		forged_put(forged->finalisers + i * 24, closure);
		forged_put(forged->finalisers + i * 24 + 8, forged_value(forged, TAG_STRING, 4));
	}
	forged->kept = forged_value(forged, TAG_STRING, 1);
	forged->weak = forged_value(forged, TAG_ABSTRACT, 3);
	forged_put(forged->weak + 8, forged->kept);
	forged_put(forged->weak + 16, forged->closure);
	forged_put(forged->ephemerons, forged->weak);
}

static inline void forged_chunk(uint64_t start, uint64_t size, uint64_t next)
{
	forged_put(start - FORGED_CHUNK_SIZE, size);
	forged_put(start - FORGED_CHUNK_NEXT, next);
}

/* The minor heap is filled from its end down. */
static inline void forged_minor_heap(struct forged *forged)
{
	uint64_t start = forged->memory.base + FORGED_YOUNG, end = start + FORGED_YOUNG_BYTES;

	forged->next = end - FORGED_YOUNG_BLOCKS * 5 * 8;
	forged->young = forged->next;
	for (size_t i = 0; i < FORGED_YOUNG_BLOCKS; i++)
		forged_value(forged, 7, 4);
	forged_put(forged->state, start); /* the limit */
	forged_put(forged->state + 8, forged->young);
	forged_put(forged->state + 8ull * STATE_YOUNG_START, start);
	forged_put(forged->state + 8ull * STATE_YOUNG_END, end);
	forged_put(forged->state + 8ull * (STATE_YOUNG_END + 2), start);
}

static inline void forged_heap(struct forged *forged)
{
	uint64_t first = forged->memory.base + FORGED_CHUNK;
	uint64_t second = forged->memory.base + FORGED_OTHER_CHUNK;

	forged->state = forged_memory_malloc(&forged->memory, STATE_BYTES);
	forged_put(forged->memory.base + 0x300, forged->state);
	forged_put(forged->heap_start, first);
	forged_chunk(first, FORGED_CHUNK_BYTES, second);
	forged_chunk(second, FORGED_OTHER_CHUNK_BYTES, 0);
	forged_put(forged->state + 8 * 40, (FORGED_CHUNK_BYTES + FORGED_OTHER_CHUNK_BYTES) / 8);
	forged->next = first;
	forged_fields(forged);
	forged_waiting(forged);
	forged_fill(forged, first + FORGED_CHUNK_BYTES);
	forged->next = second;
	forged_fill(forged, second + FORGED_OTHER_CHUNK_BYTES);
	forged_minor_heap(forged);
}

/* False: no memory. */
static inline bool forged_make(struct forged *forged)
{
	*forged = (struct forged){0};
	if (!forged_memory_make(&forged->memory, FORGED_BASE, FORGED_BYTES, FORGED_DATA,
				FORGED_MALLOC))
		return false;
	forged_symbols(forged);
	forged_statics(forged);
	forged_heap(forged);
	forged_memory_find_places(&forged->memory);
	return true;
}

#endif
