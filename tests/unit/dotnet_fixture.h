/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a small .NET 9, handmade in this process: classes Planted.Session, with the fields
 * Next and Payload and the static field Kept, Planted.Box<T> and Planted.Box<T>.Inner; an array of
 * sessions in that field, a boxed one in a pinned handle, one that awaits its finaliser. Used by a
 * unit test and a fuzzer, so it asserts nothing.
 */
#ifndef LEAKMON_UNIT_DOTNET_FIXTURE_H
#define LEAKMON_UNIT_DOTNET_FIXTURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary/arch/machine.h"
#include "heap/runtime/dotnet/dotnet.h"
#include "unit/forged_memory.h"

#define FORGED_BASE 0x200000000000ull
#define FORGED_BYTES (1u << 20)
#define FORGED_DATA 0x40000u /* of the module: the rest is heap */
#define FORGED_REGION 0x40000u
#define FORGED_REGION_BYTES 0x8000u
#define FORGED_SESSIONS 5
#define FORGED_GAP 0x180u /* memory that a thread has for objects to come */

/* Places of structures in the module's data. */
enum {
	AT_TABLE = 0x1000, /* g_dacTable */
	AT_DESCRIPTOR = 0x1400,
	AT_TEXT = 0x1500,
	AT_POINTERS = 0x1d00, /* of the descriptor; then their targets */
	AT_COLLECTOR = 0x2000,
	AT_FIELDS = 0x2200, /* of heaps and generations */
	AT_VALUES = 0x2300, /* of the collector's variables, 8 bytes each */
	AT_GENERATIONS = 0x2500,
	AT_SEGMENTS = 0x2800,
	AT_STORE = 0x3000, /* threads */
	AT_THREAD = 0x3200,
	AT_LOCALS = 0x3600,
	AT_DOMAIN = 0x3800,
	AT_ASSEMBLY = 0x4400,
	AT_MODULE = 0x4800,
	AT_MAP = 0x5000, /* of types */
	AT_QUEUE = 0x5400,
	AT_HANDLES = 0x5800, /* map, buckets, tables */
	AT_TYPES = 0x8000,   /* FORGED_TYPE_BYTES each */
	AT_BUDGETS = 0xb000, /* of generations, then their settings */
	AT_SETTINGS = 0xb800,
	AT_IMAGE = 0x10000,
	AT_SEGMENT = 0x20000,  /* of handles */
	AT_CODE_MAP = 0x28000, /* five levels, then the target of the last level */
	AT_FRAGMENT = 0x2b000,
	AT_SECTION = 0x2b080,
	AT_CODE_HEAP = 0x2b100,
	AT_NIBBLES = 0x2b200,
	AT_CODE_HEADERS = 0x2b400,
	AT_METHODS = 0x2b800, /* FORGED_CHUNK_BYTES for each class */
	AT_CODE = 0x30000,
};
#define FORGED_TYPE_BYTES 0x400
#define FORGED_ENTRY 8 /* of the collector, in g_dacTable */

enum forged_type {
	FORGED_FREE,
	FORGED_OBJECT,
	FORGED_SESSION,
	FORGED_SESSIONS_ARRAY,
	FORGED_BYTE,
	FORGED_BYTES_ARRAY,
	FORGED_BOX,
	FORGED_INNER,
	FORGED_PAIR,
	FORGED_PAIRS_ARRAY,
	FORGED_THREAD,
	FORGED_STRING,
	FORGED_TYPES_
};

struct forged {
	struct forged_memory memory;
	uint64_t heap_end;
	uint64_t sessions[FORGED_SESSIONS], array, pairs, box, finalised;
};

static inline void forged_put_at(uint64_t address, size_t offset, uint64_t word)
{
	memcpy((void *)(uintptr_t)(address + offset), &word, sizeof(word));
}

static inline void forged_put_half(uint64_t address, size_t offset, uint32_t half)
{
	memcpy((void *)(uintptr_t)(address + offset), &half, sizeof(half));
}

static inline void forged_put_short(uint64_t address, size_t offset, uint16_t number)
{
	memcpy((void *)(uintptr_t)(address + offset), &number, sizeof(number));
}

static inline uint64_t forged_table(const struct forged *forged, enum forged_type type)
{
	return forged->memory.base + AT_TYPES + (uint64_t)type * FORGED_TYPE_BYTES + 0x100;
}

/* Place of the static fields of Session: an array, as in the runtime. */
static inline uint64_t forged_statics(const struct forged *forged)
{
	return forged->memory.base + FORGED_REGION + 0x20;
}

