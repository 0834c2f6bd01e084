// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/free_lists.h"

#include <errno.h>

#include "base/cleanup.h"

#define CHUNK_FLAGS 7ull
#define CACHE_BINS 64
/* How far below the thread pointer libc's own thread-locals can lie. */
#define TLS_SEARCH_BYTES (64ull << 10)
#define MAX_LIST (1u << 26)

/* struct tcache_perthread_struct: counts, then entries. */
static const struct cache_shape {
	uint64_t chunk_size;
	size_t count_bytes;
} shapes[] = {
	{0x290, 2}, /* from 2.30 */
	{0x250, 1}, /* from 2.26 */
};

static bool chunk_size(struct peek *peek, const struct heap_spans *spans, uint64_t chunk,
		       uint64_t *size)
{
	uint64_t header[2];

	if (chunk % 16 || !heap_spans_at(spans, chunk) || peek_words(peek, chunk, header, 2))
		return false;
	*size = header[1] & ~CHUNK_FLAGS;
	return true;
}

static int add(struct free_chunks *free_chunks, uint64_t chunk)
{
	uint64_t *slot = vec_push(&free_chunks->list);

	if (!slot)
		return -ENOMEM;
	*slot = chunk;
	return 0;
}

/*
 * The pointer stored at `place`, mangled with its place from 2.32 on. `bias`: from a chunk to what
 * the pointer points to. *chunk gets 0 at the end of the list.
 */
static bool follow(struct peek *peek, const struct heap_spans *spans, uint64_t place, uint64_t bias,
		   uint64_t wanted_size, uint64_t *chunk)
{
	uint64_t stored, size;

	if (peek_words(peek, place, &stored, 1))
		return false;
	for (int mangled = 1; mangled >= 0; mangled--) {
		uint64_t next = mangled ? stored ^ place >> 12 : stored;

		*chunk = next ? next - bias : 0;
		if (!next || (chunk_size(peek, spans, *chunk, &size) && size == wanted_size))
			return true;
	}
	return false;
}

static int add_fastbin(struct free_chunks *free_chunks, struct peek *peek,
		       const struct heap_spans *spans, uint64_t chunk, uint64_t wanted_size)
{
	uint64_t size;

	for (size_t i = 0; chunk && i < MAX_LIST; i++) {
		if (i == 0 && (!chunk_size(peek, spans, chunk, &size) || size != wanted_size))
			break;
		if (add(free_chunks, chunk))
			return -ENOMEM;
		if (!follow(peek, spans, chunk + 16, 0, wanted_size, &chunk))
			break;
	}
	free_chunks->broken += chunk != 0;
	return 0;
}

int free_lists_add_fastbins(struct free_chunks *free_chunks, struct peek *peek,
			    const struct malloc_arenas *arenas, const struct heap_spans *spans)
{
	int error = 0;

	for (size_t i = 0; !error && i < arenas->list.count; i++) {
		const struct malloc_arena *arena = &arenas->list.items[i];

		for (uint64_t bin = 0; !error && bin < MALLOC_FASTBINS; bin++)
			error = add_fastbin(free_chunks, peek, spans, arena->fastbins[bin],
					    (bin + 2) * 16);
	}
	return error;
}

/*
 * What the cache holds of one size; false: it contradicts itself. A thread may have stopped between
 * linking a chunk and counting it: the list counts, its length may be off by one.
 */
static bool read_cache_bin(struct free_chunks *held, struct peek *peek,
			   const struct heap_spans *spans, uint64_t entry, uint64_t count,
			   uint64_t wanted_size)
{
	uint64_t chunk = entry ? entry - 16 : 0, length = 0, size;

	if (chunk && (!chunk_size(peek, spans, chunk, &size) || size != wanted_size))
		return false;
	for (; chunk && length <= count; length++) {
		if (add(held, chunk) || !follow(peek, spans, chunk + 16, 16, wanted_size, &chunk))
			return false;
	}
	return !chunk && length + 1 >= count;
}

