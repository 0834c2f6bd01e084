// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The heap of mimalloc 3, read from outside. A variable of the module leads to the map of pages: a
 * root with an element for each 512 MiB of addresses, which leads to a part with an element for
 * each 64 KiB, which leads to the record of the page that has this memory. The record has the size
 * of its blocks, where the first one is, and three lists of free ones.
 *
 * The map is found by that: what it leads to are records of pages whose first block lies where the
 * map has them. Which of the layouts a record has is not asked of the version: in the right one, in
 * page after page, there are as many blocks on the lists as the record says. Arenas, in which pages
 * lie, are found by what a record says of its place in one, and by the arena's own size.
 *
 * Source: mimalloc 3.0.1 to 3.4.3, page-map.c, types.h, arena.c; 3.6.0 by what it does. Without
 * padding and encoded lists, that is neither as a debug build nor as a secure one.
 */
#include <errno.h>
#include <stdio.h>

#include "arch/machine.h"
#include "base/cleanup.h"
#include "heap/heap_reader.h"

#define SLICE_BYTES (64ull << 10)
#define PART_PLACES 8192ull
#define PART_SPAN (PART_PLACES * SLICE_BYTES)
#define PART_BYTES (PART_PLACES * 8)
#define ROOT_PLACES ((1ull << MACHINE_USER_BITS) / PART_SPAN)
#define ROOT_BYTES (ROOT_PLACES * 8)
/* 3.6 has words of its own in front of the root. */
#define MAX_ROOT_HEADER 256

#define PAGE_WORDS 20
#define MEMID_FROM 10 /* the place of a page in its arena: two words from one of these on */
#define ARENA_WORDS 16

/* For one module. */
#define MAX_TRIES 4096
/* So many pages of one part are looked at before a layout is believed, and all their lists. */
#define TRIALS 64
#define TOLERANCE 8
#define MAX_BROKEN 65536
#define MAX_BLOCKS (1ull << 31)
#define MAX_ARENAS 1024
#define MAX_FREE_SLICES (1u << 22)

enum start_kind { START_ADDRESS, START_WORDS, START_BYTES };

/* struct mi_page_s; `halves` are 16 bits long. */
struct page_layout {
	uint8_t free, local_free, thread_free, block, start; /* words */
	uint8_t used, capacity, reserved;		     /* halves */
	enum start_kind kind;
};

static const struct page_layout layouts[] = {
	/* 3.0 to 3.3 */
	{.free = 1,
	 .local_free = 3,
	 .thread_free = 4,
	 .block = 5,
	 .start = 6,
	 .used = 8,
	 .capacity = 9,
	 .reserved = 10,
	 .kind = START_ADDRESS},
	/* 3.4 */
	{.free = 1,
	 .local_free = 3,
	 .thread_free = 4,
	 .block = 5,
	 .start = 6,
	 .used = 8,
	 .capacity = 9,
	 .reserved = 10,
	 .kind = START_WORDS},
	/* 3.6 */
	{.free = 2,
	 .local_free = 3,
	 .thread_free = 8,
	 .block = 4,
	 .start = 6,
	 .used = 20,
	 .capacity = 28,
	 .reserved = 29,
	 .kind = START_BYTES},
};

struct mimalloc {
	const struct page_layout *layout;
	uint64_t variable; /* that leads to the map */
	uint32_t header;   /* how far behind that the root begins */
	char version[HEAP_VERSION_MAX];
};

struct page {
	uint64_t address, first, block, end;
	uint64_t lists[3]; /* free, local_free, and what other threads have freed */
	uint32_t capacity, reserved, used;
	uint64_t words[PAGE_WORDS];
};

/* From `start` on, `info` slices of which have its records. */
struct arena {
	uint64_t start, slices, info;
};

struct reading {
	struct peek *peek;
	const struct filter *heaps;
	struct heap *heap;
	const struct page_layout *layout;
	uint64_t root;
	uint64_t blocks;
	VEC(struct arena) arenas;
	uint32_t free_slices;
	bool swapped;
};