/* Variables that the debuggers' table has around the collector's. */
static inline void forged_neighbours(const struct forged *forged)
{
	static const struct {
		int entry;
		uint32_t pointer; /* index in the descriptor's pointers */
	} neighbours[] = {{-4, 2}, {1, 1}, {37, 3}};
	uint64_t table = forged->memory.base + AT_TABLE + FORGED_ENTRY * 8,
		 pointers = forged->memory.base + AT_POINTERS;

	for (size_t i = 0; i < ARRAY_SIZE(neighbours); i++)
		forged_put_at(table + (uint64_t)(int64_t)neighbours[i].entry * 8, 0,
			      pointers + 64 + neighbours[i].pointer * 8);
	/* System.Object */
	forged_put_at(pointers, 64 + 4 * 8, forged_table(forged, FORGED_OBJECT));
	forged_put_at(table, 23 * 8ul, pointers + 64 + 4 * 8);
	forged_put_at(forged_table(forged, FORGED_FREE), 40, 0);
}

/* Writes the descriptor: only offsets that .NET 9 has elsewhere than expected, and movable ones. */
static inline void forged_descriptor(const struct forged *forged)
{
	static const char text[] =
		"{\"version\":0,\"types\":{"
		"\"Thread\":{\"RuntimeThreadLocals\":32,\"LinkNext\":[112,\"pointer\"],"
		"\"GCHandle\":304},"
		"\"ThreadStore\":{\"FirstThreadLink\":160,\"ThreadCount\":184},"
		"\"RuntimeThreadLocals\":{\"AllocContext\":[0,\"AllocContext\"]},"
		"\"GCAllocContext\":{\"Pointer\":0,\"Limit\":8},"
		"\"Module\":{\"Assembly\":312,\"Base\":288,\"DynamicMetadata\":1120,"
		"\"TypeDefToMethodTableMap\":624}},"
		"\"globals\":{\"AppDomain\":[[1],\"pointer\"],\"ThreadStore\":[[2],\"pointer\"],"
		"\"FreeObjectMethodTable\":[[3],\"pointer\"]}}";
	uint64_t at = forged->memory.base + AT_DESCRIPTOR,
		 pointers = forged->memory.base + AT_POINTERS;
	const uint64_t values[] = {0, forged->memory.base + AT_DOMAIN,
				   forged->memory.base + AT_STORE,
				   forged_table(forged, FORGED_FREE)};

	memcpy((void *)(uintptr_t)(forged->memory.base + AT_TEXT), text, sizeof(text));
	forged_put_at(at, 0, 0x0043414443434e44ull);
	forged_put_half(at, 8, 1);
	forged_put_half(at, 12, sizeof(text) - 1);
	forged_put_at(at, 16, forged->memory.base + AT_TEXT);
	forged_put_half(at, 24, 4);
	forged_put_at(at, 32, pointers);
	for (size_t i = 0; i < 4; i++) {
		forged_put_at(pointers, i * 8, pointers + 64 + i * 8);
		forged_put_at(pointers, 64 + i * 8, values[i]);
	}
}

static inline void forged_collector(const struct forged *forged)
{
	uint64_t collector = forged->memory.base + AT_COLLECTOR,
		 values = forged->memory.base + AT_VALUES;

	forged_put_at(forged->memory.base + AT_TABLE, FORGED_ENTRY * 8, values + 0x1f8);
	forged_put_at(values, 0x1f8, collector);
	forged_put_at(collector, 8, 64);
	forged_put_at(collector, 16, DOTNET_GENERATIONS);
	for (size_t i = 0; i < 32; i++)
		forged_put_at(collector, 24 + i * 8, values + i * 8);
	forged_put_at(collector, 24 + COLLECTOR_TABLE * 8, forged->memory.base + AT_GENERATIONS);
	forged_put_at(collector, 24 + COLLECTOR_HEAP_LIST * 8, 0);
	forged_put_at(collector, 24 + COLLECTOR_HANDLES * 8, forged->memory.base + AT_HANDLES);
	forged_put_at(collector, 24 + COLLECTOR_HEAP_FIELDS * 8, forged->memory.base + AT_FIELDS);
	forged_put_at(collector, 24 + COLLECTOR_GENERATION_FIELDS * 8,
		      forged->memory.base + AT_FIELDS + 128);
	forged_put_half(forged->memory.base + AT_FIELDS, 128 + 4, 8); /* start_segment */
	forged_put_at(values, COLLECTOR_EPHEMERAL * 8, forged->memory.base + AT_SEGMENTS);
	forged_put_at(values, COLLECTOR_QUEUE * 8, forged->memory.base + AT_QUEUE);
}

/*
 * Makes a type, with its EEClass after it. `row`: of its name; 0: an array of components of `item`.
 */
