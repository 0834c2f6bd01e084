/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a small Python of any version that is read, made by hand in this process: an
 * interpreter with a module `app`, which has a variable `sessions`, a list of objects of
 * app.Session. Used by a unit test and fuzzers, so it asserts nothing.
 */
#ifndef LEAKMON_UNIT_CPYTHON_FIXTURE_H
#define LEAKMON_UNIT_CPYTHON_FIXTURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/runtime/cpython/cpython.h"
#include "unit/cpython_described.h"
#include "unit/forged_memory.h"

#define FORGED_BASE 0x200000000000ull
#define FORGED_BYTES (3u << 20)
#define FORGED_DATA 0x10000u /* of the module: the rest is heap */
#define FORGED_MALLOC 0x20000u
#define FORGED_ARENA (1u << 20) /* where it begins, and its size from 3.10 on */
#define FORGED_POOLS 8
#define FORGED_SESSIONS 5
#define FORGED_DESCRIBED 0x030d /* 3.13 and later versions */
/* In the data of the module. */
#define FORGED_INTERPRETER (FORGED_BASE + 0xa000)
#define FORGED_THREAD (FORGED_BASE + 0xc000)
#define FORGED_STATE (FORGED_BASE + 0xc400) /* of obmalloc */
#define FORGED_FRAME (FORGED_BASE + 0xd000)
#define FORGED_CODE_AT (FORGED_BASE + 0xe000)

enum forged_symbol {
	FORGED_RUNTIME,
	FORGED_VERSION,
	FORGED_TYPE,
	FORGED_SET,
	FORGED_MODULE,
	FORGED_STR,
	FORGED_DICT,
	FORGED_LIST,
	FORGED_TUPLE,
	FORGED_CODE,
	FORGED_GENERATOR,
	FORGED_FRAMES,
	FORGED_SYMBOLS_
};

struct forged {
	struct forged_memory memory;
	const struct cpython_layout *layout;
	uint64_t pools, symbols[FORGED_SYMBOLS_];
	uint64_t last_listed; /* by the collector; 0: none yet */
	uint64_t session_type, sessions, names, free_session, requested;
	uint64_t small_set, large_set, deque; /* of forged_containers() */
	uint64_t slim;			      /* its block */
	uint64_t generator;
	struct {
		uint64_t address;
		uint32_t block, used, freed;
	} pool_of[FORGED_POOLS];
	uint32_t pool_count;
};

static inline void forged_put_at(uint64_t address, size_t offset, uint64_t word)
{
	memcpy((void *)(uintptr_t)(address + offset), &word, sizeof(word));
}

static inline void forged_put_half(uint64_t address, size_t offset, uint32_t half)
{
	memcpy((void *)(uintptr_t)(address + offset), &half, sizeof(half));
}

/* A block of a pool of that size class, which is begun with the first one. */
static inline uint64_t forged_block(struct forged *forged, uint32_t size)
{
	uint32_t block = (size + 15) / 16 * 16, i = 0;
	uint64_t address, pool;

	while (i < forged->pool_count && forged->pool_of[i].block != block)
		i++;
	pool = forged->pools + (uint64_t)i * forged->layout->pool_bytes;
	if (i == forged->pool_count) {
		forged->pool_of[forged->pool_count++].block = block;
		forged->pool_of[i].address = pool;
		forged_put_half(pool, 36, block / 16 - 1);
		forged_put_half(pool, 44, forged->layout->pool_bytes - block);
	}
	address = pool + 48 + (uint64_t)block * forged->pool_of[i].used++;
	forged_put_half(pool, 0, forged->pool_of[i].used - forged->pool_of[i].freed);
	forged_put_half(pool, 40, 48 + block * forged->pool_of[i].used);
	return address;
}

/* Into the one list of the collector's. */
static inline void forged_list(struct forged *forged, uint64_t links)
{
	uint64_t head = forged->memory.base + 0xf100;

	forged->last_listed = forged->last_listed ? forged->last_listed : head;
	forged_put_at(forged->last_listed, 0, links);
	forged_put_at(links, 0, head);
	forged_put_at(links, 8, forged->last_listed);
	forged_put_at(head, 8, links);
	forged->last_listed = links;
}

