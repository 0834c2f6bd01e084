/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of a program, handmade in this process: one file with symbols, some blocks of malloc, and
 * the fixture's own data. Used by unit tests and fuzzers, so it asserts nothing.
 */
#ifndef LEAKMON_UNIT_FORGED_MEMORY_H
#define LEAKMON_UNIT_FORGED_MEMORY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "heap/allocators/data_modules.h"
#include "heap/runtime/heap_sink.h"
#include "heap/runtime/runtime.h"
#include "unit/forged_words.h"

#define FORGED_SYMBOLS_MAX 96
#define FORGED_BLOCKS_MAX 64
#define FORGED_PLACES_MAX 4096

struct forged_memory {
	unsigned char *bytes; /* at `base`: the addresses are those of this process */
	uint64_t base, size;
	uint64_t malloc_end;
	uint64_t more_size; /* see forged_memory_more() */
	struct maps maps;
	struct data_modules modules;
	struct data_module module;
	struct mapping mappings[3];
	struct image image;
	struct symbol symbols[FORGED_SYMBOLS_MAX];
	char names[4096];
	size_t names_used;
	uint64_t blocks[FORGED_BLOCKS_MAX], sizes[FORGED_BLOCKS_MAX]; /* of malloc's */
	uint32_t block_count;
	uint32_t places[FORGED_PLACES_MAX]; /* of words that are not 0 */
	uint32_t place_count;
};

/* Text with its NUL. */
static inline void forged_put_text(uint64_t address, const char *text)
{
	memcpy(forged_memory_place(address), text, strlen(text) + 1);
}

/*
 * Makes `size` bytes, the first `data` of which are a file's, the others are heap; malloc's blocks
 * begin at `blocks`. Returns false when out of memory.
 */