static inline void forged_type(const struct forged *forged, enum forged_type type, uint32_t row,
			       uint32_t flags, uint32_t base_size, enum forged_type item)
{
	uint64_t table = forged_table(forged, type), class = table + 0x100;

	forged_put_half(table, 0, flags);
	forged_put_half(table, 4, base_size);
	forged_put_half(table, 8, row << 8);
	forged_put_at(table, 24, forged->memory.base + AT_MODULE);
	forged_put_at(table, 40, class);
	forged_put_at(table, 48, row ? 0 : forged_table(forged, item));
	forged_put_at(class, 16, table);
	if (type != FORGED_OBJECT && row)
		forged_put_at(table, 16, forged_table(forged, FORGED_OBJECT));
}

/* One run of references, `words` of them from `start` on; 0: an array's components. */
static inline void forged_series(const struct forged *forged, enum forged_type type, uint64_t start,
				 uint64_t words, uint32_t base_size)
{
	uint64_t table = forged_table(forged, type);

	forged_put_at(table - 8, 0, 1);
	forged_put_at(table - 16, 0, start);
	forged_put_at(table - 24, 0, words * 8 - base_size);
}

/* The n-th field of a class: an object reference. */
static inline void forged_field(const struct forged *forged, enum forged_type type, size_t n,
				uint32_t token, uint32_t offset, bool is_static)
{
	uint64_t class = forged_table(forged, type) + 0x100, list = class + 0x80;

	forged_put_at(class, 24, list);
	forged_put_at(list + n * 16, 8,
		      token | (uint64_t)is_static << 24 | (uint64_t)offset << 32 | 0x12ull << 59);
}

static inline void forged_types(const struct forged *forged)
{
	uint64_t session = forged_table(forged, FORGED_SESSION);
	uint64_t box = forged_table(forged, FORGED_BOX), pairs;

	forged_type(forged, FORGED_FREE, 1, 0x80000001u, 24, 0);
	forged_type(forged, FORGED_OBJECT, 1, 0, 24, 0);
	forged_type(forged, FORGED_SESSION, 2, TABLE_POINTERS, 32, 0);
	forged_series(forged, FORGED_SESSION, 8, 2, 32);
	forged_field(forged, FORGED_SESSION, 0, 1, 0, false);
	forged_field(forged, FORGED_SESSION, 1, 2, 8, false);
	forged_field(forged, FORGED_SESSION, 2, 3, 0, true);
	forged_put_short(session + 0x100, 50, 2);
	forged_put_short(session + 0x100, 54, 1);
	/* MethodTableAuxiliaryData, and before it where static fields are. */
	forged_put_at(session, 32, session + 0x2c0);
	forged_put_at(session, 0x2c0 - 8, session);
	forged_put_at(session, 0x2c0 - 24, forged_statics(forged) | 1);
	forged_type(forged, FORGED_SESSIONS_ARRAY, 0,
		    TABLE_COMPONENTS | TABLE_POINTERS | TABLE_ARRAY | TABLE_VECTOR | 8, 24,
		    FORGED_SESSION);
	forged_series(forged, FORGED_SESSIONS_ARRAY, 16, 0, 24);
	forged_type(forged, FORGED_BYTE, 6, 0, 24, 0);
	forged_type(forged, FORGED_BYTES_ARRAY, 0, TABLE_COMPONENTS | TABLE_ARRAY | 1, 24,
		    FORGED_BYTE);
	forged_put_half(forged_table(forged, FORGED_BYTES_ARRAY) + 0x100, 72, 3);
	/* Box<Session>: one list for each base class precedes its arguments. */
	forged_type(forged, FORGED_BOX, 3, TABLE_POINTERS | 0x10, 24, 0);
	forged_series(forged, FORGED_BOX, 8, 1, 24);
	forged_put_at(box, 48, box + 0x60);
	forged_put_at(box, 0x58, 1ull << 32 | 1ull << 48);
	forged_put_at(box, 0x60, box + 0x70);
	forged_put_at(box, 0x70, session);
	forged_type(forged, FORGED_INNER, 4, 0x10, 24, 0);
	memcpy((void *)(uintptr_t)(forged_table(forged, FORGED_INNER) + 48),
	       (void *)(uintptr_t)(box + 48), 8);
	/* struct Pair { object Left; long Number; object Right; } */
	forged_type(forged, FORGED_PAIR, 5, TABLE_POINTERS, 40, 0);
	forged_type(forged, FORGED_PAIRS_ARRAY, 0,
		    TABLE_COMPONENTS | TABLE_POINTERS | TABLE_ARRAY | TABLE_VECTOR | 24, 24,
		    FORGED_PAIR);
	pairs = forged_table(forged, FORGED_PAIRS_ARRAY);
	forged_put_at(pairs - 8, 0, -2ull);
	forged_put_at(pairs - 16, 0, 16);
	forged_put_at(pairs - 24, 0, 1 | 8ull << 32);
	forged_put_at(pairs - 32, 0, 1);
	forged_type(forged, FORGED_THREAD, 7, TABLE_POINTERS, 24, 0);
	forged_series(forged, FORGED_THREAD, 8, 1, 24);
	forged_field(forged, FORGED_THREAD, 0, 4, 0, false);
	forged_put_short(forged_table(forged, FORGED_THREAD) + 0x100, 50, 1);
	forged_type(forged, FORGED_STRING, 8, TABLE_COMPONENTS | 2, 22, 0);
}