static int read_word(const struct reading *reading, uint64_t address, uint64_t *word)
{
	return address % 8 ? -EFAULT : heap_words(reading->peek, address, word, 1);
}

/* Pages. */

static uint32_t half(const uint64_t *words, uint32_t i)
{
	return (uint16_t)(words[i / 4] >> i % 4 * 16);
}

static uint64_t first_block(const struct page_layout *layout, const struct page *page)
{
	uint64_t word = page->words[layout->start];

	switch (layout->kind) {
	case START_WORDS:
		return page->address + (uint32_t)word * 8ull;
	case START_BYTES:
		return page->address + word;
	default:
		return word;
	}
}

/* 0; -ENOENT: it is there no more, and 3.0 leaves the map as it was; -EBADMSG: it is none; -EFAULT;
 * -ETIMEDOUT. */
static int read_page(const struct reading *reading, uint64_t address, struct page *page)
{
	const struct page_layout *layout = reading->layout;
	int error = address % 64 || !filter_has(reading->heaps, address)
			    ? -EBADMSG
			    : heap_words(reading->peek, address, page->words, PAGE_WORDS);
	uint64_t bytes;

	if (error)
		return error;
	page->address = address;
	page->block = page->words[layout->block];
	page->first = first_block(layout, page);
	page->used = half(page->words, layout->used);
	page->capacity = half(page->words, layout->capacity);
	page->reserved = half(page->words, layout->reserved);
	page->lists[0] = page->words[layout->free];
	page->lists[1] = page->words[layout->local_free];
	page->lists[2] = page->words[layout->thread_free] & ~3ull;
	if (!page->block && !page->capacity)
		return -ENOENT;
	if (page->block < 8 || page->block % 8 || page->block >= 1ull << MACHINE_USER_BITS ||
	    page->first % 8 || !page->reserved || page->capacity > page->reserved ||
	    page->used > page->capacity)
		return -EBADMSG;
	bytes = page->block * page->reserved;
	if (bytes >= 1ull << MACHINE_USER_BITS || !filter_has(reading->heaps, page->first) ||
	    !filter_has(reading->heaps, page->first + bytes - 1))
		return -EBADMSG;
	page->end = (page->first + bytes + SLICE_BYTES - 1) & ~(SLICE_BYTES - 1);
	return 0;
}

/* Where a page begins in the map: with its record, or with the slice of its first block. */
static bool begins_at(const struct page *page, uint64_t slice)
{
	return slice == (page->first & ~(SLICE_BYTES - 1)) ||
	       (slice == page->address && slice < page->first);
}

/* Pages of memory that a page's blocks begin in. */
static void look_ahead(struct reading *reading, const struct page *page)
{
	uint64_t pages[PEEK_AHEAD], step = MAX(page->block, MEMORY_PAGE);
	uint64_t end = page->first + page->capacity * page->block;
	size_t count = 0;

	for (uint64_t at = page->first; at < end && count < PEEK_AHEAD; at += step)
		pages[count++] = at & ~(MEMORY_PAGE - 1);
	peek_ahead_present(reading->peek, pages, count);
}

/* How many blocks a list has, all of the page; false: it is wrong. With a run, they become free. */
static bool walk_list(struct reading *reading, const struct page *page, uint64_t block,
		      const struct heap_run *run, uint32_t *count)
{
	for (*count = 0; block; (*count)++) {
		uint64_t distance = block - page->first;
		uint32_t i = (uint32_t)(distance / page->block);

		if (block < page->first || distance / page->block >= page->capacity ||
		    distance % page->block || *count > page->capacity ||
		    (run && !heap_is_live(reading->heap, run, i)))
			return false;
		if (run)
			heap_set_use(reading->heap, run, i, BLOCK_FREE);
		if (read_word(reading, block, &block)) {
			reading->swapped |= heap_is_swapped(reading->peek, block);
			return false;
		}
	}
	return true;
}

