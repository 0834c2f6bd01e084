// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * gperftools' tcmalloc, read from outside. Its page heap is in the module's zeroed data: a map that
 * leads from the first page of every span to the span's record, two lists of free spans for every
 * length, and the bytes of each kind. Beside it are the size classes, and for each class its
 * central list with the transfer cache; the caches of threads are a separate list.
 *
 * Each is recognised by its structure: many heads of lists that point to themselves or to spans, a
 * map that leads to records of the very pages, plausible numbers. The result is accepted if the
 * spans in the map have as many bytes as the page heap has counted, of every kind, and if in every
 * span as many blocks are free as its record says.
 *
 * Source: gperftools 2.8 to 2.18, page_heap.h, pagemap.h, span.h, central_freelist.h,
 * thread_cache.h, common.h; for every page size that it can be built with. Not with
 * TCMALLOC_SMALL_BUT_SLOW.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "heap/allocators/heap_reader.h"

#define MIN_PAGE_SHIFT 12
#define MAX_PAGE_SHIFT 18

/* struct Span. */
#define SPAN_WORDS 6
#define SPAN_BYTES (SPAN_WORDS * 8ull)
enum span_word { SPAN_START, SPAN_LENGTH, SPAN_NEXT, SPAN_PREVIOUS, SPAN_OBJECTS, SPAN_BITS };
enum span_location { SPAN_IN_USE, SPAN_FREE, SPAN_RETURNED };

/* class PageHeap: two sets of large spans are between the map and the lists. */
#define LARGE_SETS_BYTES 96ull
enum stat_word { STAT_SYSTEM, STAT_FREE, STAT_UNMAPPED, STAT_COMMITTED, STAT_WORDS };

/* class SizeMap. */
#define MAX_CLASSES 128
#define MAX_SMALL (256u << 10)
#define FIRST_SIZES (16ull << 32 | 8) /* of the classes 1 and 2 */
#define SIZES_TO_PAGES 512ull
#define SIZES_TO_COUNT (SIZES_TO_PAGES + MAX_CLASSES * 8ull)
#define COUNT_WITHIN 4 /* words: 2.16 has one more before it */
#define MOVED_TO_SIZES 512ull

/* class CentralFreeList. */
#define CENTRAL_BYTES 1216ull
#define CENTRAL_CLASS 8
#define CENTRAL_EMPTY 16
#define CENTRAL_SLOTS 128
#define CENTRAL_USED (CENTRAL_SLOTS + MAX_SLOTS * 16)
#define MAX_SLOTS 64

/* class ThreadCache. */
#define CACHE_LIST_BYTES 32ull
#define CACHE_LIST_SIZE 24
#define CACHE_LISTS_BYTES (MAX_CLASSES * CACHE_LIST_BYTES)
/* After the lists: up to 2.10 the links are 6 words further, from 2.16 on 4. */
#define CACHE_REST_WORDS 16
#define MAX_CACHES 65536
#define MAX_CACHE_WORDS 8 /* of a module's data that lead to caches */

/* Limit of words tried per module. */
#define MAX_TRIES 65536
#define MAX_LEAVES 2048
#define MAX_BROKEN 65536
#define MAX_SPAN_BLOCKS UINT16_MAX
#define MAX_BLOCKS (1ull << 31)
/* Limit of cached blocks that are in no run. */
#define MAX_ASTRAY (1u << 20)

struct span {
	uint64_t start, length; /* in pages */
	uint64_t objects;
	uint32_t used; /* blocks not on its list */
	uint8_t class;
	enum span_location location;
};

/*
 * Addresses of the map of its pages, of its counts, of the sizes of classes from 1 on, and of the
 * first central list; 0: not found.
 */
struct tcmalloc {
	uint64_t map, stats, sizes, central;
	uint64_t caches[MAX_CACHE_WORDS]; /* of words that lead to threads' caches */
	uint32_t cache_words;
	uint32_t page_shift;
	char version[HEAP_VERSION_MAX]; /* empty: unknown */
};

struct reading {
	struct peek *peek;
	const struct filter *heaps;
	struct tcmalloc place;
	struct heap *heap;
	uint32_t classes;
	uint32_t sizes[MAX_CLASSES], spans[MAX_CLASSES], moved[MAX_CLASSES];
	uint64_t blocks;
	struct chain *chains;
	size_t chain_count;
	uint64_t uncounted;    /* blocks */
	uint64_t astray;       /* cached, but in no run */
	VEC(uint64_t) records; /* pages that contain records */
	bool swapped;
	bool cut; /* at MAX_BLOCKS */
};

static uint64_t span_bytes(const struct reading *reading, uint64_t pages)
{
	return pages << reading->place.page_shift;
}

/* Returns the bits of a page number that index a leaf of the map; the others index its root. */
static uint32_t leaf_bits(uint32_t page_shift)
{
	return (MACHINE_ALLOCATOR_BITS - page_shift + 1) / 2;
}

static uint64_t leaf_places(uint32_t page_shift)
{
	return 1ull << leaf_bits(page_shift);
}

static uint64_t root_places(uint32_t page_shift)
{
	return 1ull << (MACHINE_ALLOCATOR_BITS - page_shift - leaf_bits(page_shift));
}