static inline bool forged_memory_make(struct forged_memory *memory, uint64_t base, uint64_t size,
				      uint64_t data, uint64_t blocks)
{
	static char program[] = "/usr/bin/program", nothing[] = "";
	void *bytes = mmap(forged_memory_place(base), size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (bytes == MAP_FAILED)
		return false;
	*memory = (struct forged_memory){
		.bytes = bytes, .base = base, .size = size, .malloc_end = base + blocks};
	memory->mappings[0] = (struct mapping){.start = base,
					       .end = base + data,
					       .inode = 7,
					       .readable = true,
					       .writable = true,
					       .path = program};
	memory->mappings[1] = (struct mapping){.start = base + data,
					       .end = base + size,
					       .readable = true,
					       .writable = true,
					       .path = nothing};
	memory->maps.list.items = memory->mappings;
	memory->maps.list.count = 2;
	memory->maps.source = live_memory(getpid());
	memory->image.table =
		(struct symbol_table){.symbols = memory->symbols, .names = memory->names};
	memory->module = (struct data_module){.path = program,
					      .start = base,
					      .end = base + data,
					      .bias = base,
					      .image = &memory->image};
	memory->modules.list.items = &memory->module;
	memory->modules.list.count = 1;
	return true;
}

/* The file's path, which outlives the memory. */
static inline void forged_memory_name(struct forged_memory *memory, char *path)
{
	memory->mappings[0].path = path;
	memory->module.path = path;
}

/* Splits the heap into two mappings at an offset. */
static inline void forged_memory_split(struct forged_memory *memory, uint64_t offset)
{
	memory->mappings[2] = memory->mappings[1];
	memory->mappings[1].end = memory->mappings[2].start = memory->base + offset;
	memory->maps.list.count = 3;
}

/* Adds more heap after the rest. Returns its address; 0: out of memory. */
static inline uint64_t forged_memory_more(struct forged_memory *memory, uint64_t size)
{
	uint64_t start = memory->base + (memory->size | 0xfffff) + 1;
	void *bytes = mmap(forged_memory_place(start), size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (bytes == MAP_FAILED)
		return 0;
	memory->mappings[2] = memory->mappings[1];
	memory->mappings[2].start = start;
	memory->mappings[2].end = start + size;
	memory->maps.list.count = 3;
	memory->more_size = size;
	return start;
}

/* Adds a page of unreadable code after the rest. Returns its address. */
static inline uint64_t forged_memory_code(struct forged_memory *memory)
{
	static char program[] = "/usr/lib/libprogram.so";

	memory->mappings[2] = (struct mapping){.start = memory->base + memory->size,
					       .end = memory->base + memory->size + 4096,
					       .inode = 8,
					       .executable = true,
					       .path = program};
	memory->maps.list.count = 3;
	return memory->mappings[2].start;
}

/* When all is made: where changes matter. */
static inline void forged_memory_find_places(struct forged_memory *memory)
{
	memory->place_count = 0;
	for (uint64_t i = 0; i < memory->size / 8 && memory->place_count < FORGED_PLACES_MAX; i++) {
		if (forged_word(memory->base + i * 8))
			memory->places[memory->place_count++] = (uint32_t)i;
	}
}

static inline void forged_memory_free(struct forged_memory *memory)
{
	munmap(memory->bytes, memory->size);
	if (memory->more_size)
		munmap(forged_memory_place(memory->mappings[2].start), memory->more_size);
}

/* Adds a symbol, by ascending offset. Returns its address. */
static inline uint64_t forged_memory_symbol(struct forged_memory *memory, const char *name,
					    uint64_t offset, uint32_t size)
{
	size_t length = strlen(name) + 1;

	memory->symbols[memory->image.table.count++] = (struct symbol){
		.address = offset, .size = size, .name = (uint32_t)memory->names_used};
	memcpy(memory->names + memory->names_used, name, length);
	memory->names_used += length;
	return memory->base + offset;
}

/* A block of malloc's, as large as is asked for. */
static inline uint64_t forged_memory_malloc(struct forged_memory *memory, uint64_t size)
{
	uint64_t address = (memory->malloc_end + 31) / 16 * 16;

	memory->malloc_end = address + size;
	memory->blocks[memory->block_count] = address;
	memory->sizes[memory->block_count++] = size;
	return address;
}

/* Adds another block, below all others. */
static inline uint64_t forged_memory_block(struct forged_memory *memory, uint64_t address,
					   uint64_t size)
{
	for (uint32_t i = memory->block_count++; i > 0; i--) {
		memory->blocks[i] = memory->blocks[i - 1];
		memory->sizes[i] = memory->sizes[i - 1];
	}
	memory->blocks[0] = address;
	memory->sizes[0] = size;
	return address;
}

/* The beginning of a walk: malloc's blocks. */
static inline int forged_memory_sink(const struct forged_memory *memory, struct intern *strings,
				     struct heap_sink *sink)
{
	uint64_t *starts = malloc(sizeof(memory->blocks)), *sizes = malloc(sizeof(memory->sizes));

	if (starts)
		memcpy(starts, memory->blocks, sizeof(memory->blocks));
	if (sizes)
		memcpy(sizes, memory->sizes, sizeof(memory->sizes));
	return heap_sink_init(sink, strings, starts, sizes, NULL, memory->block_count);
}

/* Walks the memory. Free the sink in any case, and `strings` after it. */
static inline int forged_memory_walk(const struct forged_memory *memory, struct intern *strings,
				     struct heap_sink *sink)
{
	int error = forged_memory_sink(memory, strings, sink);

	return error ? error : runtime_walk_heaps(&memory->maps, NULL, &memory->modules, sink);
}

/* Returns whether a walk's findings satisfy the invariants of every walk. */
static inline bool forged_walk_is_sound(const struct heap_sink *sink)
{
	for (uint32_t i = 0; i < sink->count; i++) {
		if (i && sink->starts[i] < sink->starts[i - 1] + sink->sizes[i - 1])
			return false;
		if (node_has_class(sink->whats[i]) &&
		    (sink->whats[i] & NODE_CLASS) >= sink->classes.count)
			return false;
	}
	for (size_t i = 0; i < sink->references.count; i++) {
		if (sink->references.targets[i] >= sink->count)
			return false;
	}
	for (size_t i = 0; i < sink->roots.count; i++) {
		if (sink->roots.items[i].node >= sink->count)
			return false;
	}
	return true;
}

/* One run of a fuzzer: `kept` is the memory as it was, `data` the changes. */
static inline void forged_memory_change(const struct forged_memory *memory,
					const unsigned char *kept, const uint8_t *data, size_t size)
{
	const struct forged_words words = {.base = memory->base,
					   .size = memory->size,
					   .places = memory->places,
					   .place_count = memory->place_count};

	memcpy(memory->bytes, kept, memory->size);
	forged_words_change(&words, data, size);
}

static inline void forged_memory_fuzz(const struct forged_memory *memory)
{
	struct intern strings = {0};
	struct heap_sink sink;

	if (forged_memory_walk(memory, &strings, &sink) || !forged_walk_is_sound(&sink))
		abort();
	heap_sink_free(&sink);
	intern_free(&strings);
}

/* Returns the same sequence of numbers on every run. */
static inline uint64_t forged_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 16;
}

/* A word of nonsense: small, large, an address of the forged memory, or another word of it. */
static inline uint64_t forged_random_word(const struct forged_memory *memory, uint64_t *seed)
{
	uint64_t random = forged_random(seed), place = (random >> 8) % (memory->size / 8) * 8;
	uint32_t filled = memory->places[(random >> 8) % memory->place_count];

	switch (random % 6) {
	case 0:
		return random >> 8 & 0xff;
	case 1:
		return UINT64_MAX - (random >> 8 & 0xff);
	case 2:
		return random << 24 ^ forged_random(seed);
	case 3:
		return memory->base + place;
	case 4:
		return forged_word(memory->base + filled * 8ull);
	default:
		return memory->base +
		       memory->symbols[place / 8 % memory->image.table.count].address;
	}
}

/* Nonsense in one to four of the words that matter. */
static inline void forged_memory_scramble(struct forged_memory *memory, uint64_t *seed)
{
	for (uint64_t i = forged_random(seed) % 4; i < 4; i++) {
		uint64_t place = memory->places[forged_random(seed) % memory->place_count];

		forged_put(memory->base + place * 8, forged_random_word(memory, seed));
	}
}

#endif
