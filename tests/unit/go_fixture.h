/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a small program of Go 1.24: main.spawn has made workers, which wait in
 * runtime.gopark; one of the runtime's own waits as well, and one has ended.
 */
#ifndef LEAKMON_UNIT_GO_FIXTURE_H
#define LEAKMON_UNIT_GO_FIXTURE_H

#include "heap/runtime/go/go.h"
#include "heap/runtime/go/reader.h"
#include "heap/runtime/heap_sink.h"
#include "heap/runtime/runtime.h"
#include "unit/forged_memory.h"

#define FORGED_BASE 0x210000000000ull
#define FORGED_BYTES 0x30000u
#define FORGED_DATA 0x10000u /* of the program: the rest is heap */
#define FORGED_WORKERS 5
#define FORGED_TEXT 0x8000u
#define FORGED_CODE 0x100u /* bytes of each function */
#define FORGED_FRAME 16u   /* below the return address, the same in all */
#define FORGED_LINE 31u	   /* of all code */
#define FORGED_SINCE 5000000000ull
#define FORGED_PARKED 24 /* the wait reason "chan receive" */

enum forged_function {
	FORGED_MAIN,
	FORGED_WORKER,
	FORGED_GOPARK,
	FORGED_SPAWN, /* with main.block inlined into its second half */
	FORGED_GOEXIT,
	FORGED_SWEEP,
	FORGED_FUNCTIONS
};

/* Where the parts of the table of functions are. */
#define FORGED_INFO 0x1000u
#define FORGED_HEADER 0x2000u
#define FORGED_NAMES 0x2100u
#define FORGED_UNITS 0x2400u
#define FORGED_FILES 0x2500u
#define FORGED_VALUES 0x2600u
#define FORGED_RECORDS 0x2800u
#define FORGED_TABLE 0x3000u
#define FORGED_TREES 0x3400u
#define FORGED_STRINGS 0x3800u
/* Offsets of the program's variables. */
#define FORGED_VARIABLES 0x4000u
#define FORGED_MODULE 0x4100u
#define FORGED_REASONS 0x4800u
#define FORGED_ALLGS 0x5000u
#define FORGED_BUCKETS 0x5040u
#define FORGED_RATE 0x5048u
#define FORGED_CONTROLLER 0x5100u
#define FORGED_STATS 0x5400u
#define FORGED_VARIABLES_END 0x7800u
/* In the heap. */
#define FORGED_POINTERS 0x10000u
#define FORGED_G 0x11000u
#define FORGED_G_SIZE 440u
#define FORGED_STACKS 0x14000u
#define FORGED_PROFILE 0x20000u
#define FORGED_STACK_SIZE 0x800u

struct forged {
	struct forged_memory memory;
	uint64_t names_used, values_used, strings_used;
	uint64_t goroutines; /* how many g there are */
	uint64_t buckets;    /* how many were made */
};

static inline uint64_t forged_at(const struct forged *forged, uint64_t offset)
{
	return forged->memory.base + offset;
}

static inline void forged_put32(uint64_t address, uint32_t value)
{
	memcpy(forged_memory_place(address), &value, sizeof(value));
}

static inline void forged_put8(uint64_t address, uint8_t value)
{
	memcpy(forged_memory_place(address), &value, sizeof(value));
}

static inline uint64_t forged_code(const struct forged *forged, enum forged_function function)
{
	return forged_at(forged, FORGED_TEXT + FORGED_CODE * function);
}

static inline uint32_t forged_name(struct forged *forged, const char *name)
{
	uint32_t offset = (uint32_t)forged->names_used;

	forged_put_text(forged_at(forged, FORGED_NAMES + offset), name);
	forged->names_used += strlen(name) + 1;
	return offset;
}

/* A table that has `first` in the first half of a function, `second` in the other; both from -1 on,
 * and less than 60. */
static inline uint32_t forged_values(struct forged *forged, int first, int second)
{
	uint32_t offset = (uint32_t)forged->values_used;
	int step = second - first;
	const uint8_t bytes[] = {(uint8_t)((first + 1) * 2),
				 FORGED_CODE / 2 % 128 + 128,
				 FORGED_CODE / 2 / 128,
				 (uint8_t)(step < 0 ? -step * 2 - 1 : step * 2),
				 FORGED_CODE / 2 % 128 + 128,
				 FORGED_CODE / 2 / 128,
				 0};

	for (size_t i = 0; i < sizeof(bytes); i++)
		forged_put8(forged_at(forged, FORGED_VALUES + offset + i), bytes[i]);
	forged->values_used += sizeof(bytes);
	return offset;
}