static uint64_t list_count(uint32_t page_shift)
{
	return 2ull << (20 - page_shift);
}

static int read_word(const struct reading *reading, uint64_t address, uint64_t *word)
{
	return address % 8 ? -EFAULT : heap_words(reading->peek, address, word, 1);
}

/* Returns 0; -EBADMSG: impossible; -EFAULT; -ETIMEDOUT. */
static int read_span(const struct reading *reading, uint64_t address, struct span *span)
{
	uint64_t words[SPAN_WORDS];
	int error = address % 8 || !filter_has(reading->heaps, address)
			    ? -EBADMSG
			    : heap_words(reading->peek, address, words, SPAN_WORDS);
	uint64_t pages = 1ull << (MACHINE_ALLOCATOR_BITS - reading->place.page_shift);

	if (error)
		return error;
	*span = (struct span){.start = words[SPAN_START],
			      .length = words[SPAN_LENGTH],
			      .objects = words[SPAN_OBJECTS],
			      .used = (uint16_t)words[SPAN_BITS],
			      .class = (uint8_t)(words[SPAN_BITS] >> 16),
			      .location = words[SPAN_BITS] >> 24 & 3};
	if (!span->start || span->start >= pages || !span->length ||
	    span->length > pages - span->start || span->location > SPAN_RETURNED)
		return -EBADMSG;
	return 0;
}

/* -------- finding */

struct search {
	struct reading reading;
	uint64_t start, end; /* of a module's data */
	uint64_t tried;	     /* no list of the page heap lies before it */
	size_t tries;
	struct tcmalloc *place;
};

/*
 * Returns whether it is a head of a list that is empty, or leads to spans. Their back links cannot
 * be checked while the process runs: the sums confirm the right place when all is read.
 */
static bool is_list(const struct search *search, uint64_t head)
{
	uint64_t words[SPAN_WORDS];

	if (head < search->start || head + SPAN_BYTES > search->end ||
	    heap_words(search->reading.peek, head, words, SPAN_WORDS) || words[SPAN_START] ||
	    words[SPAN_LENGTH])
		return false;
	if (words[SPAN_NEXT] == head || words[SPAN_PREVIOUS] == head)
		return words[SPAN_PREVIOUS] == words[SPAN_NEXT];
	return filter_has(search->reading.heaps, words[SPAN_NEXT]) &&
	       filter_has(search->reading.heaps, words[SPAN_PREVIOUS]);
}

static bool stats_hold(const uint64_t stats[STAT_WORDS], uint32_t page_shift)
{
	uint64_t sum = stats[STAT_SYSTEM], any = 0;

	for (uint32_t i = 0; i < STAT_WORDS; i++)
		any |= stats[i];
	return sum && sum < 1ull << MACHINE_ALLOCATOR_BITS && !(any & ((1ull << page_shift) - 1)) &&
	       stats[STAT_UNMAPPED] <= sum && stats[STAT_COMMITTED] <= sum &&
	       stats[STAT_FREE] <= sum - stats[STAT_UNMAPPED];
}

/* Examines elements of the map until one leads to a record of its page, up to a limit. */
#define MAP_TRIALS 64

static bool map_holds(const struct reading *reading)
{
	uint32_t shift = reading->place.page_shift, trials = 0;
	uint64_t leaf, entry;

	for (uint64_t i = 0; i < root_places(shift); i++) {
		if (read_word(reading, reading->place.map + i * 8, &leaf))
			return false;
		for (uint64_t j = 0; leaf && j < leaf_places(shift); j++) {
			struct span span;

			if (read_word(reading, leaf + j * 8, &entry))
				return false;
			if (!entry)
				continue;
			if (!read_span(reading, entry, &span) &&
			    span.start == i * leaf_places(shift) + j)
				return true;
			if (++trials == MAP_TRIALS)
				return false;
		}
	}
	return false;
}

/* Lists for each length of spans are consecutive; their number gives the page size. */
static void try_page_heap(struct search *search, uint64_t head)
{
	struct tcmalloc *place = &search->reading.place;
	uint64_t first = head, end = head, stats[STAT_WORDS];

	if (head < search->tried)
		return;
	while (end - head < SPAN_BYTES * list_count(MIN_PAGE_SHIFT) && is_list(search, end))
		end += SPAN_BYTES;
	while (end - first < SPAN_BYTES * list_count(MIN_PAGE_SHIFT) + LARGE_SETS_BYTES &&
	       is_list(search, first - SPAN_BYTES))
		first -= SPAN_BYTES;
	search->tried = end;
	for (uint32_t shift = MIN_PAGE_SHIFT; shift <= MAX_PAGE_SHIFT; shift++) {
		uint64_t bytes = list_count(shift) * SPAN_BYTES;
		uint64_t before = LARGE_SETS_BYTES + 8 + root_places(shift) * 8;
		uint64_t map = end - bytes - before;

		/* The preceding sets may look like lists, too. */
		if (end - first < bytes || end - first > bytes + LARGE_SETS_BYTES ||
		    end - search->start < bytes + before ||
		    heap_words(search->reading.peek, end, stats, STAT_WORDS) ||
		    !stats_hold(stats, shift))
			continue;
		place->page_shift = shift;
		place->map = map;
		place->stats = end;
		if (map_holds(&search->reading))
			*search->place = *place;
	}
}

