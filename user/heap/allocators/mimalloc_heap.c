// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mimalloc's heap, read from outside. The main thread's heap is in the module's data, and is
 * recognised by the sizes of its queues and by the pointers to it. It has a random number that
 * every segment contains, combined with the segment's address, at a multiple of 32 MiB. A segment's
 * records have the pages, the size of their blocks, and their lists of free ones; blocks freed by
 * other threads are on separate lists.
 *
 * The result is accepted if in every page the lists have as many blocks as its record says, and if
 * there are as many segments as each thread has counted.
 *
 * Source: mimalloc 2.0.9, mimalloc-types.h, segment.c, page.c; without padding, that is, not a
 * debug build; including encoded lists (MI_SECURE=4).
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "heap/allocators/mimalloc_pages.h"

/* struct mi_segment_s, which has a record for each slice of 64 KiB. */
#define SEGMENT_BYTES (32ull << 20)
#define SLICE_BYTES MIMALLOC_SLICE_BYTES
#define SLICES 512
#define SEGMENT_WORDS 33
#define SEGMENT_SLICES_AT 264
enum segment_word {
	SEGMENT_COMMITTED = 14, /* and seven more */
	SEGMENT_USED = 26,
	SEGMENT_COOKIE,
	SEGMENT_SLICES,
	SEGMENT_INFO_SLICES,
	SEGMENT_KIND,
	SEGMENT_ENTRIES,
	SEGMENT_THREAD
};

/* struct mi_page_s. */
#define MAX_PAGE_WORDS 12
#define PAGE_FREE 2
#define PAGE_LOCAL_FREE 4
#define PAGE_KEYS 5
#define HUGE_BLOCK (2ull << 30)
#define MAX_OFFSET_BLOCK 1024
#define PAGE_OFFSET 384

/* struct mi_heap_s, and struct mi_tld_s of its thread. */
#define HEAP_QUEUE_SIZE 1056
#define HEAP_DELAYED 2840
#define HEAP_THREAD 2848
#define HEAP_COOKIE 2864
#define HEAP_KEYS 2872
#define HEAP_BYTES 3064
#define THREAD_HEAP 16
#define THREAD_SEGMENTS 896
#define THREAD_LINKS 928
#define THREAD_OS 944
#define THREAD_STATS 960
#define THREAD_DATA_BYTES 4600

#define MAX_TRIES 4096
#define MAX_LOOKS (1u << 18) /* at addresses where a segment may begin */
#define MAX_BROKEN 65536
#define NO_MORE_SEGMENTS UINT64_MAX

struct mimalloc_layout {
	const char *name;
	uint32_t page_words;
	uint32_t thread_free, heap; /* in a page, in words */
	bool encoded;
};

static const struct mimalloc_layout layouts[] = {
	{"mimalloc 2.0.9", .page_words = 10, .thread_free = 5, .heap = 6},
	{"mimalloc 2.0.9 (secure)", .page_words = 12, .thread_free = 7, .heap = 8, .encoded = true},
};

struct mimalloc {
	const struct mimalloc_layout *layout;
	uint64_t main; /* the main thread's heap */
};

struct segment {
	uint64_t start, end, thread, used;
	uint64_t entries, info_slices;
	const uint64_t *committed; /* a bit for each slice */
	bool huge;
};

struct page {
	struct mimalloc_page blocks;
	uint64_t heap;
	bool unknown; /* inconsistent */
};

struct reading {
	struct mimalloc_reading of;
	const struct mimalloc_layout *layout;
	uint64_t main, cookie;
	VEC(uint64_t) threads; /* with segments, one entry for each; sorted once all are known */
	VEC(uint64_t) owners;  /* heaps with pages */
};

/* -------- heaps */

/* Its queues have these sizes, and its thread's data points back to it. */
static bool heap_holds(const struct reading *reading, uint64_t heap, uint64_t *thread_data)
{
	static const uint64_t sizes[] = {8, 8, 16, 24, 32, 40, 48, 56, 64, 80};
	uint64_t word, links[2], backing, data;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (mimalloc_word(&reading->of, heap + HEAP_QUEUE_SIZE + i * 24, &word) ||
		    word != sizes[i])
			return false;
	}
	if (mimalloc_word(&reading->of, heap, thread_data) || *thread_data % 8 ||
	    heap_words(reading->of.peek, *thread_data + THREAD_LINKS, links, 2) ||
	    links[0] != *thread_data + THREAD_STATS || links[1] != *thread_data + THREAD_OS ||
	    mimalloc_word(&reading->of, *thread_data + THREAD_HEAP, &backing) ||
	    mimalloc_word(&reading->of, backing, &data))
		return false;
	return data == *thread_data;
}