/* Only the first run may have a change of 0. */
static inline uint32_t forged_value(struct forged *forged, int value)
{
	uint32_t offset = (uint32_t)forged->values_used;
	const uint8_t bytes[] = {(uint8_t)((value + 1) * 2), FORGED_CODE % 128 + 128,
				 FORGED_CODE / 128, 0};

	for (size_t i = 0; i < sizeof(bytes); i++)
		forged_put8(forged_at(forged, FORGED_VALUES + offset + i), bytes[i]);
	forged->values_used += sizeof(bytes);
	return offset;
}

/* The _func of one: four tables of values, as many data as have an inlined tree. */
static inline void forged_record(struct forged *forged, enum forged_function function,
				 const char *name, bool top)
{
	uint64_t record = forged_at(forged, FORGED_RECORDS + 0x80 * function);
	bool inlines = function == FORGED_SPAWN;

	forged_put32(record, FORGED_CODE * function);
	forged_put32(record + 4, forged_name(forged, name));
	forged_put32(record + 16, forged_value(forged, FORGED_FRAME));
	forged_put32(record + 20, forged_value(forged, 0));
	forged_put32(record + 24, forged_value(forged, FORGED_LINE));
	forged_put32(record + 28, 4);
	forged_put32(record + 32, 0);
	forged_put8(record + 41, top);
	forged_put8(record + 43, 4);
	if (inlines)
		forged_put32(record + 44 + 8, forged_values(forged, -1, 0));
	for (size_t i = 0; i < 4; i++)
		forged_put32(record + 44 + 16 + i * 4, inlines && i == 3 ? 0 : UINT32_MAX);
	forged_put32(forged_at(forged, FORGED_TABLE + 8 * function), FORGED_CODE * function);
	forged_put32(forged_at(forged, FORGED_TABLE + 8 * function + 4), 0x80 * function);
}

static inline void forged_functions(struct forged *forged)
{
	static const char *const names[FORGED_FUNCTIONS] = {
		[FORGED_MAIN] = "runtime.main",	    [FORGED_WORKER] = "main.worker",
		[FORGED_GOPARK] = "runtime.gopark", [FORGED_SPAWN] = "main.spawn",
		[FORGED_GOEXIT] = "runtime.goexit", [FORGED_SWEEP] = "runtime.bgsweep"};
	uint64_t header = forged_at(forged, FORGED_HEADER);

	forged->values_used = forged->names_used = 1; /* 0 means none */
	for (size_t i = 0; i < FORGED_FUNCTIONS; i++)
		forged_record(forged, i, names[i], i == FORGED_GOEXIT);
	forged_put32(forged_at(forged, FORGED_TABLE + 8 * FORGED_FUNCTIONS),
		     FORGED_CODE * FORGED_FUNCTIONS);
	/* main.block, called in the first half of main.spawn. */
	forged_put32(forged_at(forged, FORGED_TREES + 4), forged_name(forged, "main.block"));
	forged_put32(forged_at(forged, FORGED_TREES + 8), 8);
	forged_put_text(forged_at(forged, FORGED_FILES), "/src/app/main.go");
	forged_put(header, 0x08010000fffffff1ull);
	forged_put(header + 8, FORGED_FUNCTIONS);
}

static inline void forged_slice(uint64_t address, uint64_t start, uint64_t count, uint64_t room)
{
	forged_put(address, start);
	forged_put(address + 8, count);
	forged_put(address + 16, room);
}

