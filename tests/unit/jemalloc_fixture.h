/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of jemalloc made by hand in this process. Used by unit tests and a fuzzer. */
#ifndef LEAKMON_UNIT_JEMALLOC_FIXTURE_H
#define LEAKMON_UNIT_JEMALLOC_FIXTURE_H

#include "unit/heap_fixture.h"

#define GIB (1ull << 30)
#define PAGE 4096ull

/* jemalloc 5.3: its pages, struct arena_s and struct base_s, sizes of blocks. */
struct built {
	bool long_addresses; /* three levels */
	uint64_t page, span; /* of a leaf's entry */
	uint64_t arena_base, arena_caches, arena_internal, base_blocks, base_counts;
	uint64_t record_bytes;
	uint32_t small_classes, cached_classes, large_class;
	uint64_t large;
};

/* The same with addresses of 48 bits and of 57. */
#define SMALL_PAGES                                                                                \
	.page = PAGE, .arena_base = 78936, .arena_caches = 10400, .arena_internal = 56,            \
	.base_blocks = 160, .base_counts = 3880, .record_bytes = 128, .small_classes = 36,         \
	.cached_classes = 36, .large_class = 37, .large = 20480

static const struct built small_pages = {SMALL_PAGES, .span = GIB};

/* Like Debian 13's, for addresses of 57 bits. */
static const struct built long_addresses = {SMALL_PAGES, .long_addresses = true, .span = 128 * MIB};

/* Like Debian's for arm64: tcache_max is 32 KiB, and small blocks have up to 224 KiB. */
static const struct built large_pages = {
	.page = 65536,
	.span = 4 * GIB,
	.arena_base = 73608,
	.arena_caches = 9632,
	.arena_internal = 56,
	.base_blocks = 168,
	.base_counts = 3888,
	.record_bytes = 1152,
	.small_classes = 52,
	.cached_classes = 41,
	.large_class = 52,
	.large = 262144,
};

/* How an extent's bits are packed. */
#define CLASS_8 0
#define CLASS_48 3
#define CLASS_20480 37
#define CLASS_40960 41
#define CLASS_49152 42
#define NO_CLASS 232
#define ACTIVE 0
#define DIRTY 1
#define RETAINED 3

#define DATA_BYTES (2 * MIB + 0x40000)
#define HEAP_BYTES (64 * MIB)

struct fixture {
	struct made_memory memory;
	const struct built *built;
	uint64_t root, arenas; /* of a module */
	uint64_t leaf, middle, records, arena, base, caches, extents;
	uint32_t record_count;
};

static inline uint64_t bits_of(uint32_t class, uint32_t state, bool slab, uint32_t unused)
{
	return (uint64_t)slab << 12 | (uint64_t)state << 17 | (uint64_t) class << 20 |
	       (uint64_t)unused << 28;
}

static inline void set_leaf(struct fixture *fixture, uint64_t page, uint64_t element)
{
	uint64_t i = page % fixture->built->span / fixture->built->page;

	at(fixture->leaf)[fixture->built->long_addresses ? 2 * i : i] = element;
}

/* Its record, which its first and last page lead to. */
static inline uint64_t *put_extent(struct fixture *fixture, uint64_t start, uint64_t bytes,
				   uint64_t bits)
{
	uint64_t record = fixture->records + fixture->record_count++ * fixture->built->record_bytes;
	uint64_t flags = (bits >> 20 & 0xff) << 48 | (bits >> 12 & 1);
	uint64_t element = fixture->built->long_addresses ? record : record | flags;

	at(record)[0] = bits;
	at(record)[1] = start;
	at(record)[2] = bytes;
	set_leaf(fixture, start, element);
	set_leaf(fixture, start + bytes - fixture->built->page, element);
	return at(record);
}

static inline uint64_t *put_slab(struct fixture *fixture, uint64_t start, uint32_t class,
				 uint64_t bytes, uint32_t unused)
{
	uint64_t *record = put_extent(fixture, start, bytes, bits_of(class, ACTIVE, true, unused));

	for (uint32_t i = 0; i < unused; i++)
		record[8 + i / 64] |= 1ull << i % 64;
	return record;
}