static bool is_central(const struct search *search, uint64_t central, uint32_t class)
{
	uint64_t number;

	return !read_word(&search->reading, central + CENTRAL_CLASS, &number) && number == class &&
	       is_list(search, central + CENTRAL_EMPTY) &&
	       is_list(search, central + CENTRAL_EMPTY + SPAN_BYTES);
}

static void try_central(struct search *search, uint64_t head)
{
	uint64_t central = head - CENTRAL_EMPTY;

	for (uint32_t i = 0; i < 4; i++) {
		if (!is_central(search, central + i * CENTRAL_BYTES, i))
			return;
	}
	search->place->central = central;
}

/* Checks blocks of this size in a span of this many pages; page_shift 0: unknown. */
static bool class_holds(uint64_t size, uint64_t pages, uint32_t page_shift)
{
	uint64_t bytes = pages << page_shift;

	if (size % 8 || size > MAX_SMALL || !pages || pages > MAX_SMALL)
		return false;
	return !page_shift || (bytes >= size && bytes / size <= MAX_SPAN_BLOCKS);
}

static uint32_t half_of(const uint64_t *words, uint32_t i)
{
	return (uint32_t)(words[i / 2] >> i % 2 * 32);
}

/* Returns the number of classes by their sizes, if the same number follows them; else 0. */
static uint32_t count_classes(const struct reading *reading, uint64_t at,
			      const uint64_t sizes[MAX_CLASSES / 2])
{
	uint64_t words[COUNT_WITHIN];
	uint32_t count = 1;

	while (count < MAX_CLASSES && half_of(sizes, count - 1) != MAX_SMALL)
		count++;
	count++;
	if (count < 3 || count > MAX_CLASSES ||
	    heap_words(reading->peek, at + SIZES_TO_COUNT, words, COUNT_WITHIN))
		return 0;
	for (size_t i = 0; i < COUNT_WITHIN; i++) {
		if (words[i] == count)
			return count;
	}
	return 0;
}

/* Returns 0 or -EBADMSG. `at`: the size of class 1. */
static int read_sizes(struct reading *reading, uint64_t at, uint32_t page_shift)
{
	uint64_t sizes[MAX_CLASSES / 2], moved[MAX_CLASSES / 2], pages[MAX_CLASSES];
	uint32_t count;

	if (heap_words(reading->peek, at, sizes, ARRAY_SIZE(sizes)) ||
	    !(count = count_classes(reading, at, sizes)) ||
	    heap_words(reading->peek, at - MOVED_TO_SIZES, moved, ARRAY_SIZE(moved)) ||
	    heap_words(reading->peek, at + SIZES_TO_PAGES, pages, ARRAY_SIZE(pages)))
		return -EBADMSG;
	for (uint32_t i = 1; i < count; i++) {
		reading->sizes[i] = half_of(sizes, i - 1);
		reading->moved[i] = half_of(moved, i - 1);
		reading->spans[i] = (uint32_t)pages[i];
		if (reading->sizes[i] <= reading->sizes[i - 1] ||
		    !class_holds(reading->sizes[i], pages[i], page_shift) || !reading->moved[i] ||
		    reading->moved[i] > MAX_SPAN_BLOCKS)
			return -EBADMSG;
	}
	reading->classes = count;
	return 0;
}

/* In every cache a list begins with the size of its class. */
static bool is_cache(const struct reading *reading, uint64_t cache)
{
	uint64_t word;

	if (cache % 8 || !filter_has(reading->heaps, cache) ||
	    !filter_has(reading->heaps, cache + CACHE_LISTS_BYTES - 1))
		return false;
	for (uint32_t i = 1; i < reading->classes; i++) {
		if (read_word(reading, cache + i * CACHE_LIST_BYTES + CACHE_LIST_SIZE, &word) ||
		    (uint32_t)word != reading->sizes[i])
			return false;
	}
	return true;
}

/* Checks a cache's neighbour in the list of caches, which must lead back by the other link. */
static bool is_neighbour(const struct reading *reading, uint64_t cache, uint64_t neighbour,
			 uint64_t link_back)
{
	uint64_t back;

	return !neighbour || (is_cache(reading, neighbour) &&
			      !read_word(reading, neighbour + link_back, &back) && back == cache);
}

/*
 * Returns the offset of a cache's links to its neighbours: those that lead back. 0: it is the only
 * cache.
 */
static uint64_t find_links(const struct reading *reading, uint64_t cache)
{
	uint64_t words[CACHE_REST_WORDS];

	if (heap_words(reading->peek, cache + CACHE_LISTS_BYTES, words, CACHE_REST_WORDS))
		return 0;
	for (uint32_t i = 0; i + 1 < CACHE_REST_WORDS; i++) {
		uint64_t links = CACHE_LISTS_BYTES + i * 8ull;

		if ((words[i] || words[i + 1]) && words[i] != cache &&
		    is_neighbour(reading, cache, words[i], links + 8) &&
		    is_neighbour(reading, cache, words[i + 1], links))
			return links;
	}
	return 0;
}