struct search {
	struct reading reading;
	uint64_t start, end; /* of a module's data */
	size_t tries;
};

static bool visit_page(void *context, uint64_t page, const uint64_t *words)
{
	struct search *search = context;
	struct reading *reading = &search->reading;

	for (uint64_t i = 0; i < MEMORY_PAGE / 8 && search->tries; i++) {
		uint64_t heap = page + i * 8 - HEAP_QUEUE_SIZE, data;

		if (words[i] != 8 || heap < search->start || heap + HEAP_BYTES > search->end)
			continue;
		search->tries--;
		if (!heap_holds(reading, heap, &data) || data < search->start ||
		    data > search->end ||
		    mimalloc_word(&reading->of, heap + HEAP_COOKIE, &reading->cookie) ||
		    reading->cookie <= 1)
			continue;
		reading->main = heap;
		return true;
	}
	return false;
}

/* -------- segments */

static uint64_t next_slice(const struct reading *reading, const struct segment *segment, uint64_t i,
			   struct page *page);

/* Returns 0; -ENOENT: none begins there. `words` belongs to the caller. */
static int read_segment(const struct reading *reading, uint64_t address,
			uint64_t words[SEGMENT_WORDS], struct segment *segment)
{
	int error = heap_words(reading->of.peek, address, words, SEGMENT_WORDS);
	uint64_t slices = words[SEGMENT_SLICES];

	if (error == -ETIMEDOUT)
		return error;
	if (error || words[SEGMENT_COOKIE] != (address ^ reading->cookie) || !slices ||
	    slices > (1ull << MACHINE_USER_BITS) / SLICE_BYTES ||
	    words[SEGMENT_ENTRIES] > MIN(slices, (uint64_t)SLICES) ||
	    words[SEGMENT_INFO_SLICES] == 0 || words[SEGMENT_INFO_SLICES] >= words[SEGMENT_ENTRIES])
		return -ENOENT;
	*segment = (struct segment){.start = address,
				    .end = address + slices * SLICE_BYTES,
				    .thread = words[SEGMENT_THREAD],
				    .used = words[SEGMENT_USED],
				    .entries = words[SEGMENT_ENTRIES],
				    .info_slices = words[SEGMENT_INFO_SLICES],
				    .committed = words + SEGMENT_COMMITTED,
				    .huge = (uint32_t)words[SEGMENT_KIND]};
	return segment->huge || slices == SLICES ? 0 : -ENOENT;
}

/* Returns the next address in heaps, from an address on, where a segment may begin. */
static uint64_t next_place(const struct reading *reading, size_t *range, uint64_t from)
{
	for (; *range < reading->of.heaps->ranges.count; (*range)++) {
		const struct filter_range *at = &reading->of.heaps->ranges.items[*range];
		uint64_t start = MAX(at->start, from);

		start = (start + SEGMENT_BYTES - 1) / SEGMENT_BYTES * SEGMENT_BYTES;
		if (start < at->end)
			return start;
	}
	return NO_MORE_SEGMENTS;
}

/*
 * Finds the first segment from an address on. Returns 0; -ENOENT: none; -E2BIG: too many
 * candidates.
 */
static int next_segment(const struct reading *reading, uint64_t from, size_t *range, size_t *looks,
			uint64_t words[SEGMENT_WORDS], struct segment *segment)
{
	uint64_t place = next_place(reading, range, from);
	int error = -ENOENT;

	for (; place != NO_MORE_SEGMENTS; place = next_place(reading, range, place + 1)) {
		if (++*looks > MAX_LOOKS)
			return -E2BIG;
		error = read_segment(reading, place, words, segment);
		if (error != -ENOENT)
			return error;
	}
	return -ENOENT;
}

/* Determines the layout of a segment's slice records: in the right one they are contiguous. */
static bool slices_hold(const struct reading *reading, const struct segment *segment)
{
	uint64_t i = segment->info_slices, used = 0;
	struct page page;

	while (i < segment->entries) {
		uint64_t next = next_slice(reading, segment, i, &page);

		if (!next || page.unknown)
			return false;
		used += page.blocks.block != 0;
		i = next;
	}
	return used == segment->used;
}