/* Makes an image with metadata; its row numbers are those of forged_types() and forged_field(). */
static inline void forged_image(const struct forged *forged)
{
	static const char strings[] =
		"\0Object\0System\0Session\0Planted\0Box`1\0Inner\0Pair\0Byte\0"
		"Next\0<Payload>k__BackingField\0Kept\0_name\0Thread\0System.Threading\0String\0"
		"Leak\0Step\0Fill";
	/* Names: 1, 8 System, 15, 23 Planted, 31, 37, 43, 48; fields 53, 58, 83, 88. */
	static const uint16_t types[][2] = {{1, 8},   {15, 23}, {31, 23},  {37, 0},
					    {43, 23}, {48, 8},	{94, 101}, {118, 8}};
	static const uint16_t fields[] = {53, 58, 83, 88};
	/* Session has two, Box one. */
	static const uint16_t methods[] = {125, 130, 135};
	static const uint16_t first_methods[] = {1, 1, 3, 4, 4, 4, 4, 4};
	uint64_t image = forged->memory.base + AT_IMAGE, metadata = image + 0x400, tables, at;

	forged_put_short(image, 0, 0x5a4d);
	forged_put_half(image, 60, 0x80);
	forged_put_half(image, 0x80, 0x4550);
	forged_put_short(image, 0x80 + 24, 0x20b);
	forged_put_half(image, 0x80 + 24 + 112 + 14 * 8, 0x300);
	forged_put_half(image, 0x300 + 8, 0x400);
	forged_put_half(metadata, 0, 0x424a5342);
	forged_put_half(metadata, 12, 4); /* bytes of the version's text */
	forged_put_short(metadata, 22, 2);
	forged_put_half(metadata, 24, 0x100);
	forged_put_half(metadata, 28, 0x200);
	forged_put_half(metadata, 32, 0x7e23); /* "#~" */
	forged_put_half(metadata, 36, 0x400);
	forged_put_half(metadata, 40, sizeof(strings));
	forged_put_at(metadata, 44, 0x73676e6972745323ull); /* "#Strings" */
	memcpy((void *)(uintptr_t)(metadata + 0x400), strings, sizeof(strings));
	tables = metadata + 0x100;
	forged_put_at(tables, 8, 1ull << 2 | 1ull << 4 | 1ull << 6 | 1ull << 0x29);
	forged_put_half(tables, 24, ARRAY_SIZE(types));
	forged_put_half(tables, 28, ARRAY_SIZE(fields));
	forged_put_half(tables, 32, ARRAY_SIZE(methods));
	forged_put_half(tables, 36, 1);
	at = tables + 40;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++, at += 14) {
		forged_put_short(at, 4, types[i][0]);
		forged_put_short(at, 6, types[i][1]);
		forged_put_short(at, 12, first_methods[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++, at += 6)
		forged_put_short(at, 2, fields[i]);
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++, at += 14)
		forged_put_short(at, 8, methods[i]);
	forged_put_short(at, 0, 4); /* Inner in Box */
	forged_put_short(at, 2, 3);
}

/* A domain with one assembly with one module with one class that has static fields. */
static inline void forged_module(const struct forged *forged)
{
	uint64_t list = forged->memory.base + AT_DOMAIN + 0x100,
		 module = forged->memory.base + AT_MODULE;

	forged_put_half(list, 0, 1);
	forged_put_half(list, 8 + 8, 4);
	forged_put_at(list, 8 + 16, forged->memory.base + AT_ASSEMBLY);
	forged_put_at(forged->memory.base + AT_ASSEMBLY, 24, module);
	forged_put_at(module, 312, forged->memory.base + AT_ASSEMBLY);
	forged_put_at(module, 288, forged->memory.base + AT_IMAGE);
	forged_put_at(module, 624 + 8, forged->memory.base + AT_MAP);
	forged_put_half(module, 624 + 16, 3);
	forged_put_at(forged->memory.base + AT_MAP, 16, forged_table(forged, FORGED_SESSION));
}

static inline uint64_t forged_object(struct forged *forged, enum forged_type type, uint32_t count)
{
	uint64_t address = forged->heap_end, table = forged_table(forged, type), size;
	uint32_t flags, base_size;

	memcpy(&flags, (void *)(uintptr_t)table, 4);
	memcpy(&base_size, (void *)(uintptr_t)(table + 4), 4);
	size = base_size + (flags & TABLE_COMPONENTS ? (uint64_t)count * (flags & 0xffff) : 0);
	forged_put_at(address, 0, table);
	if (flags & TABLE_COMPONENTS)
		forged_put_half(address, 8, count);
	forged->heap_end = address + (size + 7) / 8 * 8;
	return address;
}