/* A thread that was stopped within malloc may not have counted its last block yet. */
static bool lists_hold(struct reading *reading, const struct page *page, const struct heap_run *run,
		       uint32_t *given_back)
{
	uint32_t own, local;
	uint64_t sum;

	if (page->lists[0] || page->lists[1] || page->lists[2])
		look_ahead(reading, page);
	if (!walk_list(reading, page, page->lists[0], run, &own) ||
	    !walk_list(reading, page, page->lists[1], run, &local) ||
	    !walk_list(reading, page, page->lists[2], run, given_back))
		return false;
	sum = (uint64_t)own + local + page->used;
	return *given_back <= page->used && (sum == page->capacity || sum == page->capacity + 1ull);
}

/* Finding. */

struct search {
	struct reading reading;
	struct mimalloc *found;
	size_t tries;
};

#define ELEMENTS_AHEAD 64

/* Elements [0, count) from an address on that lie in pages which are there, from *i on: the next
 * one that is not zero. */
static bool next_element(const struct reading *reading, uint64_t address, uint64_t count,
			 uint64_t *i, uint64_t *element)
{
	uint64_t words[ELEMENTS_AHEAD];

	while (*i < count) {
		uint64_t at = address + *i * 8, left = (MEMORY_PAGE - at % MEMORY_PAGE) / 8;
		uint64_t here = MIN(MIN(left, count - *i), (uint64_t)ELEMENTS_AHEAD);

		if (peek_words(reading->peek, at, words, here)) {
			*i += left;
			continue;
		}
		for (uint64_t j = 0; j < here; j++, (*i)++) {
			*element = words[j];
			if (*element)
				return true;
		}
	}
	return false;
}

/* Whether a part has pages of the layout, each where it has it; *base gets the address that the
 * part begins at. */
static bool part_holds(struct search *search, uint64_t part, uint64_t *base)
{
	struct reading *reading = &search->reading;
	uint64_t i = 0, element, before = 0;
	uint32_t good = 0, bad = 0, given_back;

	*base = 0;
	for (; good + bad < TRIALS && next_element(reading, part, PART_PLACES, &i, &element); i++) {
		struct page page;
		uint64_t start;
		int error;

		if (element == before)
			continue;
		before = element;
		error = read_page(reading, element, &page);
		if (error == -ENOENT)
			continue;
		start = error ? 0 : page.first & ~(PART_SPAN - 1);
		if (!*base)
			*base = start;
		if (start && start == *base && begins_at(&page, start + i * SLICE_BYTES) &&
		    lists_hold(reading, &page, NULL, &given_back))
			good++;
		else if (++bad > good / TOLERANCE + 2)
			return false;
	}
	return good && bad <= good / TOLERANCE && *base;
}

static bool may_be_part(const struct reading *reading, uint64_t part)
{
	return part % 64 == 0 && filter_has(reading->heaps, part) &&
	       filter_has(reading->heaps, part + PART_BYTES - 1);
}

/* The root is where the part of these addresses has its place. */
static bool root_from(struct search *search, uint64_t variable, uint64_t map, uint64_t place,
		      uint64_t base)
{
	uint64_t root = place - base / PART_SPAN * 8;

	if (base / PART_SPAN >= ROOT_PLACES || root < map || root - map > MAX_ROOT_HEADER)
		return false;
	*search->found = (struct mimalloc){.layout = search->reading.layout,
					   .variable = variable,
					   .header = (uint32_t)(root - map)};
	return true;
}

static bool try_map(struct search *search, uint64_t variable, uint64_t map)
{
	struct reading *reading = &search->reading;
	uint64_t count = ROOT_PLACES + MAX_ROOT_HEADER / 8, i = 0, part, base;
	uint32_t trials = 0;

	for (; trials < TRIALS && next_element(reading, map, count, &i, &part); i++, trials++) {
		/* Behind its header, it has nothing else. */
		if (!may_be_part(reading, part)) {
			if (i * 8 >= MAX_ROOT_HEADER)
				return false;
			continue;
		}
		for (size_t j = 0; j < ARRAY_SIZE(layouts); j++) {
			reading->layout = &layouts[j];
			if (part_holds(search, part, &base) &&
			    root_from(search, variable, map, map + i * 8, base))
				return true;
		}
	}
	return false;
}