static bool try_layouts(struct reading *reading)
{
	uint64_t words[SEGMENT_WORDS], from = 0;
	size_t range = 0, looks = 0;
	struct segment segment;

	while (!next_segment(reading, from, &range, &looks, words, &segment)) {
		from = segment.start + 1;
		for (size_t i = 0; segment.used && i < ARRAY_SIZE(layouts); i++) {
			reading->layout = &layouts[i];
			if (slices_hold(reading, &segment))
				return true;
		}
	}
	return false;
}

static bool find_layout(struct reading *reading)
{
	for (size_t try = 0; try < HEAP_FIND_TRIES; try++) {
		if (try_layouts(reading))
			return true;
		peek_forget(reading->of.peek);
	}
	return false;
}

static int mimalloc_find(void *state, const struct heap_view *view, uint64_t start, uint64_t end)
{
	struct peek *peek = view->peek;
	struct search search = {.reading.of = {.peek = peek, .heaps = view->heaps},
				.start = start,
				.end = end,
				.tries = MAX_TRIES};

	if (end < start || end - start < HEAP_BYTES)
		return -ENOENT;
	if (!heap_data_visit(peek, start, end, visit_page, &search) ||
	    !find_layout(&search.reading))
		return peek_result(peek, -ENOENT);
	*(struct mimalloc *)state = (struct mimalloc){search.reading.layout, search.reading.main};
	return 0;
}

/* -------- pages */

/* Returns the address of a slice's record. */
static uint64_t page_at(const struct reading *reading, const struct segment *segment, uint64_t i)
{
	return segment->start + SEGMENT_SLICES_AT + i * reading->layout->page_words * 8;
}

/* Reads a page from its words. Returns false if inconsistent. */
static bool page_from(const struct reading *reading, const struct segment *segment, uint64_t i,
		      const uint64_t words[MAX_PAGE_WORDS], struct page *page)
{
	uint64_t start = segment->start + i * SLICE_BYTES, bytes;
	struct mimalloc_page *blocks = &page->blocks;

	*blocks = (struct mimalloc_page){
		.start = start,
		.end = start + (uint32_t)words[0] * SLICE_BYTES,
		.block = words[3] >> 32,
		.lists = {words[PAGE_FREE], words[PAGE_LOCAL_FREE],
			  words[reading->layout->thread_free] & ~3ull},
		.capacity = (uint16_t)(words[1] >> 16),
		.reserved = (uint16_t)(words[1] >> 32),
		.used = (uint32_t)words[3],
		.owner = reading->layout->encoded ? page_at(reading, segment, i) : 0,
		.keys = {words[PAGE_KEYS], words[PAGE_KEYS + 1]},
	};
	page->heap = words[reading->layout->heap];
	if (blocks->block == 0)
		return true;
	blocks->first = start;
	if (blocks->block >= 8 && blocks->block <= MAX_OFFSET_BLOCK)
		blocks->first += PAGE_OFFSET;
	bytes = blocks->end - blocks->first;
	if (blocks->block >= HUGE_BLOCK)
		blocks->block = bytes;
	return blocks->block >= 8 && blocks->block % 8 == 0 && blocks->block <= bytes &&
	       blocks->reserved == (uint16_t)(bytes / blocks->block) &&
	       blocks->capacity <= blocks->reserved && blocks->used <= blocks->capacity;
}

/*
 * Reads the page or segment that begins at the i-th slice, used if it has a block size, and returns
 * the start of the next one; 0: they are not contiguous.
 */
static uint64_t next_slice(const struct reading *reading, const struct segment *segment, uint64_t i,
			   struct page *page)
{
	uint64_t words[MAX_PAGE_WORDS] = {0}, count;

	if (heap_words(reading->of.peek, page_at(reading, segment, i), words,
		       reading->layout->page_words))
		return 0;
	count = (uint32_t)words[0];
	if (!count || words[0] >> 32 || count > (segment->end - segment->start) / SLICE_BYTES - i)
		return 0;
	page->unknown = !page_from(reading, segment, i, words, page);
	return i + count;
}

/* Errors as mimalloc_page_add(). */
static int add_page(struct reading *reading, const struct page *page)
{
	int error = mimalloc_page_add(&reading->of, &page->blocks);
	uint64_t *owner;

	if (error > 0)
		return 0;
	if (error || !page->heap ||
	    (reading->owners.count &&
	     reading->owners.items[reading->owners.count - 1] == page->heap))
		return error;
	owner = vec_push(&reading->owners);
	if (!owner)
		return -ENOMEM;
	*owner = page->heap;
	return 0;
}