static bool visit_tables(void *context, uint64_t page, const uint64_t *words)
{
	struct search *search = context;

	for (uint64_t i = 0; i < MEMORY_PAGE / 8 && search->tries; i++) {
		uint64_t at = page + i * 8, head = at - SPAN_NEXT * 8;

		if (words[i] == FIRST_SIZES && !search->place->sizes &&
		    !read_sizes(&search->reading, at, 0))
			search->place->sizes = at;
		if (words[i] != head || !is_list(search, head))
			continue;
		search->tries--;
		if (!search->place->map)
			try_page_heap(search, head);
		if (!search->place->central)
			try_central(search, head);
	}
	return search->place->map && search->place->central && search->place->sizes;
}

static bool visit_caches(void *context, uint64_t page, const uint64_t *words)
{
	struct search *search = context;

	for (uint64_t i = 0; i < MEMORY_PAGE / 8 && search->tries; i++) {
		if (words[i] % 8 || !filter_has(search->reading.heaps, words[i]))
			continue;
		search->tries--;
		if (is_cache(&search->reading, words[i]))
			search->place->caches[search->place->cache_words++] = page + i * 8;
		if (search->place->cache_words == MAX_CACHE_WORDS)
			return true;
	}
	return false;
}

/* PERFTOOLS_VERSION, the result of tc_version(). */
static bool version_at(const char *text, char version[HEAP_VERSION_MAX])
{
	static const char before[] = "gperftools ";

	return !strncmp(text, before, sizeof(before) - 1) &&
	       heap_version_copy(text + sizeof(before) - 1, version) > 0;
}

static int tcmalloc_find(void *state, const struct heap_view *view, uint64_t start, uint64_t end)
{
	struct peek *peek = view->peek;
	struct tcmalloc found = {0};
	struct search search = {.reading = {.peek = peek, .heaps = view->heaps},
				.start = start,
				.end = end,
				.tries = MAX_TRIES,
				.place = &found};

	/* The map alone is larger than most modules' data. */
	if (end < start || end - start < root_places(MAX_PAGE_SHIFT) * 8)
		return -ENOENT;
	for (size_t try = 0; try < HEAP_FIND_TRIES; try++) {
		if (heap_data_visit(peek, start, end, visit_tables, &search) ||
		    !(found.sizes && found.central))
			break;
		peek_forget(peek);
		search.tried = 0;
	}
	if (!found.map || !found.central || !found.sizes ||
	    read_sizes(&search.reading, found.sizes, found.page_shift))
		return peek_result(peek, -ENOENT);
	search.tries = MAX_TRIES;
	heap_data_visit(peek, start, end, visit_caches, &search);
	heap_version_find(view, start, version_at, found.version);
	*(struct tcmalloc *)state = found;
	return 0;
}

/* -------- reading */

/* In whole pages: tcmalloc has records in separate memory. */
static int add_record(struct reading *reading, uint64_t address, uint64_t bytes)
{
	uint64_t page = address & ~(MEMORY_PAGE - 1);

	for (; page < address + bytes; page += MEMORY_PAGE) {
		size_t count = reading->records.count;
		uint64_t *added;

		if (count && reading->records.items[count - 1] == page)
			continue;
		added = vec_push(&reading->records);
		if (!added)
			return -ENOMEM;
		*added = page;
	}
	return 0;
}

/*
 * Lists of free blocks, each of which leads to the next: those of spans, and of caches. Several are
 * walked side by side: their next blocks are read with one call.
 */
enum chain_kind { CHAIN_SPAN, CHAIN_TRANSFER, CHAIN_CACHE };

struct chain {
	enum chain_kind kind;
	uint8_t class;
	bool wrong; /* it leads to an impossible block */
	uint64_t block, last;
	uint64_t count, expected;
	size_t run;		/* of a span */
	uint64_t expected_last; /* of a transfer */
};

static bool release_listed(struct reading *reading, const struct chain *chain)
{
	struct heap *heap = reading->heap;
	const struct heap_run *run = &heap->runs.items[chain->run];
	uint64_t distance = chain->block - run->first;
	uint32_t i = (uint32_t)(distance / run->block);

	if (chain->block < run->first || distance / run->block >= run->count ||
	    distance % run->block || !heap_is_live(heap, run, i))
		return false;
	heap_set_use(heap, run, i, BLOCK_FREE);
	return true;
}

/* A block in no run is unknown, and so is whether it occurred before. */
static bool release_cached(struct reading *reading, const struct chain *chain)
{
	struct heap *heap = reading->heap;
	uint32_t size = reading->sizes[chain->class];

	if (chain->kind == CHAIN_TRANSFER ? heap_transfer(heap, chain->block, size)
					  : heap_cache(heap, chain->block, size))
		return true;
	return heap->broken && !heap_at(heap, chain->block) && ++reading->astray <= MAX_ASTRAY;
}

/* Takes one step. Returns false if the list is wrong. */
static bool chain_follow(struct reading *reading, struct chain *chain)
{
	if (chain->count > chain->expected)
		return false;
	chain->count++;
	chain->last = chain->block;
	return chain->kind == CHAIN_SPAN ? release_listed(reading, chain)
					 : release_cached(reading, chain);
}