static bool visit_page(void *context, uint64_t page, const uint64_t *words)
{
	struct search *search = context;

	for (uint64_t i = 0; i < MEMORY_PAGE / 8 && search->tries; i++) {
		if (words[i] % MEMORY_PAGE || !filter_has(search->reading.heaps, words[i]) ||
		    !filter_has(search->reading.heaps, words[i] + ROOT_BYTES - 1))
			continue;
		search->tries--;
		if (try_map(search, page + i * 8, words[i]))
			return true;
	}
	return false;
}

/* The library's own name has it: "libmimalloc.so.3.6". */
static void find_version(const struct heap_view *view, uint64_t data,
			 char version[HEAP_VERSION_MAX])
{
	const struct mapping *mapping = maps_find(view->maps, data);
	const char *name = mapping ? strstr(mapping->path, "libmimalloc") : NULL;
	const char *numbers = name ? strstr(name, ".so.") : NULL;

	if (!numbers || strncmp(numbers + 4, "3.", 2) != 0 ||
	    heap_version_copy(numbers + 4, version) < 3)
		version[0] = 0;
}

static int mimalloc_find(void *state, const struct heap_view *view, uint64_t start, uint64_t end)
{
	struct mimalloc *found = state;
	struct search search = {.reading = {.peek = view->peek, .heaps = view->heaps},
				.found = found,
				.tries = MAX_TRIES};

	for (size_t try = 0; try < HEAP_FIND_TRIES; try++) {
		if (heap_data_visit(view->peek, start, end, visit_page, &search)) {
			find_version(view, start, found->version);
			return 0;
		}
		/* Of an allocator that is not there, once is enough. */
		if (search.tries == MAX_TRIES)
			break;
		peek_forget(view->peek);
	}
	return peek_result(view->peek, -ENOENT);
}

/* Reading. */

static int add_own(struct reading *reading, uint64_t start, uint64_t end)
{
	struct heap_run run = {.start = start, .end = end, .use = RUN_OWN};

	reading->heap->figures[ALLOCATOR_METADATA] += end - start;
	return heap_add(reading->heap, &run);
}

/* An arena's own record says as much of where it begins as the page's does. */
static bool arena_holds(const struct reading *reading, uint64_t address, struct arena *arena)
{
	uint64_t words[ARENA_WORDS];

	if (address % 64 || !filter_has(reading->heaps, address) ||
	    heap_words(reading->peek, address, words, ARENA_WORDS))
		return false;
	for (size_t i = 0; i + 1 < ARENA_WORDS; i++) {
		arena->slices = words[i];
		arena->info = words[i + 1];
		if (arena->info && arena->info < arena->slices &&
		    arena->slices < (1ull << MACHINE_USER_BITS) / SLICE_BYTES &&
		    address - arena->start < arena->info * SLICE_BYTES &&
		    filter_has(reading->heaps, arena->start + arena->slices * SLICE_BYTES - 1))
			return true;
	}
	return false;
}

/* The arena that a page says that it lies in, with its place there. 0 or -ENOMEM. */
static int add_arena(struct reading *reading, const struct page *page, uint64_t slice)
{
	struct arena arena, *added;

	for (size_t i = MEMID_FROM; i + 1 < PAGE_WORDS; i++) {
		uint64_t index = (uint32_t)page->words[i + 1], count = page->words[i + 1] >> 32;

		arena.start = slice - index * SLICE_BYTES;
		if (!count || arena.start > slice ||
		    !arena_holds(reading, page->words[i], &arena) || index < arena.info ||
		    index + count > arena.slices)
			continue;
		for (size_t j = reading->arenas.count; j-- > 0;) {
			if (reading->arenas.items[j].start == arena.start)
				return 0;
		}
		if (reading->arenas.count == MAX_ARENAS)
			return 0;
		added = vec_push(&reading->arenas);
		if (!added)
			return -ENOMEM;
		*added = arena;
		return 0;
	}
	return 0;
}