/* The object of the thread, and its name. */
static inline void forged_named(struct forged *forged)
{
	static const char name[] = "worker 12";
	uint64_t string = forged_object(forged, FORGED_STRING, sizeof(name) - 1);
	uint64_t handle = forged->memory.base + AT_LOCALS + 0x80;

	for (size_t i = 0; i < sizeof(name) - 1; i++)
		forged_put_short(string, 12 + i * 2, (uint16_t)name[i]);
	forged_put_at(handle, 0, forged_object(forged, FORGED_THREAD, 0));
	forged_put_at(forged_word(handle), 8, string);
	forged_put_at(forged->memory.base + AT_THREAD, 304, handle);
}

/* The container of Session's statics comes first. */
static inline void forged_objects(struct forged *forged)
{
	uint64_t gap;

	forged_object(forged, FORGED_SESSIONS_ARRAY, 4);
	forged->array = forged_object(forged, FORGED_SESSIONS_ARRAY, FORGED_SESSIONS);
	forged_put_at(forged_statics(forged), 0, forged->array);
	for (size_t i = 0; i < FORGED_SESSIONS; i++) {
		forged->sessions[i] = forged_object(forged, FORGED_SESSION, 0);
		forged_put_at(forged->array, 16 + i * 8, forged->sessions[i]);
		forged_put_at(forged->sessions[i], 16,
			      forged_object(forged, FORGED_BYTES_ARRAY, 100));
		if (i)
			forged_put_at(forged->sessions[i - 1], 8, forged->sessions[i]);
		if (i == 2)
			forged_object(forged, FORGED_FREE, 40);
	}
	/* A thread's allocation buffer may contain anything. */
	gap = forged->heap_end;
	memset((void *)(uintptr_t)gap, 0x5a, FORGED_GAP);
	forged_put_at(forged->memory.base + AT_LOCALS, 0, gap);
	forged_put_at(forged->memory.base + AT_LOCALS, 8, gap + FORGED_GAP - OBJECT_BYTES_MIN);
	forged->heap_end = gap + FORGED_GAP;
	forged->box = forged_object(forged, FORGED_BOX, 0);
	forged->pairs = forged_object(forged, FORGED_PAIRS_ARRAY, 3);
	for (size_t i = 0; i < 3; i++) {
		forged_put_at(forged->pairs, 16 + i * 24, forged_object(forged, FORGED_INNER, 0));
		forged_put_at(forged->pairs, 24 + i * 24, forged->sessions[0]); /* a number */
	}
	forged_put_at(forged->pairs, 16 + 16, forged->box);
	forged->finalised = forged_object(forged, FORGED_OBJECT, 0);
	forged_named(forged);
}

static inline void forged_regions(const struct forged *forged)
{
	uint64_t segment = forged->memory.base + AT_SEGMENTS,
		 region = forged->memory.base + FORGED_REGION;

	forged_put_at(forged->memory.base + AT_GENERATIONS, 8, segment);
	forged_put_at(segment, 0, region); /* the state at the last collection */
	forged_put_at(segment, 8, region + FORGED_REGION_BYTES);
	forged_put_at(segment, 32, region);
	forged_put_at(forged->memory.base + AT_VALUES, COLLECTOR_ALLOCATED * 8, forged->heap_end);
}

static inline void forged_threads(const struct forged *forged)
{
	uint64_t store = forged->memory.base + AT_STORE, thread = forged->memory.base + AT_THREAD;

	forged_put_at(store, 160, thread + 112);
	forged_put_half(store, 184, 1);
	forged_put_at(thread, 32, forged->memory.base + AT_LOCALS);
}

/* A table with one segment: a pinned handle of the box, a weak one of the first session, and a
 * dependent one, with its second object in the fourth block. */
static inline void forged_handles(const struct forged *forged)
{
	uint64_t map = forged->memory.base + AT_HANDLES, segment = forged->memory.base + AT_SEGMENT;
	uint64_t handles = segment + 4096, table = map + 0x200;

	forged_put_at(map, 0, map + 0x80);
	forged_put_at(map, 0x80, map + 0x100);
	forged_put_at(map, 0x100, map + 0x180);
	forged_put_at(map, 0x180, table);
	forged_put_at(table, 48, segment);
	memset((void *)(uintptr_t)(segment + 1560), 0xff, 360);
	((unsigned char *)(uintptr_t)segment)[1560] = 3;
	((unsigned char *)(uintptr_t)segment)[1561] = 0;
	((unsigned char *)(uintptr_t)segment)[1562] = 6;
	((unsigned char *)(uintptr_t)segment)[1680 + 2] = 3;
	forged_put_at(segment, 1920 + 12 * 6, 0);
	forged_put_at(segment, 1920 + 12 * 6 + 8, table);
	forged_put_at(handles, 0, forged->pairs);
	forged_put_at(handles, 64 * 8, forged->sessions[0]);
	forged_put_at(handles, 2 * 64 * 8ul + 8, forged->box);
	forged_put_at(handles, 3 * 64 * 8ul + 8, forged->sessions[4]);
}