static bool read_cache(struct free_chunks *held, struct peek *peek, const struct heap_spans *spans,
		       uint64_t chunk, const struct cache_shape *shape)
{
	uint64_t words[CACHE_BINS * 2 / 8 + CACHE_BINS];
	size_t count_words = CACHE_BINS * shape->count_bytes / 8;

	if (peek_words(peek, chunk + 16, words, count_words + CACHE_BINS))
		return false;
	for (size_t i = 0; i < CACHE_BINS; i++) {
		uint64_t count = 0;

		memcpy(&count, (char *)words + i * shape->count_bytes, shape->count_bytes);
		if (!read_cache_bin(held, peek, spans, words[count_words + i], count, (i + 2) * 16))
			return false;
	}
	return true;
}

/* Whether there is a cache at `chunk`; *held what it holds, freed by the caller in any case. */
static bool is_cache(struct peek *peek, const struct heap_spans *spans, uint64_t chunk,
		     struct free_chunks *held)
{
	uint64_t size;

	if (!chunk_size(peek, spans, chunk, &size))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		held->list.count = 0;
		if (size == shapes[i].chunk_size &&
		    read_cache(held, peek, spans, chunk, &shapes[i]))
			return true;
	}
	return false;
}

static bool is_first(const struct heap_spans *spans, uint64_t chunk)
{
	const struct heap_span *span = heap_spans_at(spans, chunk);

	return span && span->start == chunk;
}

/* *found: it was one. An empty cache looks like any zeroed block, unless it is the first chunk. */
static int add_cache(struct free_chunks *free_chunks, struct peek *peek,
		     const struct heap_spans *spans, uint64_t chunk, bool *found)
{
	_cleanup_(free_lists_free) struct free_chunks held = {0};
	int error = 0;

	*found = is_cache(peek, spans, chunk, &held) && (held.list.count || is_first(spans, chunk));
	if (!*found)
		return 0;
	for (size_t i = 0; !error && i < held.list.count; i++)
		error = add(free_chunks, held.list.items[i]);
	return error ? error : add(free_chunks, chunk);
}

int free_lists_add_cache(struct free_chunks *free_chunks, struct peek *peek,
			 uint64_t thread_pointer, const struct heap_spans *spans)
{
	uint64_t word, stop = thread_pointer - MIN(thread_pointer, TLS_SEARCH_BYTES);
	bool found = false;
	int error = 0;

	/* Below the thread pointer are the thread-locals; the nearest are the program's own. */
	for (uint64_t at = thread_pointer; !error && !found && at > stop; at -= 8) {
		if (peek_words(peek, at - 8, &word, 1))
			break;
		if (word % 16 == 0 && heap_spans_at(spans, word - 16))
			error = add_cache(free_chunks, peek, spans, word - 16, &found);
	}
	return error;
}

int free_lists_add_all_caches(struct free_chunks *free_chunks, struct peek *peek,
			      const struct heap_spans *spans)
{
	int error = 0;

	for (size_t i = 0; i < spans->list.count; i++) {
		const struct heap_span *span = &spans->list.items[i];

		for (size_t j = 0; !error && j + 1 < span->chunks.count; j++) {
			const uint32_t *chunk = &span->chunks.items[j];
			uint64_t size = chunk_distance(chunk[1]) - chunk_distance(chunk[0]);
			bool found;

			if (size == shapes[0].chunk_size || size == shapes[1].chunk_size)
				error = add_cache(free_chunks, peek, spans,
						  span->start + chunk_distance(*chunk), &found);
		}
	}
	return error;
}

static int compare_addresses(const void *left_pointer, const void *right_pointer)
{
	uint64_t left = *(const uint64_t *)left_pointer, right = *(const uint64_t *)right_pointer;

	return left < right ? -1 : left > right;
}

void free_lists_finish(struct free_chunks *free_chunks)
{
	if (free_chunks->list.count)
		qsort(free_chunks->list.items, free_chunks->list.count, sizeof(uint64_t),
		      compare_addresses);
}

bool free_lists_has(const struct free_chunks *free_chunks, uint64_t chunk)
{
	return free_chunks->list.count &&
	       bsearch(&chunk, free_chunks->list.items, free_chunks->list.count, sizeof(chunk),
		       compare_addresses);
}

void free_lists_free(struct free_chunks *free_chunks)
{
	vec_free(&free_chunks->list);
}