static bool is_committed(const struct segment *segment, uint64_t slice)
{
	return segment->huge || segment->committed[slice / 64] >> slice % 64 & 1;
}

/* Adds the slices from `i` to before `end`, which are in no page. */
static int add_free(struct reading *reading, const struct segment *segment, uint64_t i,
		    uint64_t end)
{
	uint64_t *figures = reading->of.heap->figures;
	int error = 0;

	while (!error && i < end) {
		bool committed = is_committed(segment, i);
		struct heap_run run = {.start = segment->start + i * SLICE_BYTES,
				       .use = committed ? RUN_DIRTY : RUN_RETAINED};

		for (i++; i < end && is_committed(segment, i) == committed;)
			i++;
		run.end = segment->start + i * SLICE_BYTES;
		if (committed)
			figures[ALLOCATOR_DIRTY] += run.end - run.start;
		else
			figures[ALLOCATOR_RETAINED] += run.end - run.start;
		error = heap_add(reading->of.heap, &run);
	}
	return error;
}

static int walk_slices(struct reading *reading, const struct segment *segment)
{
	uint64_t i = segment->info_slices, next;
	int error = 0;

	for (; !error && i < segment->entries; i = next) {
		struct page page;

		next = next_slice(reading, segment, i, &page);
		if (!next) {
			reading->of.heap->broken++;
			return 0;
		}
		if (page.unknown)
			reading->of.heap->broken++;
		else if (page.blocks.block)
			error = add_page(reading, &page);
		else
			error = add_free(reading, segment, i, MIN(next, segment->entries));
	}
	return error;
}

static int add_segment(struct reading *reading, const struct segment *segment)
{
	uint64_t pages[PEEK_AHEAD], *thread;
	uint64_t info = segment->info_slices * SLICE_BYTES;
	size_t count = MIN(info / MEMORY_PAGE, PEEK_AHEAD);
	int error;

	/* Kept for later: it is empty. */
	if (!segment->used && !segment->thread)
		return add_free(reading, segment, 0, segment->entries);
	for (size_t i = 0; i < count; i++)
		pages[i] = segment->start + i * MEMORY_PAGE;
	peek_ahead_present(reading->of.peek, pages, count);
	thread = vec_push(&reading->threads);
	if (!thread)
		return -ENOMEM;
	*thread = segment->thread;
	error = mimalloc_own_add(&reading->of, segment->start, segment->start + info);
	return error ? error : walk_slices(reading, segment);
}

/* Returns 0; -ENOENT: too much to read; -ENOMEM; -ETIMEDOUT. */
static int walk_segments(struct reading *reading)
{
	uint64_t words[SEGMENT_WORDS], from = 0;
	size_t range = 0, looks = 0;
	struct segment segment;
	int error = 0;

	while (!error) {
		error = next_segment(reading, from, &range, &looks, words, &segment);
		if (error)
			break;
		from = segment.end;
		error = add_segment(reading, &segment);
		if (!error && reading->of.heap->broken > MAX_BROKEN)
			return -ENOENT;
		if (!error)
			error = peek_result(reading->of.peek, 0);
	}
	if (error == -E2BIG)
		reading->of.heap->why =
			"there is more memory, or there are more blocks, than can be read";
	return error == -ENOENT || error == -E2BIG ? 0 : error;
}

static int compare_words(const void *left_pointer, const void *right_pointer)
{
	const uint64_t *left = left_pointer, *right = right_pointer;

	return *left < *right ? -1 : *left > *right;
}

/* Releases blocks that other threads have freed in full pages. */
static bool delayed_hold(struct reading *reading, uint64_t owner)
{
	struct heap *heap = reading->of.heap;
	uint64_t block, keys[2];

	if (mimalloc_word(&reading->of, owner + HEAP_DELAYED, &block) ||
	    heap_words(reading->of.peek, owner + HEAP_KEYS, keys, 2))
		return false;
	while (block) {
		const struct heap_run *run = heap_at(heap, block);

		/* A block in no run is unknown, and is on no second list. */
		if (!run || !heap_transfer(heap, block, run->block))
			return false;
		if (mimalloc_word(&reading->of, block, &block)) {
			reading->of.swapped |= heap_is_swapped(reading->of.peek, block);
			return false;
		}
		block = mimalloc_decode(reading->layout->encoded ? owner : 0, keys, block);
	}
	return true;
}