/* Makes an arena with one block of its own memory, and one cache with empty bins. */
static inline void put_arena(struct fixture *fixture)
{
	const struct built *built = fixture->built;
	uint64_t bins = fixture->caches + 64, stack = fixture->extents + 256 * built->page;

	at(fixture->arenas)[0] = fixture->arena;
	*at(fixture->arenas - 128) = fixture->base;
	*at(fixture->arena + built->arena_base) = fixture->base;
	*at(fixture->arena + built->arena_internal) = built->large;
	*at(fixture->arena + built->arena_caches) = fixture->caches;
	*at(fixture->base + built->base_blocks) = fixture->records;
	*at(fixture->base + built->base_counts) = 5000;
	*at(fixture->base + built->base_counts + 8) = 8192;
	*at(fixture->base + built->base_counts + 16) = 2 * MIB;
	at(fixture->records)[0] = 2 * MIB;
	fixture->record_count = 1;
	at(fixture->caches)[0] = at(fixture->caches)[1] = fixture->caches;
	at(fixture->caches)[2] = bins;
	for (uint64_t i = 0; i < built->small_classes; i++) {
		uint64_t low = stack + 8 + i * 80, high = low + 80;

		/* Blocks without a cache. */
		if (i >= built->cached_classes)
			low = high = stack;
		at(bins)[3 * i] = high;
		at(bins)[3 * i + 2] =
			(high & 0xffff) << 32 | (low & 0xffff) << 16 | (high & 0xffff);
	}
	put_extent(fixture, stack, built->large + built->page,
		   bits_of(built->large_class, ACTIVE, false, 0));
}

static inline void cache_block(struct fixture *fixture, uint32_t class, uint64_t block)
{
	uint64_t *bin = at(fixture->caches + 64) + 3 * class;

	bin[0] -= 8;
	*at(bin[0]) = block;
}

static inline int setup_pages(void **state, const struct built *built)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint64_t start, heap;

	made_map(&fixture->memory, "jemalloc", DATA_BYTES, 2 * HEAP_BYTES);
	start = fixture->memory.start;
	heap = (start + DATA_BYTES + built->page - 1) / built->page * built->page;
	/* Do not cross the border of two leaves. */
	if (heap / built->span != (heap + HEAP_BYTES) / built->span)
		heap = (heap + HEAP_BYTES) / built->span * built->span;
	fixture->built = built;
	fixture->leaf = heap + 0xc0;
	fixture->middle = heap + 3 * MIB + 0x40;
	fixture->records = heap + 4 * MIB;
	fixture->arena = heap + 8 * MIB;
	fixture->base = fixture->records + MIB / 2;
	fixture->caches = heap + 10 * MIB;
	fixture->extents = heap + 16 * MIB;
	fixture->root = start + 0x1238;
	fixture->arenas = start + 2 * MIB + 0x10000;
	if (built->long_addresses) {
		at(fixture->middle)[fixture->extents / built->span % 32768] = fixture->leaf;
		at(fixture->root)[fixture->extents / built->span / 32768] = fixture->middle;
	} else {
		at(fixture->root)[fixture->extents / built->span] = fixture->leaf;
	}
	*state = fixture;
	return made_heap(&fixture->memory, heap, heap + HEAP_BYTES);
}

static inline int setup(void **state)
{
	return setup_pages(state, &small_pages);
}

static inline int setup_long_addresses(void **state)
{
	return setup_pages(state, &long_addresses);
}

static inline int setup_large_pages(void **state)
{
	return setup_pages(state, &large_pages);
}

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;

	made_free(&fixture->memory);
	free(fixture);
	return 0;
}

/* A slab of 48 bytes with three free regions, dirty and retained pages, a large block. */
static inline void put_usual(struct fixture *fixture)
{
	put_arena(fixture);
	put_slab(fixture, fixture->extents, CLASS_48, 3 * PAGE, 3);
	put_extent(fixture, fixture->extents + 16 * PAGE, 2 * PAGE, bits_of(NO_CLASS, DIRTY, 0, 0));
	put_extent(fixture, fixture->extents + 32 * PAGE, 8 * PAGE,
		   bits_of(NO_CLASS, RETAINED, 0, 0));
	put_extent(fixture, fixture->extents + 64 * PAGE, 6 * PAGE,
		   bits_of(CLASS_20480, ACTIVE, false, 0))[1] += 0x140;
}

#endif