static inline void forged_module(struct forged *forged)
{
	uint64_t module = forged_at(forged, FORGED_MODULE);
	static const struct {
		uint32_t word, start, size;
	} parts[] = {
		{1, FORGED_NAMES, FORGED_UNITS - FORGED_NAMES},
		{4, FORGED_UNITS, 4},
		{7, FORGED_FILES, FORGED_VALUES - FORGED_FILES},
		{10, FORGED_VALUES, FORGED_RECORDS - FORGED_VALUES},
		{13, FORGED_RECORDS, FORGED_TABLE - FORGED_RECORDS},
		{16, FORGED_TABLE, FORGED_FUNCTIONS + 1},
	};

	forged_put(module, forged_at(forged, FORGED_HEADER));
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		forged_slice(module + 8ull * parts[i].word, forged_at(forged, parts[i].start),
			     parts[i].size, parts[i].size);
	forged_put(module + 160, forged_code(forged, 0));
	forged_put(module + 168, forged_code(forged, FORGED_FUNCTIONS));
	forged_put(module + 176, forged_code(forged, 0));
	forged_put(module + 184, forged_code(forged, FORGED_FUNCTIONS));
	for (size_t i = 0; i < 4; i++) {
		forged_put(module + 192 + i * 16, forged_at(forged, FORGED_VARIABLES + 0xe00 * i));
		forged_put(module + 200 + i * 16,
			   forged_at(forged, FORGED_VARIABLES + 0xe00 * (i + 1)));
	}
	forged_put(module + 320, forged_at(forged, FORGED_TREES));
}

static inline uint64_t forged_string(struct forged *forged, uint64_t address, const char *text)
{
	uint64_t at = forged_at(forged, FORGED_STRINGS + forged->strings_used);

	forged_put_text(at, text);
	forged_put(address, at);
	forged_put(address + 8, strlen(text));
	forged->strings_used += strlen(text) + 1;
	return at;
}

static inline void forged_reasons(struct forged *forged)
{
	uint64_t reasons = forged_at(forged, FORGED_REASONS);

	forged_string(forged, reasons + 16, "GC assist marking");
	forged_string(forged, reasons + 32, "IO wait");
	forged_string(forged, reasons + 16ull * FORGED_PARKED, "chan receive");
	forged_string(forged, reasons + 16ull * (FORGED_PARKED + 1), "GC sweep wait");
}

/* A goroutine that waits in runtime.gopark, called by a function at the bottom of its stack. The
 * return address is above a frame, or where it begins. */
static inline uint64_t forged_goroutine(struct forged *forged, enum forged_function start,
					enum forged_function creator, uint32_t state)
{
	uint64_t n = forged->goroutines++;
	uint64_t g = forged_at(forged, FORGED_G + FORGED_G_SIZE * n);
	uint64_t low = forged_at(forged, FORGED_STACKS + FORGED_STACK_SIZE * n);
	uint64_t high = low + FORGED_STACK_SIZE, sp = high - 3 * (FORGED_FRAME + 8);
	const uint64_t above = machine_frame.return_words ? 8 : 0;
	uint64_t returns = above ? sp + FORGED_FRAME : sp;

	forged_put(forged_at(forged, FORGED_POINTERS + 8 * n), g);
	forged_put(g, low);
	forged_put(g + 8, high);
	forged_put(g + 56, sp);
	forged_put(g + 64, forged_code(forged, FORGED_GOPARK) + 0x20);
	forged_put(g + 72, g);
	forged_put32(g + 152, state);
	forged_put(g + 160, n + 1);
	forged_put(g + 176, FORGED_SINCE);
	forged_put8(g + 184, start == FORGED_SWEEP ? FORGED_PARKED + 1 : FORGED_PARKED);
	forged_put(g + 288, forged_code(forged, creator) + 0x20);
	forged_put(g + 304, forged_code(forged, start));
	forged_put(returns, forged_code(forged, start) + 0x40);
	forged_put(returns + FORGED_FRAME + above, forged_code(forged, FORGED_GOEXIT) + 1);
	return g;
}

static inline void forged_goroutines(struct forged *forged)
{
	forged_goroutine(forged, FORGED_MAIN, FORGED_MAIN, 4);
	for (size_t i = 0; i < FORGED_WORKERS; i++)
		forged_goroutine(forged, FORGED_WORKER, FORGED_SPAWN, i ? 4 : 0x1004);
	forged_goroutine(forged, FORGED_SWEEP, FORGED_MAIN, 4);
	forged_goroutine(forged, FORGED_WORKER, FORGED_SPAWN, 6);
	forged_slice(forged_at(forged, FORGED_ALLGS), forged_at(forged, FORGED_POINTERS),
		     forged->goroutines, 16);
}

