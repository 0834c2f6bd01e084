// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks of up to 512 bytes: obmalloc's arenas, pools and blocks (Objects/obmalloc.c). An arena is
 * believed if its pools bear its number, a pool if as many of its blocks are in use as it counts.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/cpython/cpython.h"

/* struct arena_object */
#define ARENA_OBJECT 48
#define ARENA_ADDRESS 0
#define ARENA_POOL_ADDRESS 8
#define ARENA_FREE_POOLS 16
#define ARENA_POOLS 20
#define ARENA_NEXT 32

/* struct pool_header */
#define POOL_HEADER 48
#define POOL_REF 0
#define POOL_FREE 8
#define POOL_ARENA 32
#define POOL_SIZE_INDEX 36
#define POOL_NEXT_OFFSET 40
#define POOL_MAX_NEXT_OFFSET 44
#define SIZE_CLASSES 32
#define ALIGNMENT 16

/* struct _obmalloc_state.mgmt */
#define MANAGEMENT_ARENAS 512
#define MANAGEMENT_MAX_ARENAS 520

#define DATA_MAX (64ull << 20)
#define BLOCKS_MAX 1024 /* of a pool of 16 KiB with blocks of 16 bytes */

static uint32_t half(const unsigned char *bytes, size_t offset)
{
	uint32_t value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

static uint64_t word(const unsigned char *bytes, size_t offset)
{
	uint64_t value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

/* Returns whether the offsets at the start of a pool are plausible: end of the blocks used so far,
 * and start of the last possible one. */
static bool is_pool(uint64_t offsets, uint32_t pool_bytes)
{
	uint32_t next = (uint32_t)offsets, last = (uint32_t)(offsets >> 32);
	uint32_t block = pool_bytes - last;

	return last < pool_bytes && block % ALIGNMENT == 0 && block <= SIZE_CLASSES * ALIGNMENT &&
	       next >= POOL_HEADER && next <= pool_bytes && (next - POOL_HEADER) % block == 0;
}

double cpython_pools_share(const void *state, const struct mapping *mapping, struct peek *peek)
{
	uint32_t pool = *(const uint32_t *)state;
	uint64_t first = (mapping->start + pool - 1) / pool * pool, addresses[PEEK_AHEAD] = {0};
	uint64_t pools = (mapping->end - MIN(first, mapping->end)) / pool, words[PEEK_AHEAD];
	bool got[PEEK_AHEAD];
	size_t count = MIN(pools, (uint64_t)PEEK_AHEAD), present = 0, found = 0;

	for (size_t i = 0; i < count; i++)
		addresses[i] = first + i * pools / count * pool + POOL_NEXT_OFFSET;
	peek_scattered(peek, addresses, words, got, count);
	for (size_t i = 0; i < count; i++) {
		present += got[i];
		found += got[i] && is_pool(words[i], pool);
	}
	return present ? (double)found / (double)present : 0;
}

static uint64_t first_pool(const struct cpython *python, uint64_t arena)
{
	uint64_t pool = python->layout->pool_bytes;

	return (arena + pool - 1) / pool * pool;
}

/* Returns whether the arena's first pool refers to that arena. */
static bool has_pools(const struct cpython *python, const struct cpython_arena *arena)
{
	uint64_t pool = first_pool(python, arena->address);
	unsigned char header[POOL_HEADER];

	if (arena->pools_end <= pool)
		return true;
	return !target_read(python->memory, pool, header, sizeof(header)) &&
	       half(header, POOL_ARENA) == arena->number &&
	       half(header, POOL_SIZE_INDEX) < SIZE_CLASSES;
}

static bool is_in_memory(const struct cpython *python, uint64_t start, uint64_t bytes)
{
	const struct mapping *mapping = maps_find(python->memory->maps, start);

	return mapping && !mapping->inode && mapping->writable && mapping->end - start >= bytes;
}

/* Unused entries are in one list, which has one end. */
enum entry { ENTRY_ARENA, ENTRY_UNUSED, ENTRY_UNUSED_LAST, ENTRY_NONSENSE };

/* Reads one arena_object, the number-th of the array at `objects`. */
static enum entry read_entry(const struct cpython *python, uint64_t objects, uint32_t number,
			     struct cpython_arena *arena)
{
	uint32_t whole = python->layout->arena_bytes / python->layout->pool_bytes;
	unsigned char bytes[ARENA_OBJECT];
	uint64_t address, next;

	if (target_read(python->memory, objects + (uint64_t)number * ARENA_OBJECT, bytes,
			sizeof(bytes)))
		return ENTRY_NONSENSE;
	address = word(bytes, ARENA_ADDRESS);
	next = word(bytes, ARENA_NEXT);
	if (!address && !next)
		return ENTRY_UNUSED_LAST;
	if (!address)
		return next >= objects && (next - objects) % ARENA_OBJECT == 0 ? ENTRY_UNUSED
									       : ENTRY_NONSENSE;
	*arena = (struct cpython_arena){.address = address,
					.pools_end = word(bytes, ARENA_POOL_ADDRESS),
					.number = number,
					.free_pools = half(bytes, ARENA_FREE_POOLS),
					.pools = half(bytes, ARENA_POOLS)};
	if (address % MEMORY_PAGE || arena->pools > whole || arena->pools + 1 < whole ||
	    arena->free_pools > arena->pools || arena->pools_end < address ||
	    arena->pools_end - address > python->layout->arena_bytes ||
	    !is_in_memory(python, address, python->layout->arena_bytes) ||
	    !has_pools(python, arena))
		return ENTRY_NONSENSE;
	return ENTRY_ARENA;
}

struct arenas {
	VEC(struct cpython_arena) list;
};

/* Reads all arenas of an array of at most `count` entries. 0 or -ENOMEM. */
static int read_array(const struct cpython *python, uint64_t objects, uint32_t count,
		      struct arenas *arenas)
{
	bool ended = false;

	for (uint32_t i = 0; i < count; i++) {
		struct cpython_arena arena, *added;
		enum entry entry = read_entry(python, objects, i, &arena);

		if (entry == ENTRY_NONSENSE || (entry == ENTRY_UNUSED_LAST && ended))
			return 0;
		ended |= entry == ENTRY_UNUSED_LAST;
		if (entry != ENTRY_ARENA)
			continue;
		added = vec_push(&arenas->list);
		if (!added)
			return -ENOMEM;
		*added = arena;
	}
	return 0;
}

static int take(struct cpython *python, const struct arenas *arenas)
{
	for (size_t i = 0; i < arenas->list.count; i++) {
		struct cpython_arena *added = vec_push(&python->arenas);

		if (!added)
			return -ENOMEM;
		*added = arenas->list.items[i];
	}
	return 0;
}

/* The array has no symbol: the variable that leads to most arenas is taken; `best` gets them. */
static int try_pointer(const struct cpython *python, uint64_t objects, struct arenas *best)
{
	struct cpython_arena first;
	struct arenas arenas = {0};
	int error = 0;

	if (!objects || objects % 8 || !is_in_memory(python, objects, ARENA_OBJECT) ||
	    read_entry(python, objects, 0, &first) == ENTRY_NONSENSE)
		return 0;
	error = read_array(python, objects, UINT32_MAX, &arenas);
	if (!error && arenas.list.count > best->list.count)
		SWAP(arenas, *best);
	vec_free(&arenas.list);
	return error;
}

static int search_data(const struct cpython *python, uint64_t start, uint64_t end,
		       struct arenas *best)
{
	uint64_t words[MEMORY_PAGE / 8];
	int error = 0;

	for (uint64_t page = start; !error && page < MIN(end, start + DATA_MAX);
	     page += MEMORY_PAGE) {
		if (target_read(python->memory, page, words, sizeof(words)))
			continue;
		for (size_t i = 0; !error && i < ARRAY_SIZE(words); i++)
			error = try_pointer(python, words[i], best);
	}
	return error;
}

/* Searches the data of the interpreter's module, and the zeroed rest behind it. */
static int find_variable(struct cpython *python)
{
	const struct maps *maps = python->memory->maps;
	struct arenas best = {0};
	int error = 0;

	for (size_t i = 0; !error && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (mapping->writable && mapping->start < python->module->end &&
		    mapping->end > python->module->start)
			error = search_data(python, mapping->start,
					    MIN(mapping->end, python->module->end), &best);
	}
	if (!error)
		error = take(python, &best);
	vec_free(&best.list);
	return error;
}

static int read_state(struct cpython *python, uint64_t state)
{
	uint64_t objects = target_word(python->memory, state + MANAGEMENT_ARENAS);
	uint32_t count = 0;
	struct arenas arenas = {0};
	int error = 0;

	if (!target_read(python->memory, state + MANAGEMENT_MAX_ARENAS, &count, sizeof(count)) &&
	    objects)
		error = read_array(python, objects, count, &arenas);
	if (!error)
		error = take(python, &arenas);
	vec_free(&arenas.list);
	return error;
}

/* No interpreter describes where its pointer to the state is, and a later version may have moved
 * it. The word that leads to arenas is the pointer. */
static int search_state(struct cpython *python, uint64_t interpreter)
{
	uint64_t words[MEMORY_PAGE / 8], end = interpreter + python->layout->interpreter_bytes;
	size_t before = python->arenas.count;
	int error = 0;

	for (uint64_t at = interpreter; at < end; at += sizeof(words)) {
		size_t count = (size_t)MIN(end - at, sizeof(words)) / 8;

		if (target_memory_overworked(python->memory) ||
		    target_read(python->memory, at, words, count * 8))
			return 0;
		for (size_t i = 0; i < count; i++) {
			if (!words[i] || words[i] % 8 ||
			    !maps_find(python->memory->maps, words[i] + MANAGEMENT_ARENAS))
				continue;
			error = read_state(python, words[i]);
			if (error || python->arenas.count > before)
				return error;
		}
	}
	return 0;
}

static int find_states(struct cpython *python)
{
	int error = 0;

	for (size_t i = 0; !error && i < python->interpreters.count; i++) {
		uint64_t place = python->interpreters.items[i] + python->layout->obmalloc;
		size_t before = python->arenas.count;

		error = read_state(python, python->layout->arenas == ARENAS_IN_INTERPRETER
						   ? place
						   : target_word(python->memory, place));
		if (!error && python->untested && python->arenas.count == before)
			error = search_state(python, python->interpreters.items[i]);
	}
	return error;
}

static int compare_arenas(const void *left_pointer, const void *right_pointer)
{
	const struct cpython_arena *left = left_pointer, *right = right_pointer;

	return left->address < right->address ? -1 : left->address > right->address;
}

/* Sorts the arenas and removes duplicates, because interpreters may share an allocator, and
 * overlapping ones, which are implausible. */
static void sort_arenas(struct cpython *python)
{
	struct cpython_arena *arenas = python->arenas.items;
	size_t kept = 0;

	if (python->arenas.count)
		qsort(arenas, python->arenas.count, sizeof(*arenas), compare_arenas);
	for (size_t i = 0; i < python->arenas.count; i++) {
		if (!kept ||
		    arenas[i].address - arenas[kept - 1].address >= python->layout->arena_bytes)
			arenas[kept++] = arenas[i];
	}
	python->arenas.count = kept;
}

int cpython_find_arenas(struct cpython *python)
{
	int error = python->layout->arenas == ARENAS_IN_VARIABLE ? find_variable(python)
								 : find_states(python);

	sort_arenas(python);
	return error ? error : python->arenas.count ? 0 : -ENOENT;
}

/* A pool's contents. */
struct pool {
	uint64_t address;
	const unsigned char *bytes;
	uint32_t block, end; /* size of a block; end of the blocks used so far */
	uint64_t free[BLOCKS_MAX / 64];
	uint32_t free_blocks, used;
};

static bool open_pool(const struct cpython *python, const struct cpython_arena *arena,
		      struct pool *pool)
{
	uint32_t index = half(pool->bytes, POOL_SIZE_INDEX), bytes = python->layout->pool_bytes;

	pool->used = half(pool->bytes, POOL_REF);
	pool->block = (index + 1) * ALIGNMENT;
	if (index >= SIZE_CLASSES || half(pool->bytes, POOL_ARENA) != arena->number ||
	    half(pool->bytes, POOL_MAX_NEXT_OFFSET) != bytes - pool->block)
		return false;
	pool->end = MIN(half(pool->bytes, POOL_NEXT_OFFSET), bytes - pool->block + 1);
	return pool->end >= POOL_HEADER;
}

static uint32_t blocks_of(const struct pool *pool)
{
	return (pool->end - POOL_HEADER + pool->block - 1) / pool->block;
}

/* Reads the list of free blocks; returns false if it leads out of the pool, or in a circle. */
static bool read_free(struct pool *pool)
{
	uint64_t at = word(pool->bytes, POOL_FREE);

	memset(pool->free, 0, sizeof(pool->free));
	pool->free_blocks = 0;
	while (at) {
		uint64_t offset = at - pool->address;
		uint32_t number;

		if (at < pool->address + POOL_HEADER || offset >= pool->end ||
		    (offset - POOL_HEADER) % pool->block)
			return false;
		number = (uint32_t)(offset - POOL_HEADER) / pool->block;
		if (pool->free[number / 64] >> number % 64 & 1)
			return false;
		pool->free[number / 64] |= 1ull << number % 64;
		pool->free_blocks++;
		at = word(pool->bytes, offset);
	}
	return true;
}

static int visit_pool(const struct pool *pool, cpython_visit *visit, void *context)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < blocks_of(pool); i++) {
		uint32_t offset = POOL_HEADER + i * pool->block;

		if (!(pool->free[i / 64] >> i % 64 & 1))
			error = visit(context, pool->address + offset, pool->bytes + offset,
				      pool->block);
	}
	return error;
}

