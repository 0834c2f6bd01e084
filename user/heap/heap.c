// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/heap.h"

#include <errno.h>

#include "arch/machine.h"
#include "base/cleanup.h"
#include "base/search.h"
#include "heap/jemalloc_heap.h"
#include "heap/mimalloc_heap.h"
#include "heap/tcmalloc_heap.h"

#define WORD_BITS 64u

static uint32_t words_of(uint32_t count)
{
	return (count + WORD_BITS - 1) / WORD_BITS;
}

static int reserve_bits(struct heap *heap, uint32_t count, uint32_t *first)
{
	size_t wanted = heap->bits.count + 2 * (size_t)words_of(count);

	if (wanted > UINT32_MAX)
		return -ENOMEM;
	if (wanted > heap->bits.capacity) {
		size_t grown = MAX(wanted, heap->bits.capacity * 2);
		uint64_t *moved = reallocarray(heap->bits.items, grown, sizeof(*moved));

		if (!moved)
			return -ENOMEM;
		heap->bits.items = moved;
		heap->bits.capacity = grown;
	}
	*first = (uint32_t)heap->bits.count;
	heap->bits.count = wanted;
	memset(heap->bits.items + *first, 0, 2 * words_of(count) * sizeof(*heap->bits.items));
	return 0;
}

static uint64_t *live_word(const struct heap *heap, const struct heap_run *run, uint32_t i)
{
	return &heap->bits.items[run->bits + i / WORD_BITS];
}

static uint64_t *cached_word(const struct heap *heap, const struct heap_run *run, uint32_t i)
{
	return live_word(heap, run, i) + words_of(run->count);
}

static uint64_t bit(uint32_t i)
{
	return 1ull << i % WORD_BITS;
}

int heap_add(struct heap *heap, const struct heap_run *run)
{
	struct heap_run *added;
	uint32_t first = 0;

	if (run->count && reserve_bits(heap, run->count, &first))
		return -ENOMEM;
	added = vec_push(&heap->runs);
	if (!added)
		return -ENOMEM;
	*added = *run;
	added->bits = first;
	for (uint32_t i = 0; i < run->count; i++)
		*live_word(heap, added, i) |= bit(i);
	return 0;
}

static int compare_runs(const void *left_pointer, const void *right_pointer)
{
	const struct heap_run *left = left_pointer, *right = right_pointer;

	return left->start < right->start ? -1 : left->start > right->start;
}

void heap_sort(struct heap *heap)
{
	struct heap_run *runs = heap->runs.items;
	size_t kept = 0;

	if (heap->runs.count)
		qsort(runs, heap->runs.count, sizeof(*runs), compare_runs);
	for (size_t i = 0; i < heap->runs.count; i++) {
		if (kept && runs[i].start < runs[kept - 1].end)
			heap->broken++;
		else if (runs[i].start < runs[i].end)
			runs[kept++] = runs[i];
	}
	heap->runs.count = kept;
}

const struct heap_run *heap_at(const struct heap *heap, uint64_t address)
{
	return RANGE_AT(heap->runs.items, heap->runs.count, address);
}

bool heap_is_live(const struct heap *heap, const struct heap_run *run, uint32_t i)
{
	return *live_word(heap, run, i) & bit(i);
}

bool heap_is_cached(const struct heap *heap, const struct heap_run *run, uint32_t i)
{
	return *cached_word(heap, run, i) & bit(i);
}

void heap_drop(struct heap_run *run)
{
	run->end = run->start;
}

void heap_set_free(struct heap *heap, const struct heap_run *run, uint32_t i)
{
	*live_word(heap, run, i) &= ~bit(i);
}

/* The run of the live block that holds address, and which one it is; NULL: there is none. */
static const struct heap_run *block_at(const struct heap *heap, uint64_t address, uint32_t *i)
{
	const struct heap_run *run = heap_at(heap, address);

	if (!run || !run->count || address < run->first ||
	    (address - run->first) / run->block >= run->count)
		return NULL;
	*i = (uint32_t)((address - run->first) / run->block);
	return heap_is_live(heap, run, *i) ? run : NULL;
}

/* The run of a live block that begins at address and is of that size, or NULL. */
static const struct heap_run *block_from(const struct heap *heap, uint64_t address, uint64_t block,
					 uint32_t *i)
{
	const struct heap_run *run = block_at(heap, address, i);

	return run && run->block == block && run->first + *i * block == address ? run : NULL;
}

bool heap_cache(struct heap *heap, uint64_t address, uint64_t block)
{
	uint32_t i;
	const struct heap_run *run = block_from(heap, address, block, &i);

	if (!run)
		return false;
	heap_set_free(heap, run, i);
	*cached_word(heap, run, i) |= bit(i);
	heap->cached_blocks++;
	heap->figures.cached += block;
	return true;
}

bool heap_transfer(struct heap *heap, uint64_t address, uint64_t block)
{
	uint32_t i;
	const struct heap_run *run = block_from(heap, address, block, &i);

	if (!run)
		return false;
	heap_set_free(heap, run, i);
	heap->figures.transfer += block;
	return true;
}

bool heap_own(struct heap *heap, uint64_t address)
{
	uint32_t i;
	const struct heap_run *run = block_at(heap, address, &i);

	if (!run)
		return false;
	heap_set_free(heap, run, i);
	heap->figures.own += run->block;
	return true;
}

void heap_finish(struct heap *heap)
{
	for (size_t i = 0; i < heap->runs.count; i++) {
		const struct heap_run *run = &heap->runs.items[i];
		size_t live = 0;

		for (uint32_t j = 0; j < words_of(run->count); j++)
			live += (size_t)__builtin_popcountll(heap->bits.items[run->bits + j]);
		heap->live_blocks += live;
		heap->live_bytes += live * run->block;
	}
}