/* 0; -E2BIG: there are too many blocks; -ENOMEM. Of a page that a thread is just changing, nothing
 * is said. */
static int add_page(struct reading *reading, const struct page *page, uint64_t slice)
{
	struct heap *heap = reading->heap;
	struct heap_run run = {.start = slice,
			       .end = page->end,
			       .first = page->first,
			       .block = page->block,
			       .count = page->capacity};
	uint32_t given_back = 0;

	reading->blocks += run.count;
	if (reading->blocks > MAX_BLOCKS)
		return -E2BIG;
	if (heap_add(heap, &run))
		return -ENOMEM;
	if (!lists_hold(reading, page, &heap->runs.items[heap->runs.count - 1], &given_back)) {
		heap_drop(&heap->runs.items[heap->runs.count - 1]);
		heap->broken++;
		return 0;
	}
	heap->figures[ALLOCATOR_ACTIVE] += run.end - run.start;
	heap->figures[ALLOCATOR_ALLOCATED] += page->used * page->block;
	heap->figures[ALLOCATOR_TRANSFER] += given_back * page->block;
	return add_arena(reading, page, slice);
}

/* One that a thread changes may be whole a moment later. */
static int read_page_twice(struct reading *reading, uint64_t address, struct page *page)
{
	int error = read_page(reading, address, page);

	if (error != -EBADMSG || reading->peek->is_present)
		return error;
	peek_forget(reading->peek);
	return read_page(reading, address, page);
}

/* *next: where the page before ended. */
static int walk_part(struct reading *reading, uint64_t part, uint64_t base, uint64_t *next)
{
	uint64_t i = *next > base ? MIN((*next - base) / SLICE_BYTES, PART_PLACES) : 0, element;
	int error = 0;

	for (; !error && next_element(reading, part, PART_PLACES, &i, &element); i++) {
		struct page page;

		error = read_page_twice(reading, element, &page);
		if (error == -ETIMEDOUT)
			return error;
		if (error == -ENOENT) {
			error = 0;
			continue;
		}
		if (error || !begins_at(&page, base + i * SLICE_BYTES)) {
			error = ++reading->heap->broken > MAX_BROKEN ? -ENOENT : 0;
			continue;
		}
		error = add_page(reading, &page, base + i * SLICE_BYTES);
		*next = page.end;
		if (page.end > base)
			i = MIN((page.end - base) / SLICE_BYTES, PART_PLACES) - 1;
	}
	return error ? error : peek_result(reading->peek, 0);
}

/* Of the first addresses, there is nothing but what free(NULL) looks at. 0; -ENOENT: it is no such
 * map (any more); -E2BIG; -ENOMEM; -ETIMEDOUT. */
static int walk_map(struct reading *reading)
{
	uint64_t i = 1, part, next = 0, before = 0;
	int error = 0;

	for (; !error && next_element(reading, reading->root, ROOT_PLACES, &i, &part); i++) {
		/* No two addresses share one; that would take for ever. */
		if (!may_be_part(reading, part) || part == before ||
		    add_own(reading, part, part + PART_BYTES)) {
			reading->heap->broken++;
			continue;
		}
		before = part;
		error = walk_part(reading, part, i * PART_SPAN, &next);
	}
	return error;
}

/* Free memory of an arena in [start, end): what is in memory, and what is not. 0 or -ENOMEM. */
static int add_free(struct reading *reading, uint64_t start, uint64_t end)
{
	uint64_t entries[SLICE_BYTES / MEMORY_PAGE];
	uint64_t *figures = reading->heap->figures;
	struct heap_run run = {.start = start};
	int error = 0;

	for (uint64_t at = start; !error && at < end; at += SLICE_BYTES) {
		enum run_use use = RUN_RETAINED;

		if (++reading->free_slices > MAX_FREE_SLICES)
			return 0;
		pagemap_read(reading->peek->source, reading->peek->pagemap, at, entries,
			     ARRAY_SIZE(entries));
		for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
			if (pagemap_is_present(entries[i]) || pagemap_is_swapped(entries[i]))
				use = RUN_DIRTY;
		}
		figures[use == RUN_DIRTY ? ALLOCATOR_DIRTY : ALLOCATOR_RETAINED] += SLICE_BYTES;
		if (at > start && use != run.use) {
			error = heap_add(reading->heap, &run);
			run.start = at;
		}
		run.use = use;
		run.end = at + SLICE_BYTES;
	}
	return error || start >= end ? error : heap_add(reading->heap, &run);
}