/* Returns whether a thread has as many segments as were found. */
static bool count_holds(const struct reading *reading, uint64_t owner, uint64_t thread_data)
{
	uint64_t thread, counted;
	const uint64_t *threads = reading->threads.items;
	size_t count = reading->threads.count, before;

	if (mimalloc_word(&reading->of, owner + HEAP_THREAD, &thread) ||
	    mimalloc_word(&reading->of, thread_data + THREAD_SEGMENTS, &counted))
		return false;
	before = SORTED_BEFORE(other, threads, count, *other < thread);
	return SORTED_BEFORE(other, threads, count, *other <= thread) - before == counted;
}

/* Each is at the front of its own pages, with its thread's data. Returns 0 or -ENOMEM. */
static int read_owner(struct reading *reading, uint64_t owner)
{
	struct heap *heap = reading->of.heap;
	uint64_t data;

	if (owner % 8 || !heap_holds(reading, owner, &data) || !count_holds(reading, owner, data) ||
	    !delayed_hold(reading, owner)) {
		heap->broken_caches++;
		return 0;
	}
	heap->figures[ALLOCATOR_ARENAS]++;
	if (owner % MEMORY_PAGE || data != owner + HEAP_BYTES || heap_at(heap, owner))
		return 0;
	return mimalloc_own_add(&reading->of, owner,
				owner + (THREAD_DATA_BYTES + MEMORY_PAGE - 1) / MEMORY_PAGE *
						MEMORY_PAGE);
}

static int read_owners(struct reading *reading)
{
	uint64_t *owner = vec_push(&reading->owners), before = 0;
	int error = 0;

	if (!owner)
		return -ENOMEM;
	*owner = reading->main;
	if (reading->threads.count)
		qsort(reading->threads.items, reading->threads.count, sizeof(uint64_t),
		      compare_words);
	qsort(reading->owners.items, reading->owners.count, sizeof(*owner), compare_words);
	for (size_t i = 0; !error && i < reading->owners.count; i++) {
		if (reading->owners.items[i] != before)
			error = read_owner(reading, reading->owners.items[i]);
		before = reading->owners.items[i];
	}
	return error;
}

static const char *why_uncertain(const struct reading *reading)
{
	const char *why = mimalloc_why_uncertain(&reading->of);

	if (!why && reading->of.heap->broken_caches)
		why = "its threads have counted other segments than were found, or freed blocks "
		      "while it was read";
	return why;
}

static int read_all(struct reading *reading)
{
	int error = mimalloc_word(&reading->of, reading->main + HEAP_COOKIE, &reading->cookie)
			    ? -ENOENT
			    : walk_segments(reading);

	if (error)
		return error;
	heap_sort(reading->of.heap);
	error = read_owners(reading);
	heap_sort(reading->of.heap);
	return error;
}

static int mimalloc_read(void *state, const struct heap_view *view, struct heap *heap)
{
	const struct mimalloc *found = state;
	struct reading reading = {
		.of = {.peek = view->peek, .heaps = view->heaps, .heap = heap},
		.layout = found->layout,
		.main = found->main,
	};
	int error = read_all(&reading);

	vec_free(&reading.threads);
	vec_free(&reading.owners);
	if (error)
		return error;
	mimalloc_finish(heap);
	snprintf(heap->name, sizeof(heap->name), "%s", found->layout->name);
	heap->blocks_certain = !heap->why && !heap->broken_caches;
	heap->why = why_uncertain(&reading);
	return peek_result(view->peek, 0);
}

const struct heap_reader heap_reader_mimalloc = {
	.name = "mimalloc",
	.library = "libmimalloc",
	.why_not = "mimalloc's records are neither as version 2.0.9 nor as 3 has them, or it has "
		   "not been used yet: MIMALLOC_SHOW_STATS=1 shows more, and so does tracking from "
		   "the "
		   "first allocation on",
	.advice.retained = ": it does so by itself while it is used, after "
			   "MIMALLOC_DECOMMIT_DELAY; mi_collect(true) (mimalloc.h) does it at "
			   "once, for the thread that calls it",
	.state_size = sizeof(struct mimalloc),
	.find = mimalloc_find,
	.read = mimalloc_read,
};
