// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The heap of mimalloc 3, read from outside. A variable of the module leads to the map of pages: a
 * root with an element for each 512 MiB of addresses, which leads to a part with an element for
 * each 64 KiB, which leads to the record of the page with this memory. The record has the size of
 * its blocks, the address of the first one, and three lists of free ones.
 *
 * The map is recognised by its targets: records of pages whose first block is at the map's address.
 * The layout of a record is not chosen by version: in the right one, in page after page, the lists
 * have as many blocks as the record says. Arenas, which contain pages, are found by a page's record
 * of its position in one, and by the arena's own size.
 *
 * Source: mimalloc 3.0.1 to 3.4.3, page-map.c, types.h, arena.c; 3.6.0 by its behaviour. Without
 * padding and encoded lists, that is, neither debug nor secure builds.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "heap/allocators/mimalloc_pages.h"

#define SLICE_BYTES MIMALLOC_SLICE_BYTES
#define PART_PLACES 8192ull
#define PART_SPAN (PART_PLACES * SLICE_BYTES)
#define PART_BYTES (PART_PLACES * 8)
#define ROOT_PLACES ((1ull << MACHINE_USER_BITS) / PART_SPAN)
#define ROOT_BYTES (ROOT_PLACES * 8)
/* 3.6 has a header in front of the root. */
#define MAX_ROOT_HEADER 256

#define PAGE_WORDS 20
#define MEMID_FROM 10 /* a page's position in its arena: two words from one of these on */
#define ARENA_WORDS 16

/* Limit per module. */
#define MAX_TRIES 4096
/* Pages of one part examined, with all their lists, before a layout is accepted. */
#define TRIALS 64
#define TOLERANCE 8
#define MAX_BROKEN 65536
#define MAX_ARENAS 1024
#define MAX_FREE_SLICES (1u << 22)

enum start_kind { START_ADDRESS, START_WORDS, START_BYTES };

/* struct mi_page_s; `halves` are 16 bits long. */
struct page_layout {
	uint8_t free, local_free, thread_free, block, start; /* words */
	uint8_t used, capacity, reserved;		     /* halves */
	enum start_kind kind;
};

/* The same from 3.0 to 3.4. */
#define PAGE_EARLY                                                                                 \
	.free = 1, .local_free = 3, .thread_free = 4, .block = 5, .start = 6, .used = 8,           \
	.capacity = 9, .reserved = 10

static const struct page_layout layouts[] = {
	/* 3.0 to 3.3 */
	{PAGE_EARLY, .kind = START_ADDRESS},
	/* 3.4 */
	{PAGE_EARLY, .kind = START_WORDS},
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
	uint64_t variable; /* leads to the map */
	uint32_t header;   /* bytes before the root */
	char version[HEAP_VERSION_MAX];
};

struct page {
	struct mimalloc_page blocks;
	uint64_t address;
	uint64_t words[PAGE_WORDS];
};

/* From `start` on; the first `info` slices contain its records. */
struct arena {
	uint64_t start, slices, info;
};

struct reading {
	struct mimalloc_reading of;
	const struct page_layout *layout;
	uint64_t root;
	VEC(struct arena) arenas;
	uint32_t free_slices;
};

/* -------- pages */

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

/*
 * Returns 0; -ENOENT: it is gone, although 3.0 leaves it in the map; -EBADMSG: not a page; -EFAULT;
 * -ETIMEDOUT.
 */
static int read_page(const struct reading *reading, uint64_t address, struct page *page)
{
	const struct page_layout *layout = reading->layout;
	const struct filter *heaps = reading->of.heaps;
	struct mimalloc_page *blocks = &page->blocks;
	int error = address % 64 || !filter_has(heaps, address)
			    ? -EBADMSG
			    : heap_words(reading->of.peek, address, page->words, PAGE_WORDS);
	uint64_t bytes;

	if (error)
		return error;
	page->address = address;
	*blocks = (struct mimalloc_page){
		.first = first_block(layout, page),
		.block = page->words[layout->block],
		.lists = {page->words[layout->free], page->words[layout->local_free],
			  page->words[layout->thread_free] & ~3ull},
		.capacity = half(page->words, layout->capacity),
		.reserved = half(page->words, layout->reserved),
		.used = half(page->words, layout->used),
	};
	if (!blocks->block && !blocks->capacity)
		return -ENOENT;
	if (blocks->block < 8 || blocks->block % 8 || blocks->block >= 1ull << MACHINE_USER_BITS ||
	    blocks->first % 8 || !blocks->reserved || blocks->capacity > blocks->reserved ||
	    blocks->used > blocks->capacity)
		return -EBADMSG;
	bytes = blocks->block * blocks->reserved;
	if (bytes >= 1ull << MACHINE_USER_BITS || !filter_has(heaps, blocks->first) ||
	    !filter_has(heaps, blocks->first + bytes - 1))
		return -EBADMSG;
	blocks->end = (blocks->first + bytes + SLICE_BYTES - 1) & ~(SLICE_BYTES - 1);
	return 0;
}