/* mprof.go: stkbucket. */
static inline uint64_t forged_hash(uint64_t stack, uint64_t caller, uint64_t size)
{
	const uint64_t values[] = {stack, caller, size};
	uint64_t hash = 0;

	for (size_t i = 0; i < 3; i++) {
		hash += values[i];
		hash += hash << 10;
		hash ^= hash >> 6;
	}
	hash += hash << 3;
	return hash ^ hash >> 11;
}

/* Makes the bucket of main.block in main.spawn, called by runtime.main: published, and pending. */
static inline void forged_bucket(struct forged *forged, uint64_t size, uint64_t allocated,
				 uint64_t freed, uint64_t waiting)
{
	uint64_t bucket = forged_at(forged, FORGED_PROFILE + 0x100 * forged->buckets);
	uint64_t stack = forged_code(forged, FORGED_SPAWN) + 0xa0;
	uint64_t caller = forged_code(forged, FORGED_MAIN) + 0x20, cycles = bucket + 48 + 16;
	uint64_t head = forged_at(forged, FORGED_BUCKETS);

	forged_put(bucket + 8, forged->buckets++ ? forged_word(head) : 0);
	forged_put(head, bucket);
	forged_put(bucket + 16, 1);
	forged_put(bucket + 24, forged_hash(stack, caller, size));
	forged_put(bucket + 32, size);
	forged_put(bucket + 40, 2);
	forged_put(bucket + 48, stack);
	forged_put(bucket + 56, caller);
	forged_put(cycles, allocated);
	forged_put(cycles + 8, freed);
	forged_put(cycles + 16, allocated * size);
	forged_put(cycles + 24, freed * size);
	forged_put(cycles + 32 * 3, waiting);
	forged_put(cycles + 32 * 3 + 16, waiting * size);
}

#define FORGED_LARGE (1u << 20)
#define FORGED_SMALL 64u

static inline void forged_profile(struct forged *forged)
{
	forged_put(forged_at(forged, FORGED_RATE), 512 << 10);
	forged_bucket(forged, FORGED_LARGE, 12, 2, 5);
	forged_bucket(forged, FORGED_SMALL, 3, 3, 0);
	forged_bucket(forged, FORGED_SMALL, 7, 0, 0);
}

#define FORGED_IN_USE (400u * 8192u)
#define FORGED_LIVE 1000000u
#define FORGED_SINCE_GC 50000u
#define FORGED_GOAL 4194304u
#define FORGED_COLLECTED_S 30

static inline void forged_figures(struct forged *forged)
{
	uint64_t controller = forged_at(forged, FORGED_CONTROLLER);
	uint64_t stats = forged_at(forged, FORGED_STATS);
	struct timespec wall, since;

	forged_put32(controller, 100);
	forged_put(controller + 8, INT64_MAX);
	forged_put(controller + 16, 4 << 20);
	forged_put(controller + 72, FORGED_GOAL);
	forged_put(controller + 104, FORGED_LIVE + FORGED_SINCE_GC);
	forged_put(controller + 152, FORGED_LIVE);
	forged_put(controller + 272, FORGED_IN_USE);
	forged_put(controller + 280, 50 * 8192);
	forged_put(controller + 288, 20 * 8192);
	/* Only sums over the three count: one of them is negative. */
	forged_put(stats + 16, FORGED_IN_USE + 8192);
	forged_put(stats + 1176 + 16, (uint64_t)-8192);
	forged_put(stats + 2 * 1176 + 24, 3 * 8192);
	forged_put(stats + 3592 - 40, 1000);
	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_MONOTONIC, &since);
	forged_put(stats + 3592, (uint64_t)(wall.tv_sec - FORGED_COLLECTED_S) * 1000000000 +
					 (uint64_t)wall.tv_nsec);
	forged_put(stats + 7720, (uint64_t)(since.tv_sec - FORGED_COLLECTED_S) * 1000000000 +
					 (uint64_t)since.tv_nsec);
	forged_put32(stats + 7704, 4);
}

static inline void forged_version(struct forged *forged, const char *version)
{
	uint64_t info = forged_at(forged, FORGED_INFO);

	memcpy(forged_memory_place(info), "\xff Go buildinf:\x08\x02", 16);
	forged_put8(info + 32, (uint8_t)strlen(version));
	forged_put_text(info + 33, version);
}