/* Once all pages are known and sorted: what lies between those of an arena. 0 or -ENOMEM. */
static int add_rest(struct reading *reading, const struct arena *arena, size_t runs)
{
	uint64_t at = arena->start + arena->info * SLICE_BYTES;
	uint64_t end = arena->start + arena->slices * SLICE_BYTES;
	const struct heap_run *run = heap_at(reading->heap, at);
	int error = add_own(reading, arena->start, at);
	size_t i = run ? (size_t)(run - reading->heap->runs.items) : 0;

	for (; !error && i < runs; i++) {
		run = &reading->heap->runs.items[i];
		if (run->end <= at)
			continue;
		if (run->start >= end)
			break;
		/* The items may move. */
		uint64_t next = run->end;

		error = add_free(reading, at, MIN(MAX(run->start, at) & ~(SLICE_BYTES - 1), end));
		at = MAX(at, (next + SLICE_BYTES - 1) & ~(SLICE_BYTES - 1));
	}
	return error ? error : add_free(reading, at, end);
}

static int read_all(struct reading *reading)
{
	int error = walk_map(reading);
	size_t runs;

	if (error == -E2BIG) {
		reading->heap->why = "there are more blocks than can be read";
		error = 0;
	}
	if (error)
		return error;
	heap_sort(reading->heap);
	runs = reading->heap->runs.count;
	for (size_t i = 0; !error && i < reading->arenas.count; i++)
		error = add_rest(reading, &reading->arenas.items[i], runs);
	heap_sort(reading->heap);
	return error;
}

static const char *why_uncertain(const struct reading *reading)
{
	const struct heap *heap = reading->heap;

	if (heap->why)
		return heap->why;
	if (reading->swapped)
		return "a part of its free blocks is swapped out";
	return heap->broken ? "it changed while it was read" : NULL;
}

static const struct heap_version_range tested[] = {{3, 0, 0}, {3, 6, 6}};

static int mimalloc_read(void *state, const struct heap_view *view, struct heap *heap)
{
	const struct mimalloc *found = state;
	struct reading reading = {
		.peek = view->peek, .heaps = view->heaps, .heap = heap, .layout = found->layout};
	uint64_t *figures = heap->figures;
	int error = read_word(&reading, found->variable, &reading.root) ? -ENOENT : 0;

	reading.root += found->header;
	if (!error)
		error = read_all(&reading);
	vec_free(&reading.arenas);
	if (error)
		return error;
	figures[ALLOCATOR_MAPPED] =
		figures[ALLOCATOR_ACTIVE] + figures[ALLOCATOR_DIRTY] + figures[ALLOCATOR_METADATA];
	heap_finish(heap);
	if (found->version[0])
		heap_name(heap, "mimalloc", found->version, tested, ARRAY_SIZE(tested));
	else
		snprintf(heap->name, sizeof(heap->name), "mimalloc 3");
	heap->blocks_certain = !heap->why;
	heap->why = why_uncertain(&reading);
	return peek_result(view->peek, 0);
}

const struct heap_reader heap_reader_mimalloc3 = {
	.name = "mimalloc 3",
	.advice.retained = ": it does so by itself while it is used, after MIMALLOC_PURGE_DELAY; "
			   "mi_collect(true) (mimalloc.h) does it at once",
	.state_size = sizeof(struct mimalloc),
	.find = mimalloc_find,
	.read = mimalloc_read,
};