static uint64_t entry_of(const struct peek *peek, uint64_t address)
{
	uint64_t entry = UINT64_MAX;

	if (address < 1ull << MACHINE_USER_BITS)
		pagemap_read(peek->pagemap, address & ~(MEMORY_PAGE - 1), &entry, 1);
	return entry;
}

bool heap_is_swapped(const struct peek *peek, uint64_t address)
{
	uint64_t entry = entry_of(peek, address);

	return !pagemap_is_present(entry) && pagemap_is_swapped(entry);
}

/* Of one page. A core has no entry for a page of zeros, either, and not for one that it lacks. */
static int words_of_page(struct peek *peek, uint64_t address, uint64_t *words, size_t count)
{
	int error = peek_words(peek, address, words, count);
	uint64_t entry;

	if (error != -EFAULT || address % 8)
		return error;
	entry = entry_of(peek, address);
	if (pagemap_is_present(entry) || pagemap_is_swapped(entry))
		return error;
	if (peek->source.core)
		return memory_read_exact(peek->source, address, words, count * sizeof(*words));
	memset(words, 0, count * sizeof(*words));
	return 0;
}

int heap_words(struct peek *peek, uint64_t address, uint64_t *words, size_t count)
{
	int error = 0;
	size_t part;

	for (; !error && count; address += part * 8, words += part, count -= part) {
		part = MIN(count, (MEMORY_PAGE - address % MEMORY_PAGE + 7) / 8);
		error = words_of_page(peek, address, words, part);
	}
	return error;
}

#define AHEAD_PAGES 512

bool heap_data_visit(struct peek *peek, uint64_t start, uint64_t end,
		     bool (*visit)(void *context, uint64_t page, const uint64_t *words),
		     void *context)
{
	uint64_t entries[AHEAD_PAGES], words[MEMORY_PAGE / 8];
	uint64_t at = start & ~(MEMORY_PAGE - 1);

	for (; at < end; at += AHEAD_PAGES * MEMORY_PAGE) {
		size_t count = MIN((end - at + MEMORY_PAGE - 1) / MEMORY_PAGE, AHEAD_PAGES);

		pagemap_read(peek->pagemap, at, entries, count);
		for (size_t i = 0; i < count; i++) {
			if (pagemap_is_present(entries[i]) &&
			    !peek_words(peek, at + i * MEMORY_PAGE, words, ARRAY_SIZE(words)) &&
			    visit(context, at + i * MEMORY_PAGE, words))
				return true;
		}
	}
	return false;
}

typedef int find_in(struct peek *peek, const struct filter *heaps, uint64_t start, uint64_t end,
		    struct heap_place *place);
typedef int read_heap(struct peek *peek, const struct filter *heaps, const struct heap_place *place,
		      struct heap *heap);

static const struct heap_allocator {
	const char *library;
	find_in *find;
	read_heap *read;
	const char *why_not;
} allocators[] = {
	{"libjemalloc", jemalloc_find_in, jemalloc_read,
	 "jemalloc's records are not where versions 5.2 and 5.3 have them, or it has not been used "
	 "yet: malloc_stats_print (jemalloc(3)) tells more, and so does tracking from the first "
	 "allocation on"},
	{"libtcmalloc", tcmalloc_find_in, tcmalloc_read,
	 "tcmalloc's records are not where gperftools 2.8 to 2.10 have them, or it has not been "
	 "used yet: MALLOCSTATS=2, or MallocExtension's statistics, tell more, and so does "
	 "tracking from the first allocation on"},
	{"libmimalloc", mimalloc_find_in, mimalloc_read,
	 "mimalloc's records are not where version 2.0.9 has them, or it has not been used yet: "
	 "MIMALLOC_SHOW_STATS=1 tells more, and so does tracking from the first allocation on"},
};

/* Data of a module beyond this is not searched. */
#define MAX_DATA_BYTES (64ull << 20)

static int find_allocator(struct peek *peek, const struct filter *heaps, uint64_t start,
			  uint64_t end, struct heap_place *place)
{
	int error = -ENOENT;

	for (size_t i = 0; error == -ENOENT && i < ARRAY_SIZE(allocators); i++) {
		error = allocators[i].find(peek, heaps, start, end, place);
		if (!error)
			place->allocator = &allocators[i];
	}
	return error;
}

int heap_find(struct peek *peek, const struct filter *heaps, const struct maps *maps,
	      struct heap_place *place)
{
	int error = -ENOENT;

	for (size_t i = 0; error == -ENOENT && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (mapping->inode && mapping->writable && !mapping->shared)
			error = find_allocator(
				peek, heaps, mapping->start,
				MIN(maps_data_end(maps, i), mapping->start + MAX_DATA_BYTES),
				place);
	}
	return error;
}

int heap_read(struct peek *peek, const struct filter *heaps, const struct heap_place *place,
	      struct heap *heap)
{
	return place->allocator ? place->allocator->read(peek, heaps, place, heap) : -ENOENT;
}

const char *heap_why_not(const struct maps *maps)
{
	for (size_t i = 0; i < maps->list.count; i++) {
		const char *slash = strrchr(maps->list.items[i].path, '/');

		for (size_t j = 0; slash && j < ARRAY_SIZE(allocators); j++) {
			const char *library = allocators[j].library;

			if (!strncmp(slash + 1, library, strlen(library)))
				return allocators[j].why_not;
		}
	}
	return NULL;
}

void heap_free(struct heap *heap)
{
	vec_free(&heap->runs);
	vec_free(&heap->bits);
	*heap = (struct heap){0};
}