static inline uint64_t forged_object(struct forged *forged, uint64_t type, uint32_t size,
				     bool collected)
{
	uint64_t address = forged_block(forged, size + (collected ? 16 : 0));

	if (collected)
		forged_list(forged, address);
	address += collected ? 16 : 0;
	forged_put_at(address, OBJECT_REFCOUNT, 2);
	forged_put_at(address, OBJECT_TYPE, type);
	return address;
}

static inline uint64_t forged_symbol(const struct forged *forged, enum forged_symbol symbol)
{
	return forged->symbols[symbol];
}

/* Interned, of ASCII letters. */
static inline uint64_t forged_str(struct forged *forged, const char *text)
{
	uint32_t head = forged->layout->ascii_bytes;
	uint64_t address = forged_object(forged, forged_symbol(forged, FORGED_STR),
					 (uint32_t)(head + strlen(text) + 1), false);

	forged_put_at(address, OBJECT_SIZE, strlen(text));
	forged_put_half(address, 32, 1u | 1u << 2 | 1u << 5 | 1u << 6);
	memcpy((void *)(uintptr_t)(address + head), text, strlen(text) + 1);
	return address;
}

/* Keys of up to five entries; returns their address, *entries that of the first one. */
static inline uint64_t forged_keys(struct forged *forged, size_t count, uint64_t *entries)
{
	bool old = forged->layout->old_keys;
	uint64_t keys = forged_block(forged, old ? 40 + 8 + 5 * 24 : 32 + 8 + 5 * 16);

	forged_put_at(keys, 0, 1);
	if (old) {
		forged_put_at(keys, 8, 8);
		forged_put_at(keys, 32, count);
	} else {
		((unsigned char *)(uintptr_t)keys)[8] = 3;
		((unsigned char *)(uintptr_t)keys)[9] = 3;
		((unsigned char *)(uintptr_t)keys)[10] = 1; /* names only, without hashes */
		forged_put_at(keys, 24, count);
	}
	*entries = keys + (old ? 40 + 8 + 8 : 32 + 8);
	return keys;
}

static inline uint64_t forged_dict(struct forged *forged, const uint64_t (*entries)[2],
				   size_t count)
{
	uint64_t dict = forged_object(forged, forged_symbol(forged, FORGED_DICT), 48, true);
	uint64_t at, keys = forged_keys(forged, count, &at);

	for (size_t i = 0; i < count; i++) {
		forged_put_at(at, 0, entries[i][0]);
		forged_put_at(at, 8, entries[i][1]);
		at += forged->layout->old_keys ? 24 : 16;
	}
	forged_put_at(dict, 16, count);
	forged_put_at(dict, 32, keys);
	return dict;
}

static inline void forged_type(const struct forged *forged, uint64_t type, const char *name,
			       uint64_t flags, uint64_t basicsize, uint64_t itemsize)
{
	uint64_t text = type + 0x300;

	memcpy((void *)(uintptr_t)text, name, strlen(name) + 1);
	/* Immortal, compiled: flags share the word of the count. */
	forged_put_at(type, OBJECT_REFCOUNT,
		      forged->layout->flagged_counts ? 5ull << 48 | 3ull << 30 : 7);
	forged_put_at(type, OBJECT_TYPE, forged_symbol(forged, FORGED_TYPE));
	forged_put_at(type, TYPE_NAME, text);
	forged_put_at(type, TYPE_BASICSIZE, basicsize);
	forged_put_at(type, TYPE_ITEMSIZE, itemsize);
	forged_put_at(type, TYPE_FLAGS, flags | FLAG_READY);
}