/* A thread stopped within malloc may not have counted its last block yet. */
static bool chain_holds(struct reading *reading, const struct chain *chain)
{
	uint64_t more = chain->count > chain->expected ? chain->count - chain->expected
						       : chain->expected - chain->count;

	if (chain->kind == CHAIN_CACHE)
		reading->uncounted += more;
	return !chain->wrong && more <= (chain->kind == CHAIN_CACHE) &&
	       (chain->kind != CHAIN_TRANSFER || chain->last == chain->expected_last);
}

/* A span that a thread is just changing is left out. */
static void chain_end(struct reading *reading, const struct chain *chain)
{
	if (chain_holds(reading, chain))
		return;
	if (chain->kind == CHAIN_SPAN) {
		heap_drop(&reading->heap->runs.items[chain->run]);
		reading->heap->broken++;
	} else {
		reading->heap->broken_caches++;
	}
}

/* It leads to unreadable memory. */
static void chain_break(struct reading *reading, struct chain *chain, uint64_t address)
{
	chain->wrong = true;
	reading->swapped |= heap_is_swapped(reading->peek, address);
}

static int compare_chains(const void *left_pointer, const void *right_pointer)
{
	const struct chain *left = left_pointer, *right = right_pointer;

	return left->block < right->block ? -1 : left->block > right->block;
}

/* Takes one step of the unfinished chains. */
static void follow_once(struct reading *reading, struct chain *chains, size_t count)
{
	uint64_t addresses[PEEK_AHEAD], words[PEEK_AHEAD];
	bool got[PEEK_AHEAD];
	size_t going = 0, at = 0;

	for (size_t i = 0; i < count; i++) {
		chains[i].wrong = !chain_follow(reading, &chains[i]);
		if (!chains[i].wrong)
			addresses[going++] = chains[i].block;
	}
	peek_scattered(reading->peek, addresses, words, got, going);
	for (size_t i = 0; i < count; i++) {
		chains[i].block = 0;
		if (chains[i].wrong)
			continue;
		if (got[at] || !read_word(reading, addresses[at], &words[at]))
			chains[i].block = words[at];
		else
			chain_break(reading, &chains[i], addresses[at]);
		at++;
	}
}

/* Follows blocks of the same page: one page for many of them. */
static void follow_near(struct reading *reading, struct chain *chain)
{
	while (chain->block && !chain->wrong) {
		chain->wrong = !chain_follow(reading, chain);
		if (!chain->wrong && read_word(reading, chain->block, &chain->block))
			chain_break(reading, chain, chain->block);
	}
	chain->block = 0;
}

#define NEAR_BYTES 1024

static void follow_chains(struct reading *reading)
{
	size_t ended = 0;

	for (size_t i = 0; i < reading->chain_count; i++) {
		if (reading->sizes[reading->chains[i].class] < NEAR_BYTES)
			follow_near(reading, &reading->chains[i]);
	}
	for (;;) {
		/* Finished ones now have 0, and come first. */
		qsort(reading->chains, reading->chain_count, sizeof(*reading->chains),
		      compare_chains);
		while (ended < reading->chain_count && !reading->chains[ended].block)
			ended++;
		if (ended == reading->chain_count)
			break;
		follow_once(reading, reading->chains + ended, reading->chain_count - ended);
	}
	for (size_t i = 0; i < reading->chain_count; i++)
		chain_end(reading, &reading->chains[i]);
	reading->chain_count = 0;
}

static void add_chain(struct reading *reading, struct chain chain)
{
	reading->chains[reading->chain_count++] = chain;
	if (reading->chain_count == PEEK_AHEAD)
		follow_chains(reading);
}

static int add_small(struct reading *reading, const struct span *span)
{
	uint64_t bytes = span_bytes(reading, span->length),
		 start = span_bytes(reading, span->start);
	struct heap *heap = reading->heap;
	struct heap_run run = {.start = start, .end = start + bytes, .first = start};

	run.block = reading->sizes[span->class];
	run.count = (uint32_t)(bytes / run.block);
	reading->blocks += run.count;
	if (reading->blocks > MAX_BLOCKS)
		return -E2BIG;
	if (heap_add(heap, &run))
		return -ENOMEM;
	heap->figures[ALLOCATOR_ACTIVE] += bytes;
	heap->figures[ALLOCATOR_ALLOCATED] += span->used * run.block;
	if (span->used > run.count) {
		heap_drop(&heap->runs.items[heap->runs.count - 1]);
		heap->broken++;
		return 0;
	}
	add_chain(reading, (struct chain){.kind = CHAIN_SPAN,
					  .class = span->class,
					  .block = span->objects,
					  .expected = run.count - span->used,
					  .run = heap->runs.count - 1});
	return 0;
}