static int walk_pool(const struct cpython *python, const struct cpython_arena *arena,
		     struct pool *pool, cpython_visit *visit, void *context,
		     struct arena_figures *figures)
{
	/* A free pool keeps its stale contents. */
	if (!half(pool->bytes, POOL_REF)) {
		figures->free_bytes += python->layout->pool_bytes;
		figures->free_pool_bytes += python->layout->pool_bytes;
		return 0;
	}
	if (!open_pool(python, arena, pool) || !read_free(pool)) {
		figures->nonsense++;
		return 0;
	}
	if (blocks_of(pool) - pool->free_blocks != pool->used)
		figures->nonsense++;
	figures->blocks += blocks_of(pool) - pool->free_blocks;
	figures->free_bytes += python->layout->pool_bytes - POOL_HEADER -
			       (uint64_t)(blocks_of(pool) - pool->free_blocks) * pool->block;
	return visit_pool(pool, visit, context);
}

int cpython_walk_arena(const struct cpython *python, const struct cpython_arena *arena,
		       unsigned char *buffer, cpython_visit *visit, void *context,
		       struct arena_figures *figures)
{
	uint32_t step = python->layout->pool_bytes;
	uint64_t end = arena->address + python->layout->arena_bytes;
	uint64_t pools_end = MIN(arena->pools_end, end);
	int error = 0;

	target_read_pages(python->memory, arena->address, buffer, python->layout->arena_bytes);
	for (uint64_t at = first_pool(python, arena->address); !error && at + step <= pools_end;
	     at += step) {
		struct pool pool = {.address = at, .bytes = buffer + (at - arena->address)};

		error = walk_pool(python, arena, &pool, visit, context, figures);
	}
	figures->free_bytes += end - pools_end;
	figures->free_pool_bytes += end - pools_end;
	return error;
}