static inline void forged_make_symbols(struct forged *forged)
{
	/* Before 3.11, the version is in the program's name. */
	const char *version = forged->layout->version >= 0x030b ? "Py_Version" : "Py_No_Version";
	const struct {
		const char *name;
		uint64_t offset;
	} symbols[FORGED_SYMBOLS_] = {
		[FORGED_RUNTIME] = {"_PyRuntime", 0x1000},
		[FORGED_VERSION] = {version, 0x2000},
		[FORGED_TYPE] = {"PyType_Type", 0x3000},
		[FORGED_SET] = {"PySet_Type", 0x4000},
		[FORGED_MODULE] = {"PyModule_Type", 0x5000},
		[FORGED_STR] = {"PyUnicode_Type", 0x6000},
		[FORGED_DICT] = {"PyDict_Type", 0x7000},
		[FORGED_LIST] = {"PyList_Type", 0x8000},
		[FORGED_TUPLE] = {"PyTuple_Type", 0x9000},
		[FORGED_CODE] = {"PyCode_Type", 0x9800},
		/* In the interpreter's space for other types. */
		[FORGED_GENERATOR] = {"PyGen_Type", 0xb000},
		[FORGED_FRAMES] = {"PyFrame_Type", 0xb800},
	};

	for (size_t i = 0; i < FORGED_SYMBOLS_; i++)
		forged->symbols[i] = forged_memory_symbol(&forged->memory, symbols[i].name,
							  symbols[i].offset, 8);
}