static int add_span(struct reading *reading, const struct span *span)
{
	uint64_t bytes = span_bytes(reading, span->length),
		 start = span_bytes(reading, span->start);
	uint64_t *figures = reading->heap->figures;
	struct heap_run run = {.start = start, .end = start + bytes};

	if (span->location == SPAN_IN_USE && span->class)
		return add_small(reading, span);
	if (span->location == SPAN_FREE) {
		run.use = RUN_DIRTY;
		figures[ALLOCATOR_DIRTY] += bytes;
	} else if (span->location == SPAN_RETURNED) {
		run.use = RUN_RETAINED;
		figures[ALLOCATOR_RETAINED] += bytes;
	} else {
		run.first = start;
		run.block = bytes;
		run.count = 1;
		figures[ALLOCATOR_ACTIVE] += bytes;
		figures[ALLOCATOR_ALLOCATED] += bytes;
	}
	return heap_add(reading->heap, &run);
}

static bool span_holds(const struct reading *reading, const struct span *span, uint64_t page)
{
	uint64_t last = span_bytes(reading, span->start + span->length) - 1;

	if (span->start != page || !filter_has(reading->heaps, span_bytes(reading, page)) ||
	    !filter_has(reading->heaps, last))
		return false;
	return span->location != SPAN_IN_USE || !span->class ||
	       (span->class < reading->classes && span->length == reading->spans[span->class]);
}

/* Adds the span of a map's element; *next: the end of the previous span. */
static int walk_element(struct reading *reading, uint64_t page, uint64_t element, uint64_t *next)
{
	struct span span;
	int error = read_span(reading, element, &span);

	if (error == -ETIMEDOUT)
		return error;
	if (error || !span_holds(reading, &span, page))
		return ++reading->heap->broken > MAX_BROKEN ? -ENOENT : 0;
	*next = span.start + span.length;
	error = add_record(reading, element, SPAN_BYTES);
	return error ? error : add_span(reading, &span);
}

#define ELEMENTS (MEMORY_PAGE / 8)

/*
 * Reads elements of a part of the map, `done` bytes of which have been read. Returns -EFAULT if
 * they are absent.
 */
static int read_elements(struct reading *reading, uint64_t at, uint64_t left, uint64_t done,
			 uint64_t *elements)
{
	uint64_t pages[PEEK_AHEAD], page = at & ~(MEMORY_PAGE - 1);
	size_t count = MIN(PEEK_AHEAD, left / MEMORY_PAGE + 1);

	for (size_t i = 0; i < count; i++)
		pages[i] = page + i * MEMORY_PAGE;
	if (done / MEMORY_PAGE % (PEEK_AHEAD - 1) == 0)
		peek_ahead_present(reading->peek, pages, count);
	return heap_words(reading->peek, at, elements, ELEMENTS);
}

/* *next: in pages. Returns 0; -ENOENT: no such map (any more); -ENOMEM; -ETIMEDOUT. */
static int walk_leaf(struct reading *reading, uint64_t leaf, uint64_t first, uint64_t *next)
{
	uint64_t places = leaf_places(reading->place.page_shift), elements[ELEMENTS], done = 0;
	uint64_t from = *next > first ? (*next - first) / ELEMENTS * ELEMENTS : 0;
	int error = 0;

	for (uint64_t i = from; !error && i < places; i += ELEMENTS, done += MEMORY_PAGE) {
		error = read_elements(reading, leaf + i * 8, (places - i) * 8, done, elements);
		if (error == -EFAULT) {
			reading->swapped |= heap_is_swapped(reading->peek, leaf + i * 8);
			error = 0;
			continue;
		}
		for (uint64_t j = 0; !error && j < ELEMENTS; j++) {
			if (elements[j] && first + i + j >= *next)
				error = walk_element(reading, first + i + j, elements[j], next);
		}
	}
	return error;
}

/* Leaves do not overlap: a map with overlapping ones would take for ever. */
static bool is_new_leaf(const uint64_t *leaves, size_t count, uint64_t leaf, uint64_t bytes)
{
	for (size_t i = 0; i < count; i++) {
		if (leaf < leaves[i] + bytes && leaves[i] < leaf + bytes)
			return false;
	}
	return true;
}

struct leaves {
	uint64_t list[MAX_LEAVES];
	size_t count;
	uint64_t next; /* end of the last span, in pages */
};

static int walk_root(struct reading *reading, struct leaves *leaves, uint64_t i, uint64_t leaf)
{
	uint64_t places = leaf_places(reading->place.page_shift), bytes = places * 8;
	int error;

	if (leaf % 8 || leaves->count == MAX_LEAVES || !filter_has(reading->heaps, leaf) ||
	    !filter_has(reading->heaps, leaf + bytes - 1) ||
	    !is_new_leaf(leaves->list, leaves->count, leaf, bytes)) {
		reading->heap->broken++;
		return 0;
	}
	leaves->list[leaves->count++] = leaf;
	error = add_record(reading, leaf, bytes);
	return error ? error : walk_leaf(reading, leaf, i * places, &leaves->next);
}

static int walk_map(struct reading *reading)
{
	uint64_t places = root_places(reading->place.page_shift), elements[ELEMENTS];
	struct leaves leaves = {.count = 0};
	int error = 0;

	for (uint64_t i = 0; !error && i < places; i += ELEMENTS) {
		error = read_elements(reading, reading->place.map + i * 8, (places - i) * 8, i * 8,
				      elements);
		for (uint64_t j = 0; !error && j < MIN(ELEMENTS, places - i); j++) {
			if (elements[j])
				error = walk_root(reading, &leaves, i + j, elements[j]);
		}
	}
	follow_chains(reading);
	reading->cut = error == -E2BIG;
	if (reading->cut)
		return 0;
	return error == -EFAULT ? -ENOENT : error;
}