/* False: no memory. */
static inline bool forged_make(struct forged *forged)
{
	*forged = (struct forged){0};
	if (!forged_memory_make(&forged->memory, FORGED_BASE, FORGED_BYTES, FORGED_DATA,
				FORGED_DATA))
		return false;
	forged_memory_symbol(&forged->memory, "main.spawn", FORGED_TEXT, FORGED_CODE);
	forged_version(forged, "go1.24.4");
	forged_functions(forged);
	forged_module(forged);
	forged_reasons(forged);
	forged_goroutines(forged);
	forged_profile(forged);
	forged_figures(forged);
	forged_memory_find_places(&forged->memory);
	return true;
}

/* -------- the heap: a span of small objects, a large object, and a stack. */

extern const struct heap_walker go_walker;

#define FORGED_ALL_SPANS 0x7400u
#define FORGED_SPANS 0x1f000u
#define FORGED_SMALL_SPAN 0x24000u
#define FORGED_LARGE_SPAN 0x40000000u
#define FORGED_BITS 0x1f800u
#define FORGED_SPECIAL 0x1f900u
#define FORGED_ELEMENT 128u

static inline void forged_span(const struct forged *forged, size_t n, uint64_t start,
			       uint64_t pages, uint8_t state)
{
	uint64_t span = forged_at(forged, FORGED_SPANS + 0x100 * (uint32_t)n);

	forged_put(forged_at(forged, FORGED_SPANS + 0x400 + 8 * (uint32_t)n), span);
	forged_put(span + 24, forged_at(forged, (uint32_t)start));
	forged_put(span + 32, pages);
	forged_put8(span + 99, state);
}

/* Slots 0, 1 and 3 are in use; slot 1 was sampled. A goroutine has the address of slot 0. */
static inline void forged_heap(const struct forged *forged)
{
	uint64_t span = forged_at(forged, FORGED_SPANS),
		 special = forged_at(forged, FORGED_SPECIAL);
	uint64_t high = forged_at(forged, FORGED_STACKS + 2 * FORGED_STACK_SIZE);

	forged_span(forged, 0, FORGED_SMALL_SPAN, 1, 1);
	forged_span(forged, 1, FORGED_LARGE_SPAN, 399, 1);
	forged_span(forged, 2, 0x26000, 1, 2);
	forged_put(span + 48, 2 | 64 << 16);
	forged_put(span + 64, forged_at(forged, FORGED_BITS));
	forged_put8(forged_at(forged, FORGED_BITS), 1 << 3);
	forged_put(span + 104, FORGED_ELEMENT);
	forged_put(span + 128, special);
	forged_put(special + 8, FORGED_ELEMENT);
	forged_put8(special + 16, 3);
	forged_put(special + 24, forged_at(forged, FORGED_PROFILE));
	forged_put(span + 0x100 + 48, 1 | 1 << 16);
	forged_put8(span + 0x100 + 98, 1);
	forged_put(span + 0x100 + 104, 399 * 8192);
	forged_slice(forged_at(forged, FORGED_ALL_SPANS), forged_at(forged, FORGED_SPANS + 0x400),
		     3, 8);
	forged_put(high - 16, forged_at(forged, FORGED_SMALL_SPAN + 8));
}

struct forged_heap_walk {
	struct heap_sink sink;
	struct intern strings;
	struct walk_report report;
	int error;
};

/* 0 or -ENOMEM; walked->error is the walk's. forged_heap_free() in any case. */
static inline int forged_heap_walk(const struct forged *forged, struct forged_heap_walk *walked)
{
	struct target_memory memory = {.pagemap = -1};
	void *state = NULL;
	uint64_t nonsense;
	int error;

	*walked = (struct forged_heap_walk){0};
	error = heap_sink_init(&walked->sink, &walked->strings, NULL, NULL, NULL, 0);
	if (!error)
		error = target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL,
					   &memory);
	if (error)
		return error;
	memory.changes = false; /* as if it were stopped */
	walked->error = go_walker.walk(&memory, &walked->sink, &walked->report, &state);
	if (!walked->error) {
		error = heap_sink_settle(&walked->sink, &nonsense);
		if (!error)
			error = go_walker.roots(state, &walked->sink);
		if (!error)
			error = heap_sink_finish(&walked->sink);
		go_walker.end(state);
	}
	target_memory_close(&memory);
	return error;
}

static inline void forged_heap_free(struct forged_heap_walk *walked)
{
	heap_sink_free(&walked->sink);
	intern_free(&walked->strings);
}

#endif