static inline void forged_types(struct forged *forged)
{
	const struct {
		enum forged_symbol symbol;
		const char *name;
		uint64_t flags, basicsize, itemsize;
	} types[] = {
		{FORGED_TYPE, "type", FLAG_TYPE | FLAG_COLLECTED, 880, 40},
		{FORGED_SET, "set", FLAG_COLLECTED, 200, 0},
		{FORGED_MODULE, "module", FLAG_COLLECTED, 56, 0},
		{FORGED_STR, "str", FLAG_STR, 72, 0},
		{FORGED_DICT, "dict", FLAG_DICT | FLAG_COLLECTED, 48, 0},
		{FORGED_LIST, "list", FLAG_LIST | FLAG_COLLECTED, 40, 0},
		{FORGED_TUPLE, "tuple", FLAG_TUPLE | FLAG_COLLECTED, forged->layout->tuple_items,
		 8},
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		forged_type(forged, forged_symbol(forged, types[i].symbol), types[i].name,
			    types[i].flags, types[i].basicsize, types[i].itemsize);
}

static inline void forged_arena(struct forged *forged)
{
	const struct cpython_layout *layout = forged->layout;
	uint64_t objects = forged_memory_malloc(&forged->memory, 2 * 48), pool = layout->pool_bytes;
	uint64_t arena = forged->memory.base + FORGED_ARENA, state;

	forged->pools = (arena + pool - 1) / pool * pool;
	forged_put_at(objects, 0, arena);
	forged_put_at(objects, 8, forged->pools + FORGED_POOLS * pool);
	forged_put_half(objects, 16, 40);
	forged_put_half(objects, 20, forged->pools == arena ? 64 : 63);
	/* The second one is the last unused one. The variable has no symbol. */
	if (layout->arenas == ARENAS_IN_VARIABLE) {
		forged_put_at(forged->memory.base, 0xf000, objects);
		return;
	}
	state = FORGED_INTERPRETER + layout->obmalloc;
	if (layout->arenas == ARENAS_BY_INTERPRETER) {
		forged_put_at(state, 0, FORGED_STATE);
		state = FORGED_STATE;
	}
	forged_put_at(state, 512, objects);
	forged_put_half(state, 520, 2);
}

/* class Session, in module app. */
static inline void forged_session_type(struct forged *forged)
{
	uint64_t module[1][2] = {{forged_str(forged, "__module__"), forged_str(forged, "app")}};
	uint64_t type = forged_memory_malloc(&forged->memory, 16 + 904 + 64) + 16;

	forged_list(forged, type - 16);
	forged_type(forged, type, "Session", FLAG_COLLECTED | FLAG_HEAP_TYPE, 32, 0);
	forged_put_at(type, TYPE_DICT, forged_dict(forged, module, 1));
	forged_put_at(type, TYPE_DICTOFFSET, 24);
	forged_put_at(type, forged->layout->qualname, forged_str(forged, "Session"));
	forged->session_type = type;
}

static inline uint64_t forged_session(struct forged *forged)
{
	uint64_t attributes[1][2] = {{forged->names, forged_str(forged, "value")}};
	uint64_t session = forged_object(forged, forged->session_type, 32, true);

	forged_put_at(session, 24, forged_dict(forged, attributes, 1));
	return session;
}

static inline void forged_sessions(struct forged *forged)
{
	uint64_t items = forged_memory_malloc(&forged->memory, 600);
	uint64_t freed, dead, list;

	forged->names = forged_str(forged, "name");
	list = forged_object(forged, forged_symbol(forged, FORGED_LIST), 40, true);
	for (size_t i = 0; i < FORGED_SESSIONS; i++)
		forged_put_at(items, i * 8, forged_session(forged));
	forged->requested = *(uint64_t *)(uintptr_t)items;
	forged_put_at(list, 16, FORGED_SESSIONS);
	forged_put_at(list, 24, items);
	forged_put_at(list, 32, 75);
	forged->sessions = list;
	/* One in the pool's list of free blocks, one in a list of the type's. */
	freed = forged_object(forged, forged->session_type, 32, true);
	dead = forged_object(forged, forged->session_type, 32, true);
	forged_put_at(dead, OBJECT_REFCOUNT, 0);
	forged->free_session = freed - 16;
	for (uint32_t i = 0; i < forged->pool_count; i++) {
		if (forged->pool_of[i].block != 48)
			continue;
		forged_put_at(forged->pool_of[i].address, 8, freed - 16);
		forged_put_at(freed - 16, 0, 0);
		forged->pool_of[i].freed = 1;
		forged_put_half(forged->pool_of[i].address, 0, forged->pool_of[i].used - 1);
	}
}

static inline void forged_interpreter(struct forged *forged)
{
	const struct cpython_layout *layout = forged->layout;
	uint64_t runtime = forged_symbol(forged, FORGED_RUNTIME);
	uint64_t variables[1][2] = {{forged_str(forged, "sessions"), forged->sessions}};
	uint64_t app = forged_object(forged, forged_symbol(forged, FORGED_MODULE), 56, true);
	uint64_t modules[1][2] = {{forged_str(forged, "app"), app}};

	forged_put_at(app, 16, forged_dict(forged, variables, 1));
	forged_put_half(forged_symbol(forged, FORGED_VERSION), 0, layout->version << 16 | 0x02f0);
	forged_put_at(runtime, layout->interpreters, FORGED_INTERPRETER);
	forged_put_at(FORGED_INTERPRETER, layout->threads, FORGED_THREAD);
	forged_put_at(FORGED_INTERPRETER, layout->modules, forged_dict(forged, modules, 1));
	forged_put_at(FORGED_THREAD, 16, FORGED_INTERPRETER);
}

static inline uint64_t forged_tuple(struct forged *forged, uint64_t item)
{
	uint64_t tuple = forged_object(forged, forged_symbol(forged, FORGED_TUPLE), 48, true);

	forged_put_at(tuple, OBJECT_SIZE, 1);
	forged_put_at(tuple, forged->layout->tuple_items, item);
	return tuple;
}

/* An instruction of line 30, and two of line 32. */
static inline void forged_lines(uint64_t table, enum line_kind kind)
{
	static const struct {
		unsigned char bytes[6];
		uint64_t size;
	} lines[] = {
		[LINES_STEPS] = {{2, 2}, 2},
		[LINES_RANGES] = {{2, 0, 4, 2}, 4},
		[LINES_LOCATIONS] = {{0x80 | 10 << 3, 0, 0, 0x80 | 12 << 3 | 1, 0, 0}, 6},
	};

	forged_put_at(table, OBJECT_SIZE, lines[kind].size);
	memcpy((void *)(uintptr_t)(table + 32), lines[kind].bytes, lines[kind].size);
}

/* The function `handle` of app.py, with one variable. */
static inline void forged_code(struct forged *forged)
{
	const struct cpython_frames *layout = &forged->layout->frames;
	uint64_t code = FORGED_CODE_AT, table = code + 0x400;

	forged_put_at(code, OBJECT_REFCOUNT, 2);
	forged_put_at(code, OBJECT_TYPE, forged_symbol(forged, FORGED_CODE));
	forged_put_half(code, layout->first_line, 30);
	forged_put_half(code, layout->stack_size, 1);
	forged_put_at(code, layout->file, forged_str(forged, "/srv/app.py"));
	forged_put_at(code, layout->qualified ? layout->qualified : layout->name,
		      forged_str(forged, "Handler.get"));
	forged_put_at(code, layout->names[0], forged_tuple(forged, forged_str(forged, "request")));
	forged_put_at(code, layout->lines, table);
	forged_lines(table, layout->line_kind);
}

/* A running frame of the code object, at its second instruction, with a session as `request`. */
static inline void forged_put_frame(struct forged *forged, uint64_t frame)
{
	const struct cpython_frames *layout = &forged->layout->frames;
	uint64_t tag = layout->tags ? 1 : 0;

	forged_put_at(frame, layout->code, FORGED_CODE_AT | tag);
	if (layout->kind == FRAMES_OBJECTS)
		forged_put_half(frame, layout->instruction,
				layout->line_kind == LINES_STEPS ? 2 : 1);
	else
		forged_put_at(frame, layout->instruction, FORGED_CODE_AT + layout->bytecode + 2);
	if (layout->line_kind == LINES_STEPS)
		((unsigned char *)(uintptr_t)frame)[116] = 1;
	else if (!layout->top_is_address)
		forged_put_half(frame, layout->stack_top, UINT32_MAX);
	forged_put_at(frame, layout->locals, forged->requested | tag);
}

/* A thread that runs it. */
static inline void forged_frame(struct forged *forged)
{
	const struct cpython_frames *layout = &forged->layout->frames;
	uint64_t frame = FORGED_FRAME, current = frame + 0x200;

	forged_code(forged);
	forged_put_at(FORGED_THREAD, layout->frame, layout->current == NO_CFRAME ? frame : current);
	if (layout->current != NO_CFRAME)
		forged_put_at(current, layout->current, frame);
	forged_put_frame(forged, frame);
}

/* Makes a generator with the frame inside it, or up to 3.10 with the frame as a separate object. */
static inline void forged_generator(struct forged *forged)
{
	const struct cpython_frames *layout = &forged->layout->frames;
	bool objects = layout->kind == FRAMES_OBJECTS;
	uint64_t type = forged_symbol(forged, objects ? FORGED_FRAMES : FORGED_GENERATOR);
	uint32_t bytes = (objects ? 0 : layout->generator) + layout->locals + 2 * 8;

	forged_type(forged, type, objects ? "frame" : "generator", FLAG_COLLECTED, bytes - 16, 8);
	forged->generator = forged_object(forged, type, bytes, true);
	if (objects)
		forged_put_at(forged->generator, OBJECT_SIZE, 2);
	forged_put_frame(forged, forged->generator + (objects ? 0 : layout->generator));
}

/* A deque of two blocks, with three sessions in them, the first one at the end of its block. */
static inline void forged_deque(struct forged *forged, uint64_t type)
{
	const uint64_t *sessions = (const uint64_t *)(uintptr_t)forged_word(forged->sessions + 24);
	uint64_t left = forged_memory_malloc(&forged->memory, 528);
	uint64_t right = forged_memory_malloc(&forged->memory, 528);
	uint64_t deque = forged_object(forged, type, 208, true);

	forged_put_at(left, 8 + 63 * 8, sessions[0]);
	forged_put_at(left, 520, right);
	forged_put_at(right, 8, sessions[1]);
	forged_put_at(right, 16, sessions[2]);
	forged_put_at(right, 24, sessions[3]); /* is in it no more */
	forged_put_at(deque, 16, 3);
	forged_put_at(deque, 24, left);
	forged_put_at(deque, 32, right);
	forged_put_at(deque, 40, 63);
	forged_put_at(deque, 48, 1);
	forged_put_at(deque, 72, 1);
	forged_put_at(deque, 80, forged_memory_malloc(&forged->memory, 528));
	forged->deque = deque;
}

/* Sets with the first session in their own table, and with the second one in another; a deque; and
 * the results of an iterator, with the third one. */
static inline void forged_containers(struct forged *forged)
{
	const uint64_t *sessions = (const uint64_t *)(uintptr_t)forged_word(forged->sessions + 24);
	uint64_t deque_type = forged->memory.base + 0xf200, tee_type = deque_type + 0x400;
	uint64_t set_type = forged_symbol(forged, FORGED_SET);
	uint64_t table = forged_memory_malloc(&forged->memory, 32 * 16), tee;

	forged_type(forged, deque_type, "collections.deque", FLAG_COLLECTED, 208, 0);
	forged_type(forged, tee_type, "itertools._tee_dataobject", FLAG_COLLECTED, 496, 0);
	forged->small_set = forged_object(forged, set_type, 200, true);
	forged_put_at(forged->small_set, 32, 7);
	forged_put_at(forged->small_set, 40, forged->small_set + 64);
	forged_put_at(forged->small_set, 64 + 3 * 16, sessions[0]);
	forged->large_set = forged_object(forged, set_type, 200, true);
	forged_put_at(forged->large_set, 32, 31);
	forged_put_at(forged->large_set, 40, table);
	forged_put_at(forged->large_set, 64, sessions[0]); /* left from when it was small */
	forged_put_at(table, 30 * 16, sessions[1]);
	forged_deque(forged, deque_type);
	tee = forged_object(forged, tee_type, 496, true);
	forged_put_at(tee, 24, 1);
	forged_put_at(tee, 40, sessions[2]);
	forged_put_at(tee, 48, sessions[3]); /* not yet produced */
}

/* The class of forged_slim(), whose instances share the name `kept`. */
static inline uint64_t forged_slim_type(struct forged *forged)
{
	const struct cpython_layout *layout = forged->layout;
	uint64_t module[1][2] = {{forged_str(forged, "__module__"), forged_str(forged, "app")}};
	uint64_t type = forged_memory_malloc(&forged->memory, 16 + 904 + 64) + 16, at;
	uint64_t flags = layout->preheader_flags |
			 (layout->values == VALUES_INLINE ? FLAG_INLINE_VALUES : 0);

	forged_list(forged, type - 16);
	forged_type(forged, type, "Slim", FLAG_COLLECTED | FLAG_HEAP_TYPE | flags,
		    layout->values == VALUES_IN_DICT ? 24 : 16, 0);
	forged_put_at(type, TYPE_DICT, forged_dict(forged, module, 1));
	forged_put_at(type, TYPE_DICTOFFSET, layout->values == VALUES_IN_DICT ? 16 : 0);
	forged_put_at(type, layout->qualname, forged_str(forged, "Slim"));
	forged_put_at(type, layout->cached_keys, forged_keys(forged, 1, &at));
	forged_put_at(at, 0, forged_str(forged, "kept"));
	return type;
}

/* Its attributes are values without names, where this version has them. */
static inline void forged_values(struct forged *forged, uint64_t type, uint64_t slim)
{
	uint64_t values = forged_memory_malloc(&forged->memory, 32), dict;

	switch (forged->layout->values) {
	case VALUES_IN_DICT:
		dict = forged_dict(forged, NULL, 0);
		forged_put_at(dict, 16, 1);
		forged_put_at(dict, 32, forged_word(type + forged->layout->cached_keys));
		forged_put_at(dict, 40, values);
		forged_put_at(slim, 16, dict);
		break;
	case VALUES_BEFORE:
		forged_put_at(slim - 32, 0, values);
		break;
	case VALUES_TAGGED:
		forged_put_at(slim - 24, 0, values - 1);
		break;
	case VALUES_INLINE:
		((unsigned char *)(uintptr_t)slim)[16 + INLINE_CAPACITY] = 1;
		((unsigned char *)(uintptr_t)slim)[16 + INLINE_EMBEDDED] = 1;
		((unsigned char *)(uintptr_t)slim)[16 + INLINE_VALID] = 1;
		values = slim + 16 + INLINE_VALUES;
		break;
	}
	forged_put_at(values, 0, forged->requested);
}

/* An instance that has a session as `kept`. */
static inline void forged_slim(struct forged *forged)
{
	uint64_t type = forged_slim_type(forged), slim;
	uint32_t before = forged->layout->preheader_flags ? 32 : 16;

	slim = forged_block(forged, before + 16 + 24) + before;
	forged_list(forged, slim - 16);
	forged_put_at(slim, OBJECT_REFCOUNT, 2);
	forged_put_at(slim, OBJECT_TYPE, type);
	forged_values(forged, type, slim);
	forged->slim = slim - before;
}

/*
 * Makes a collector that is off, with two sessions in the ring of permanent objects; `back`: the
 * target of the second one's back link.
 */
static inline void forged_freeze_at(struct forged *forged, const struct cpython_collector *places,
				    uint64_t back)
{
	uint64_t collector = FORGED_INTERPRETER + forged->layout->collector;
	uint64_t ring = collector + places->permanent;
	uint64_t items = forged->memory.blocks[2];
	uint64_t one = ((uint64_t *)(uintptr_t)items)[0] - COLLECTOR_LINKS;
	uint64_t two = ((uint64_t *)(uintptr_t)items)[1] - COLLECTOR_LINKS;

	forged_put_at(collector, places->first, collector + places->generations);
	forged_put_at(ring, 0, one);
	forged_put_at(one, 0, two);
	forged_put_at(one, 8, ring);
	forged_put_at(two, 0, ring);
	forged_put_at(two, 8, back ? back : one);
	forged_put_at(ring, 8, two);
}

static inline void forged_freeze(struct forged *forged, uint64_t back)
{
	forged_freeze_at(forged, &forged->layout->collectors[0], back);
}

/* The part that fuzzers add. */
static inline void forged_more(struct forged *forged)
{
	forged_containers(forged);
	forged_slim(forged);
	forged_generator(forged);
	forged_freeze(forged, 0);
}

/* Describes the memory as the release of that version did. */
static inline void forged_describe(const struct forged *forged, uint32_t release)
{
	uint64_t runtime = forged_symbol(forged, FORGED_RUNTIME);

	if (forged->layout->version < FORGED_DESCRIBED)
		return;
	for (size_t i = 0; i < DESCRIBED_WORDS; i++) {
		uint64_t word = described_words[forged->layout->version - FORGED_DESCRIBED][i];

		if (word)
			forged_put_at(runtime, i * 8, word);
	}
	forged_put_at(runtime, 8, release);
}

/* Makes a program of that version: 0x030b is 3.11. Returns false when out of memory. */
static inline bool forged_make_layout(struct forged *forged, const struct cpython_layout *layout)
{
	static char path[32];
	unsigned version = layout ? layout->version : 0;

	*forged = (struct forged){.layout = layout};
	if (!forged->layout || !forged_memory_make(&forged->memory, FORGED_BASE, FORGED_BYTES,
						   FORGED_DATA, FORGED_MALLOC))
		return false;
	snprintf(path, sizeof(path), "/usr/bin/python3.%u", version & 0xff);
	forged_memory_name(&forged->memory, path);
	forged_make_symbols(forged);
	forged_types(forged);
	forged_arena(forged);
	forged_session_type(forged);
	forged_sessions(forged);
	forged_interpreter(forged);
	forged_frame(forged);
	for (uint32_t i = forged->pool_count; i < FORGED_POOLS; i++)
		forged_put_half(forged->pools + (uint64_t)i * forged->layout->pool_bytes, 36, 1);
	forged_describe(forged, version << 16 | 0x02f0);
	forged_memory_find_places(&forged->memory);
	return true;
}

static inline bool forged_make_version(struct forged *forged, unsigned version)
{
	return forged_make_layout(forged, cpython_layout(version));
}

static inline bool forged_make(struct forged *forged)
{
	return forged_make_version(forged, 0x030b);
}

#endif