/*
 * Returns whether a page begins at this slice of the map: that of its record, or of its first
 * block.
 */
static bool begins_at(const struct page *page, uint64_t slice)
{
	uint64_t first = page->blocks.first;

	return slice == (first & ~(SLICE_BYTES - 1)) || (slice == page->address && slice < first);
}

/* -------- finding */

struct search {
	struct reading reading;
	struct mimalloc *found;
	size_t tries;
};

#define ELEMENTS_AHEAD 64

/*
 * Returns the next nonzero element from *i on, of elements [0, count) from an address on, in
 * present pages.
 */
static bool next_element(const struct reading *reading, uint64_t address, uint64_t count,
			 uint64_t *i, uint64_t *element)
{
	uint64_t words[ELEMENTS_AHEAD];

	while (*i < count) {
		uint64_t at = address + *i * 8, left = (MEMORY_PAGE - at % MEMORY_PAGE) / 8;
		uint64_t here = MIN(MIN(left, count - *i), (uint64_t)ELEMENTS_AHEAD);

		if (peek_words(reading->of.peek, at, words, here)) {
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

/*
 * Returns whether a part has pages of the layout, each at its own address; *base gets the address
 * at which the part begins.
 */
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
		start = error ? 0 : page.blocks.first & ~(PART_SPAN - 1);
		if (!*base)
			*base = start;
		if (start && start == *base && begins_at(&page, start + i * SLICE_BYTES) &&
		    mimalloc_lists_hold(&reading->of, &page.blocks, NULL, &given_back))
			good++;
		else if (++bad > good / TOLERANCE + 2)
			return false;
	}
	return good && bad <= good / TOLERANCE && *base;
}

static bool may_be_part(const struct reading *reading, uint64_t part)
{
	return part % 64 == 0 && filter_has(reading->of.heaps, part) &&
	       filter_has(reading->of.heaps, part + PART_BYTES - 1);
}

/* Computes the root from the element of the part of these addresses. */
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
		/* After its header, it has only parts. */
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
		if (words[i] % MEMORY_PAGE || !filter_has(search->reading.of.heaps, words[i]) ||
		    !filter_has(search->reading.of.heaps, words[i] + ROOT_BYTES - 1))
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
	struct search search = {.reading.of = {.peek = view->peek, .heaps = view->heaps},
				.found = found,
				.tries = MAX_TRIES};

	for (size_t try = 0; try < HEAP_FIND_TRIES; try++) {
		if (heap_data_visit(view->peek, start, end, visit_page, &search)) {
			find_version(view, start, found->version);
			return 0;
		}
		/* For an allocator that is absent, one attempt is enough. */
		if (search.tries == MAX_TRIES)
			break;
		peek_forget(view->peek);
	}
	return peek_result(view->peek, -ENOENT);
}

/* -------- reading */

/* Returns whether an arena's own record agrees with the page's on where it begins. */
static bool arena_holds(const struct reading *reading, uint64_t address, struct arena *arena)
{
	uint64_t words[ARENA_WORDS];

	if (address % 64 || !filter_has(reading->of.heaps, address) ||
	    heap_words(reading->of.peek, address, words, ARENA_WORDS))
		return false;
	for (size_t i = 0; i + 1 < ARENA_WORDS; i++) {
		arena->slices = words[i];
		arena->info = words[i + 1];
		if (arena->info && arena->info < arena->slices &&
		    arena->slices < (1ull << MACHINE_USER_BITS) / SLICE_BYTES &&
		    address - arena->start < arena->info * SLICE_BYTES &&
		    filter_has(reading->of.heaps, arena->start + arena->slices * SLICE_BYTES - 1))
			return true;
	}
	return false;
}

/* Adds the arena that a page refers to, with its position there. Returns 0 or -ENOMEM. */
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

/* Errors as mimalloc_page_add(). */
static int add_page(struct reading *reading, struct page *page, uint64_t slice)
{
	int error;

	page->blocks.start = slice;
	error = mimalloc_page_add(&reading->of, &page->blocks);
	if (!error)
		error = add_arena(reading, page, slice);
	return MIN(error, 0);
}

/* A page that a thread is changing may be consistent a moment later. */
static int read_page_twice(struct reading *reading, uint64_t address, struct page *page)
{
	int error = read_page(reading, address, page);

	if (error != -EBADMSG || reading->of.peek->is_present)
		return error;
	peek_forget(reading->of.peek);
	return read_page(reading, address, page);
}