static inline void forged_queue(const struct forged *forged)
{
	uint64_t queue = forged->memory.base + AT_QUEUE, list = queue + 0x100;

	/* The second session has one, too. */
	for (size_t i = 0; i < 6; i++)
		forged_put_at(queue, i * 8, list + 8);
	forged_put_at(queue, 6 * 8, list + 16);
	forged_put_at(queue, 7 * 8, list);
	forged_put_at(queue, 8 * 8, list + 0x80);
	forged_put_at(list, 0, forged->sessions[1]);
	forged_put_at(list, 8, forged->finalised);
}

/* Returns the address of a word in the collector's budget of a generation. */
static inline uint64_t forged_budget(const struct forged *forged, size_t generation, size_t word)
{
	return forged->memory.base + AT_BUDGETS + (generation * 21 + word) * 8;
}

/* Nine collections, of which two were of the whole heap. */
static inline void forged_budgets(const struct forged *forged)
{
	static const struct {
		uint64_t left, budget, kept, count, number, time, least;
	} generations[DOTNET_GENERATIONS] = {
		{70000, 100000, 1000, 9, 9, 3000000, 100000},
		{5000, 5000, 200, 4, 8, 2000000, 4096},
		{5000, 5000, 30000, 2, 5, 1000000, 4096},
		{100, 3000, 700, 2, 0, 1000, 3000},
		{(uint64_t)-50, 3000, 0, 2, 0, 1000, 3000},
	};

	for (size_t i = 0; i < DOTNET_GENERATIONS; i++) {
		uint64_t at = forged_budget(forged, i, 0);
		uint64_t settings = forged->memory.base + AT_SETTINGS + i * 56;

		forged_put_at(at, 0 * 8, generations[i].left);
		forged_put_at(at, 3 * 8, generations[i].budget);
		forged_put_at(at, 10 * 8, generations[i].kept);
		forged_put_at(at, 11 * 8, generations[i].count);
		forged_put_at(at, 15 * 8, generations[i].number);
		forged_put_at(at, 16 * 8, generations[i].time);
		forged_put_at(at, 19 * 8, generations[i].least);
		forged_put_at(at, 20 * 8, settings);
		forged_put_at(settings, 0, generations[i].least);
	}
}

/* Code that was compiled, by its offset in the heap; a long one covers units of the nibble map. */
enum forged_code {
	FORGED_CODE_LEAK = 0x40,
	FORGED_CODE_STEP = 0x148,
	FORGED_CODE_STUB = 0x900, /* none of a method */
	FORGED_CODE_FILL = 0xa00,
	FORGED_CODE_DYNAMIC = 0xb00,
	FORGED_CODE_END = 0xc00,
};
#define FORGED_CHUNK_BYTES 0x100
#define FORGED_STUB "IL_STUB_PInvoke"

/* The n-th method of a chunk: 16 bytes each. */
static inline uint64_t forged_method(const struct forged *forged, uint32_t chunk, uint32_t n)
{
	return forged->memory.base + AT_METHODS + chunk * FORGED_CHUNK_BYTES + 24 + n * 16;
}

static inline void forged_chunk(const struct forged *forged, uint32_t chunk, enum forged_type type,
				uint32_t first_token, uint32_t count)
{
	uint64_t at = forged->memory.base + AT_METHODS + chunk * FORGED_CHUNK_BYTES;

	forged_put_at(at, 0, forged_table(forged, type));
	forged_put_short(at, 16, (uint16_t)(count * 2 - 1));
	for (uint32_t i = 0; i < count; i++) {
		forged_put_short(forged_method(forged, chunk, i), 0, (uint16_t)(first_token + i));
		forged_put_short(forged_method(forged, chunk, i), 2, (uint16_t)(i * 2));
	}
}

static inline uint64_t forged_code(const struct forged *forged, uint32_t offset)
{
	return forged->memory.base + AT_CODE + offset;
}

/* A method that begins there. */
static inline void forged_compiled(const struct forged *forged, uint32_t offset, uint64_t method)
{
	uint64_t header = forged->memory.base + AT_CODE_HEADERS + offset / 0x40 * 0x10;

	forged_put_at(forged_code(forged, offset), -8ul, header);
	forged_put_at(header, 24, method);
	forged_put_half(header, 32, 1);
	forged_put_half(header, 36, offset);
}