static int compare_pages(const void *left_pointer, const void *right_pointer)
{
	const uint64_t *left = left_pointer, *right = right_pointer;

	return *left < *right ? -1 : *left > *right;
}

/* Lists of blocks that pass from one thread to the next unchanged. */
static void read_transfers(struct reading *reading, uint32_t class)
{
	uint64_t central = reading->place.central + class * CENTRAL_BYTES, used;
	uint64_t slots[2];
	struct heap *heap = reading->heap;

	if (read_word(reading, central + CENTRAL_CLASS, &used) || used != class ||
	    read_word(reading, central + CENTRAL_USED, &used) || (uint32_t)used > MAX_SLOTS) {
		heap->broken_caches++;
		return;
	}
	for (uint32_t i = 0; i < (uint32_t)used; i++) {
		if (heap_words(reading->peek, central + CENTRAL_SLOTS + i * 16ull, slots, 2) ||
		    !slots[1]) {
			heap->broken_caches++;
			return;
		}
		add_chain(reading, (struct chain){.kind = CHAIN_TRANSFER,
						  .class = (uint8_t) class,
						  .block = slots[0],
						  .expected = reading->moved[class],
						  .expected_last = slots[1]});
	}
}

static void read_cache(struct reading *reading, uint64_t cache)
{
	uint64_t list[2];

	for (uint32_t i = 1; i < reading->classes; i++) {
		if (heap_words(reading->peek, cache + i * CACHE_LIST_BYTES, list, 2)) {
			reading->heap->broken_caches++;
			return;
		}
		add_chain(reading, (struct chain){.kind = CHAIN_CACHE,
						  .class = (uint8_t)i,
						  .block = list[0],
						  .expected = (uint32_t)list[1]});
	}
}

/* Returns the first of a list of caches, from any of them. 0: no list, or an endless one. */
static uint64_t first_cache(const struct reading *reading, uint64_t cache, uint64_t links)
{
	uint64_t before;

	for (size_t i = 0; i < MAX_CACHES && is_cache(reading, cache); i++) {
		if (!links)
			return cache;
		if (read_word(reading, cache + links + 8, &before))
			return 0;
		if (!before)
			return cache;
		cache = before;
	}
	return 0;
}

/* Collects the caches that words of the module now lead to. Such a word may have changed. */
static uint32_t known_caches(const struct reading *reading, uint64_t caches[MAX_CACHE_WORDS])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < reading->place.cache_words; i++) {
		if (!read_word(reading, reading->place.caches[i], &caches[count]) &&
		    is_cache(reading, caches[count]))
			count++;
	}
	return count;
}

/* Reads a list of caches, and removes known ones from `known`. Returns 0 or -ENOMEM. */
static int read_list(struct reading *reading, uint64_t cache, uint64_t links,
		     uint64_t known[MAX_CACHE_WORDS], uint32_t count)
{
	struct heap *heap = reading->heap;
	uint64_t before = 0, next[2] = {0};
	int error = 0;

	for (; !error && cache; cache = next[0]) {
		if (heap->figures[ALLOCATOR_CACHES] == MAX_CACHES || !is_cache(reading, cache) ||
		    (links &&
		     (heap_words(reading->peek, cache + links, next, 2) || next[1] != before))) {
			heap->broken_caches++;
			break;
		}
		heap->figures[ALLOCATOR_CACHES]++;
		read_cache(reading, cache);
		error = add_record(reading, cache, links ? links + 16 : CACHE_LISTS_BYTES);
		for (uint32_t i = 0; i < count; i++)
			known[i] = known[i] == cache ? 0 : known[i];
		before = cache;
	}
	return error;
}

/* Returns whether it is like a cache returned to the allocator of caches. */
static bool is_empty(const struct reading *reading, uint64_t cache)
{
	uint64_t list[2];

	for (uint32_t i = 1; i < reading->classes; i++) {
		if (heap_words(reading->peek, cache + i * CACHE_LIST_BYTES, list, 2) || list[0] ||
		    (uint32_t)list[1])
			return false;
	}
	return true;
}

/* Returns a cache in the list of caches, and the offset of the links; else any nonempty one. */
static uint64_t listed_cache(const struct reading *reading, const uint64_t *known, uint32_t count,
			     uint64_t *links)
{
	uint64_t alone = count ? known[0] : 0;

	for (uint32_t i = 0; i < count; i++) {
		*links = find_links(reading, known[i]);
		if (*links)
			return known[i];
		if (!is_empty(reading, known[i]))
			alone = known[i];
	}
	return alone;
}

/*
 * Checks that no nonempty cache, of those that words of the module lead to, is missing in the list.
 * Returns 0 or -ENOMEM.
 */