/* *next: the end of the previous page. */
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
			error = ++reading->of.heap->broken > MAX_BROKEN ? -ENOENT : 0;
			continue;
		}
		error = add_page(reading, &page, base + i * SLICE_BYTES);
		*next = page.blocks.end;
		if (page.blocks.end > base)
			i = MIN((page.blocks.end - base) / SLICE_BYTES, PART_PLACES) - 1;
	}
	return error ? error : peek_result(reading->of.peek, 0);
}

/*
 * Walks the map. The first addresses are only for free(NULL). Returns 0; -ENOENT: no such map (any
 * more); -E2BIG; -ENOMEM; -ETIMEDOUT.
 */
static int walk_map(struct reading *reading)
{
	uint64_t i = 1, part, next = 0, before = 0;
	int error = 0;

	for (; !error && next_element(reading, reading->root, ROOT_PLACES, &i, &part); i++) {
		/* No two addresses share a part; that would take for ever. */
		if (!may_be_part(reading, part) || part == before ||
		    mimalloc_own_add(&reading->of, part, part + PART_BYTES)) {
			reading->of.heap->broken++;
			continue;
		}
		before = part;
		error = walk_part(reading, part, i * PART_SPAN, &next);
	}
	return error;
}

/* Adds an arena's free memory in [start, end), resident or not. Returns 0 or -ENOMEM. */
static int add_free(struct reading *reading, uint64_t start, uint64_t end)
{
	uint64_t entries[SLICE_BYTES / MEMORY_PAGE];
	uint64_t *figures = reading->of.heap->figures;
	struct heap_run run = {.start = start};
	int error = 0;

	for (uint64_t at = start; !error && at < end; at += SLICE_BYTES) {
		enum run_use use = RUN_RETAINED;

		if (++reading->free_slices > MAX_FREE_SLICES)
			return 0;
		pagemap_read(reading->of.peek->source, reading->of.peek->pagemap, at, entries,
			     ARRAY_SIZE(entries));
		for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
			if (pagemap_is_present(entries[i]) || pagemap_is_swapped(entries[i]))
				use = RUN_DIRTY;
		}
		figures[use == RUN_DIRTY ? ALLOCATOR_DIRTY : ALLOCATOR_RETAINED] += SLICE_BYTES;
		if (at > start && use != run.use) {
			error = heap_add(reading->of.heap, &run);
			run.start = at;
		}
		run.use = use;
		run.end = at + SLICE_BYTES;
	}
	return error || start >= end ? error : heap_add(reading->of.heap, &run);
}

/*
 * Adds the memory between an arena's pages, once all pages are known and sorted. Returns 0 or
 * -ENOMEM.
 */
static int add_rest(struct reading *reading, const struct arena *arena, size_t runs)
{
	uint64_t at = arena->start + arena->info * SLICE_BYTES;
	uint64_t end = arena->start + arena->slices * SLICE_BYTES;
	const struct heap_run *run = heap_at(reading->of.heap, at);
	int error = mimalloc_own_add(&reading->of, arena->start, at);
	size_t i = run ? (size_t)(run - reading->of.heap->runs.items) : 0;

	for (; !error && i < runs; i++) {
		run = &reading->of.heap->runs.items[i];
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
		reading->of.heap->why = "there are more blocks than can be read";
		error = 0;
	}
	if (error)
		return error;
	heap_sort(reading->of.heap);
	runs = reading->of.heap->runs.count;
	for (size_t i = 0; !error && i < reading->arenas.count; i++)
		error = add_rest(reading, &reading->arenas.items[i], runs);
	heap_sort(reading->of.heap);
	return error;
}

static const struct heap_version_range tested[] = {{3, 0, 0}, {3, 6, 6}};

static int mimalloc_read(void *state, const struct heap_view *view, struct heap *heap)
{
	const struct mimalloc *found = state;
	struct reading reading = {.of = {.peek = view->peek, .heaps = view->heaps, .heap = heap},
				  .layout = found->layout};
	int error = mimalloc_word(&reading.of, found->variable, &reading.root) ? -ENOENT : 0;

	reading.root += found->header;
	if (!error)
		error = read_all(&reading);
	vec_free(&reading.arenas);
	if (error)
		return error;
	mimalloc_finish(heap);
	if (found->version[0])
		heap_name(heap, "mimalloc", found->version, tested, ARRAY_SIZE(tested));
	else
		snprintf(heap->name, sizeof(heap->name), "mimalloc 3");
	heap->blocks_certain = !heap->why;
	heap->why = mimalloc_why_uncertain(&reading.of);
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