/* Version 2 has pointers in the units that a method covers. */
static inline void forged_nibbles(const struct forged *forged, int version)
{
	static const uint32_t starts[] = {FORGED_CODE_LEAK, FORGED_CODE_STEP, FORGED_CODE_STUB,
					  FORGED_CODE_FILL, FORGED_CODE_DYNAMIC};
	uint64_t map = forged->memory.base + AT_NIBBLES;
	uint32_t units[FORGED_CODE_END / 256] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		units[starts[i] / 256] |= (starts[i] % 32 / 4 + 1) << (28 - starts[i] / 32 % 8 * 4);
	for (uint32_t i = FORGED_CODE_STEP / 256 + 1; version == 2 && i < FORGED_CODE_STUB / 256;
	     i++)
		units[i] = (FORGED_CODE_STEP & ~0xfu) | (9 + (FORGED_CODE_STEP & 0xf) / 4);
	memcpy((void *)(uintptr_t)map, units, sizeof(units));
}

static inline void forged_code_map(const struct forged *forged)
{
	uint64_t base = forged->memory.base, map = base + AT_CODE_MAP, code = base + AT_CODE;
	uint64_t heap = base + AT_CODE_HEAP, section = base + AT_SECTION;

	forged_put_at(base + AT_TABLE, 0, map);
	for (size_t level = 5; level-- > 0; map += 0x800)
		forged_put_at(map, (code >> (17 + 8 * level) & 0xff) * 8,
			      level ? map + 0x800 : (base + AT_FRAGMENT) | 1);
	forged_put_at(base + AT_FRAGMENT, 8, code);
	forged_put_at(base + AT_FRAGMENT, 16, code + 0x10000);
	forged_put_at(base + AT_FRAGMENT, 24, section);
	forged_put_at(section, 0, code);
	forged_put_at(section, 8, code + 0x10000);
	forged_put_half(section, 16, 2);
	forged_put_at(section, 40, heap);
	forged_put_at(heap, 16, code + 0x10);
	forged_put_at(heap, 24, code + FORGED_CODE_END);
	forged_put_at(heap, 32, code);
	forged_put_at(heap, 40, base + AT_NIBBLES);
}

/* Functions of the image's precompiled code. */
enum { FORGED_BEFORE_LEAK, FORGED_BEFORE_PART, FORGED_BEFORE_FILL, FORGED_BEFORE_OTHER };
static const uint32_t forged_before[][2] = {[FORGED_BEFORE_LEAK] = {0x2000, 0x2040},
					    [FORGED_BEFORE_PART] = {0x2040, 0x2080},
					    [FORGED_BEFORE_FILL] = {0x2100, 0x2180},
					    [FORGED_BEFORE_OTHER] = {0x2180, 0x2200}};
#define AT_BEFORE (AT_IMAGE + 0x1000)	      /* header, sections */
#define AT_BEFORE_METHODS (AT_IMAGE + 0x1200) /* an array of three */
#define FORGED_LAST_METHOD 8		      /* byte of it: the function of the third */

static inline void forged_precompiled(const struct forged *forged)
{
	/* The first method and the third; the second has no code. */
	static const uint8_t methods[] = {3 << 3,
					  1,
					  1 << 1,
					  1 << 1,
					  (3 << 2 | 3) << 1,
					  1 << 1,
					  0,
					  8 << 1,
					  (FORGED_BEFORE_FILL << 2 | 1) << 1};
	uint64_t base = forged->memory.base, image = base + AT_IMAGE, header = base + AT_BEFORE;
	uint64_t fragment = base + AT_FRAGMENT + 0x40, section = base + AT_SECTION + 0x40;

	forged_put_short(image, 0x84, MACHINE_PE ^ 0x7b79);
	forged_put_half(image, 0x300 + 64, AT_BEFORE - AT_IMAGE);
	forged_put_half(header, 0, 0x00525452);
	forged_put_half(header, 12, 2);
	forged_put_half(header, 16, 102);
	forged_put_half(header, 20, 0x1100);
	forged_put_half(header, 24, ARRAY_SIZE(forged_before) * MACHINE_PE_FUNCTION_BYTES);
	forged_put_half(header, 28, 103);
	forged_put_half(header, 32, AT_BEFORE_METHODS - AT_IMAGE);
	forged_put_half(header, 36, sizeof(methods));
	memcpy((void *)(uintptr_t)(base + AT_BEFORE_METHODS), methods, sizeof(methods));
	for (size_t i = 0; i < ARRAY_SIZE(forged_before); i++)
		memcpy((void *)(uintptr_t)(image + 0x1100 + i * MACHINE_PE_FUNCTION_BYTES),
		       forged_before[i], 8);
	forged_put_at(base + AT_CODE_MAP, 4 * 0x800 + (image >> 17 & 0xff) * 8, fragment);
	forged_put_at(fragment, 8, image);
	forged_put_at(fragment, 16, image + 0x8000);
	forged_put_at(fragment, 24, section);
	forged_put_at(section, 32, base + AT_MODULE);
}

