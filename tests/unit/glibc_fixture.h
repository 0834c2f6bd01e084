/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A heap of glibc's made by hand in this process. Used by unit tests and a fuzzer. */
#ifndef LEAKMON_UNIT_GLIBC_FIXTURE_H
#define LEAKMON_UNIT_GLIBC_FIXTURE_H

#include "unit/heap_fixture.h"

/* struct malloc_state of glibc 2.27 to 2.42. */
#define FASTBINS 16
#define TOP 96
#define BINS 112
#define BIN_COUNT 126
#define NEXT 2160
#define ATTACHED 2176
#define SYSTEM_MEM 2184

#define DATA_BYTES 16384
#define HEAP_BYTES (256ull << 10)
#define MAPPED_BYTES 0x21000

/* A module's data with the main arena; its heap, at the end of which a mapped block lies. */
struct fixture {
	struct made_memory memory;
	struct mapping mappings[2];
	uint64_t arena, heap, at; /* where the next chunk goes */
	bool previous_in_use;
};

static inline int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint64_t start;

	made_map(&fixture->memory, "glibc", DATA_BYTES, HEAP_BYTES + MAPPED_BYTES);
	start = fixture->memory.start;
	fixture->arena = start + 800;
	fixture->heap = fixture->at = start + DATA_BYTES;
	fixture->previous_in_use = true;
	fixture->mappings[0] = (struct mapping){.start = fixture->heap,
						.end = fixture->heap + HEAP_BYTES,
						.path = "",
						.readable = true,
						.writable = true};
	fixture->mappings[1] = (struct mapping){.start = fixture->heap + HEAP_BYTES,
						.end = fixture->heap + HEAP_BYTES + MAPPED_BYTES,
						.path = "",
						.readable = true,
						.writable = true};
	fixture->memory.maps.source = live_memory(getpid());
	fixture->memory.maps.list.items = fixture->mappings;
	fixture->memory.maps.list.count = ARRAY_SIZE(fixture->mappings);
	*state = fixture;
	return made_heap(&fixture->memory, fixture->heap,
			 fixture->heap + HEAP_BYTES + MAPPED_BYTES);
}

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;

	made_free(&fixture->memory);
	free(fixture);
	return 0;
}

/* Adds a chunk and returns its address. */
static inline uint64_t add_chunk(struct fixture *fixture, uint64_t size, bool in_use)
{
	uint64_t chunk = fixture->at;

	at(chunk)[1] = size | fixture->previous_in_use;
	fixture->previous_in_use = in_use;
	fixture->at += size;
	return chunk;
}

/* The top, and the arena that leads to it. */
static inline void finish(struct fixture *fixture)
{
	uint64_t arena = fixture->arena;

	for (uint64_t i = 0; i < BIN_COUNT; i++) {
		at(arena + BINS)[2 * i] = arena + BINS + i * 16 - 16;
		at(arena + BINS)[2 * i + 1] = arena + BINS + i * 16 - 16;
	}
	at(fixture->at)[1] = (fixture->heap + HEAP_BYTES - fixture->at) | fixture->previous_in_use;
	*at(arena + TOP) = fixture->at;
	*at(arena + NEXT) = arena;
	*at(arena + ATTACHED) = 1;
	*at(arena + SYSTEM_MEM) = *at(arena + SYSTEM_MEM + 8) = HEAP_BYTES;
}

/* A thread's cache, and a block in it; a live one, a free one, and one on a fast bin. */
struct usual {
	uint64_t cache, cached, live, unused, fast;
};

static inline struct usual put_usual(struct fixture *fixture)
{
	struct usual usual = {
		.cache = add_chunk(fixture, 0x290, true),
		.cached = add_chunk(fixture, 0x20, true),
		.live = add_chunk(fixture, 0x40, true),
		.unused = add_chunk(fixture, 0x110, false),
		.fast = add_chunk(fixture, 0x30, true),
	};

	finish(fixture);
	*(uint16_t *)at(usual.cache + 16) = 1;
	*at(usual.cache + 16 + 128) = usual.cached + 16;
	*at(usual.cached + 16) = (usual.cached + 16) >> 12;
	at(fixture->arena + FASTBINS)[1] = usual.fast;
	*at(usual.fast + 16) = (usual.fast + 16) >> 12;
	return usual;
}

/* Puts a mapped chunk after the heap. */
static inline void put_mapped(struct fixture *fixture)
{
	memcpy(at(fixture->heap + HEAP_BYTES), (uint64_t[]){0, MAPPED_BYTES | 2}, 16);
}

#endif