static int read_caches(struct reading *reading)
{
	struct heap *heap = reading->heap;
	uint64_t known[MAX_CACHE_WORDS], links = 0, cache;
	uint32_t count = known_caches(reading, known);
	int error;

	cache = listed_cache(reading, known, count, &links);
	cache = first_cache(reading, cache, links);
	error = read_list(reading, cache, links, known, count);
	for (uint32_t i = 0; i < count; i++)
		heap->broken_caches += known[i] && !is_empty(reading, known[i]);
	follow_chains(reading);
	if (reading->uncounted > heap->figures[ALLOCATOR_CACHES])
		heap->broken_caches++;
	return error;
}

/* Adds the records' memory. Returns 0 or -ENOMEM. */
static int add_own(struct reading *reading)
{
	const uint64_t *pages = reading->records.items;
	size_t count = reading->records.count;
	int error = 0;

	if (count)
		qsort(reading->records.items, count, sizeof(*pages), compare_pages);
	for (size_t i = 0; !error && i < count;) {
		struct heap_run run = {
			.start = pages[i], .end = pages[i] + MEMORY_PAGE, .use = RUN_OWN};

		for (i++; i < count && pages[i] <= run.end; i++)
			run.end = pages[i] + MEMORY_PAGE;
		reading->heap->figures[ALLOCATOR_METADATA] += run.end - run.start;
		error = heap_add(reading->heap, &run);
	}
	return error;
}

/* The central lists lead to blocks that are, or were, free. */
static int add_tables(struct reading *reading)
{
	struct heap_run run = {.start = reading->place.central,
			       .end = reading->place.central + MAX_CLASSES * CENTRAL_BYTES,
			       .use = RUN_TABLES};

	return heap_add(reading->heap, &run);
}

/* Returns whether its own counts equal those found. */
static bool sums_hold(struct reading *reading)
{
	const uint64_t *figures = reading->heap->figures;
	uint64_t stats[STAT_WORDS];

	return !heap_words(reading->peek, reading->place.stats, stats, STAT_WORDS) &&
	       stats[STAT_FREE] == figures[ALLOCATOR_DIRTY] &&
	       stats[STAT_UNMAPPED] == figures[ALLOCATOR_RETAINED] &&
	       stats[STAT_SYSTEM] == figures[ALLOCATOR_ACTIVE] + figures[ALLOCATOR_DIRTY] +
					     figures[ALLOCATOR_RETAINED];
}

static const char *why_uncertain(const struct reading *reading, bool sums)
{
	const struct heap *heap = reading->heap;

	if (reading->cut)
		return "there are more blocks than can be read";
	if (reading->swapped)
		return "a part of its records or of its free blocks is swapped out";
	if (!heap->figures[ALLOCATOR_CACHES])
		return "the caches of its threads were not found where its version has them: what "
		       "they keep counts as live";
	if (heap->broken || !sums)
		return "it changed while it was read";
	if (heap->broken_caches)
		return "caches of threads changed while they were read: some of what they keep "
		       "counts as live";
	return NULL;
}

static int read_all(struct reading *reading)
{
	struct heap *heap = reading->heap;
	int error = read_sizes(reading, reading->place.sizes, reading->place.page_shift)
			    ? -ENOENT
			    : walk_map(reading);

	if (error)
		return error;
	heap_sort(heap);
	for (uint32_t i = 1; i < reading->classes; i++)
		read_transfers(reading, i);
	error = read_caches(reading);
	if (!error)
		error = add_own(reading);
	if (!error)
		error = add_tables(reading);
	heap_sort(heap);
	return error;
}

static const struct heap_version_range tested[] = {{2, 8, 10}, {2, 16, 18}};

static int tcmalloc_read(void *state, const struct heap_view *view, struct heap *heap)
{
	struct chain chains[PEEK_AHEAD];
	struct reading reading = {.peek = view->peek,
				  .heaps = view->heaps,
				  .place = *(const struct tcmalloc *)state,
				  .heap = heap,
				  .chains = chains};
	uint64_t *figures = heap->figures;
	int error = read_all(&reading);
	bool sums = !error && !reading.cut && sums_hold(&reading);

	vec_free(&reading.records);
	if (error)
		return error;
	heap->broken += !sums;
	figures[ALLOCATOR_MAPPED] =
		figures[ALLOCATOR_ACTIVE] + figures[ALLOCATOR_DIRTY] + figures[ALLOCATOR_METADATA];
	heap_finish(heap);
	heap_name(heap, "tcmalloc", reading.place.version, tested, ARRAY_SIZE(tested));
	heap->why = why_uncertain(&reading, sums);
	heap->blocks_certain = sums && figures[ALLOCATOR_CACHES] && !heap->broken_caches;
	return peek_result(view->peek, 0);
}

const struct heap_reader heap_reader_tcmalloc = {
	.name = "tcmalloc",
	.library = "libtcmalloc",
	.why_not = "tcmalloc's records are not where gperftools 2.8 to 2.18 have them, or it has "
		   "not been used yet: MALLOCSTATS=2, or MallocExtension's statistics, show more, "
		   "and so does tracking from the first allocation on",
	.advice.retained = ": it does so by itself while it is used, the sooner the higher "
			   "TCMALLOC_RELEASE_RATE is; MallocExtension's ReleaseFreeMemory() "
			   "(gperftools' tcmalloc.html) does it at once",
	.state_size = sizeof(struct tcmalloc),
	.find = tcmalloc_find,
	.read = tcmalloc_read,
};