static inline void forged_methods(const struct forged *forged)
{
	static const char stub[] = FORGED_STUB;
	uint64_t dynamic = forged_method(forged, 2, 0);

	forged_chunk(forged, 0, FORGED_SESSION, 1, 2);
	forged_chunk(forged, 1, FORGED_BOX, 3, 1);
	forged_chunk(forged, 2, FORGED_OBJECT, 0, 4);
	forged_put_short(dynamic, 6, 7);
	forged_put_at(dynamic, 32, dynamic + 64);
	memcpy((void *)(uintptr_t)(dynamic + 64), stub, sizeof(stub));
	forged_compiled(forged, FORGED_CODE_LEAK, forged_method(forged, 0, 0));
	forged_compiled(forged, FORGED_CODE_STEP, forged_method(forged, 0, 1));
	forged_compiled(forged, FORGED_CODE_FILL, forged_method(forged, 1, 0));
	forged_compiled(forged, FORGED_CODE_DYNAMIC, dynamic);
	forged_put_at(forged_code(forged, FORGED_CODE_STUB), -8ul, 3);
	forged_nibbles(forged, 1);
	forged_code_map(forged);
	forged_precompiled(forged);
}

/* False: no memory. */
static inline bool forged_make(struct forged *forged)
{
	static char path[] = "/usr/share/dotnet/libcoreclr.so";

	*forged = (struct forged){0};
	if (!forged_memory_make(&forged->memory, FORGED_BASE, FORGED_BYTES, FORGED_DATA, 0))
		return false;
	forged_memory_name(&forged->memory, path);
	forged_memory_symbol(&forged->memory, "g_dacTable", AT_TABLE, 8);
	forged_memory_symbol(&forged->memory, "DotNetRuntimeContractDescriptor", AT_DESCRIPTOR, 8);
	forged->heap_end = forged->memory.base + FORGED_REGION;
	forged_descriptor(forged);
	forged_collector(forged);
	forged_types(forged);
	forged_neighbours(forged);
	forged_image(forged);
	forged_module(forged);
	forged_objects(forged);
	forged_regions(forged);
	forged_threads(forged);
	forged_handles(forged);
	forged_queue(forged);
	forged_budgets(forged);
	forged_methods(forged);
	forged_memory_find_places(&forged->memory);
	return true;
}

/* It becomes a .NET 8, which has no descriptor, and other structures in part. */
static inline void forged_become_8(struct forged *forged)
{
	uint64_t base = forged->memory.base, module = base + AT_MODULE, thread = base + AT_THREAD;
	uint64_t table = base + AT_TABLE + FORGED_ENTRY * 8, file = module + 0x600, class;

	forged->memory.image.table.count = 1;
	forged_put_at(table, 20 * 8ul, base + AT_POINTERS + 64 + 4 * 8);
	forged_put_at(table, 23 * 8ul, 0);
	forged_put_at(base + AT_STORE, 160, thread + 0xe8);
	memcpy((void *)(uintptr_t)(thread + 0x58), (void *)(uintptr_t)(base + AT_LOCALS), 16);
	forged_put_at(module, 0x128, base + AT_ASSEMBLY);
	forged_put_at(module, 0x110, file);
	forged_put_at(file, 8, file + 0x20);	      /* image */
	forged_put_at(file + 0x20, 120, file + 0xb0); /* in its loaded form */
	forged_put_at(file + 0xb0, 8, base + AT_IMAGE);
	forged_put_at(module, 0x2f0 + 8, base + AT_MAP);
	forged_put_half(module, 0x2f0 + 16, 3);
	forged_put_at(module, 0x4c8, file + 0xc0);
	forged_put_at(file + 0xc0, 32, forged_statics(forged));
	for (int i = FORGED_OBJECT; i < FORGED_TYPES_; i++) {
		uint32_t row;

		table = forged_table(forged, (enum forged_type)i);
		memcpy(&row, (void *)(uintptr_t)(table + 8), sizeof(row));
		forged_put_half(table, 8, row << 8);
		forged_put_half(table + 0x100, 48, 0x380012);
	}
	forged_put_at(thread, 0x1b0, base + AT_LOCALS + 0x80);
	forged_put_half(forged_table(forged, FORGED_THREAD) + 0x100, 0x38, 1);
	class = forged_table(forged, FORGED_SESSION) + 0x100;
	forged_put_half(class, 0x38, 2);
	forged_put_half(class, 0x38 + 8, 1);
	forged_put_half(forged_table(forged, FORGED_BYTES_ARRAY) + 0x100, 56, 3);
}

#endif
