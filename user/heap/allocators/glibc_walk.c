// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocators/glibc_walk.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "binary/elf/elf_abi.h"

/* Finds the memory that the arenas divide into chunks. */

static int heap_span_step(struct heap_span *span, uint64_t size_word);

static const char page_missing[] = "the page of a chunk's header cannot be read";

/* Ends the walk early. Returns 0. */
static int break_off(struct heap_span *span, const char *why)
{
	span->broken = span->done = true;
	span->why = why;
	return 0;
}

static int add_span(struct heap_spans *spans, uint64_t start, uint64_t end, uint64_t top,
		    uint32_t arena, bool is_main)
{
	struct heap_span *span = vec_push(&spans->list);

	if (!span)
		return -ENOMEM;
	start = (start + 15) & ~15ull;
	*span = (struct heap_span){
		.start = start,
		.end = end,
		.top = top >= start && top < end ? top : 0,
		.main = is_main,
		.arena = arena,
		.next = start,
	};
	return 0;
}

/* [heap] is the kernel's name: the path of a file begins with a slash. */
static void brk_bounds(const struct maps *maps, uint64_t *start, uint64_t *end)
{
	*start = *end = 0;
	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (mapping->inode || strcmp(mapping->path, "[heap]") != 0)
			continue;
		if (!*end)
			*start = mapping->start;
		*end = mapping->end;
	}
}

/* Adds memory that the main arena mapped because the break could not be moved. */
static int add_mapped_main(const struct malloc_arena *arena, uint32_t index,
			   const struct maps *maps, struct heap_spans *spans)
{
	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (arena->top >= mapping->start && arena->top < mapping->end &&
		    mapping->writable && !mapping->inode)
			return add_span(spans, mapping->start, mapping->end, arena->top, index,
					true);
	}
	return 0;
}

static int add_main(const struct malloc_arena *arena, uint32_t index, const struct maps *maps,
		    uint64_t heap_start, struct heap_spans *spans)
{
	uint64_t start, end;
	int error = 0;

	brk_bounds(maps, &start, &end);
	if (!arena->system_mem)
		return 0;
	if (heap_start >= start && heap_start < end)
		start = heap_start;
	if (end)
		error = add_span(spans, start, end, arena->top, index, true);
	if (!error && (arena->top < start || arena->top >= end) &&
	    arena->top != arena->address + arena->layout->top)
		error = add_mapped_main(arena, index, maps, spans);
	return error;
}

/* Returns the maximum size of an arena's heaps, and so the alignment of their starts. */
static uint64_t heap_bytes_of(struct peek *peek, const struct malloc_arena *arena)
{
	uint64_t first = arena->address & ~(MEMORY_PAGE - 1), found = MALLOC_HEAP_BYTES;

	if (first % MALLOC_HEAP_BYTES == 0)
		return found;
	for (uint64_t bytes = MALLOC_HEAP_LEAST; bytes <= MALLOC_HEAP_MOST && first % bytes == 0;
	     bytes *= 2) {
		uint64_t heap = arena->top & ~(bytes - 1), info[3];

		/* Too small a value leads to the same heap, if the top is not far into it. */
		if (!peek_words(peek, heap, info, 3) && info[0] == arena->address &&
		    arena->top - heap < info[2])
			found = bytes;
	}
	return found;
}

static const char *heap_fault(const struct malloc_arena *arena, uint64_t head, uint64_t heap_bytes,
			      const uint64_t info[3])
{
	if (info[0] != arena->address)
		return "the description of a heap does not name its arena";
	if (info[2] > heap_bytes)
		return "a heap is larger than one can be";
	return head > MEMORY_PAGE ? "an arena is not at the beginning of a heap" : NULL;
}

/* heap_info: the arena, the heap before, the size. */
static int add_heaps(struct peek *peek, const struct malloc_arena *arena, uint32_t index,
		     struct heap_spans *spans)
{
	uint64_t bytes = heap_bytes_of(peek, arena);
	uint64_t first = arena->address & ~(bytes - 1);
	uint64_t heap = arena->top & ~(bytes - 1);
	uint64_t head = arena->address - first, start;
	struct loop loop = {0};
	int error = 0;

	while (!error && heap) {
		uint64_t info[3];
		const char *fault = loop_found(&loop, heap) ? "its heaps form a loop"
				    : peek_words(peek, heap, info, 3)
					    ? "the description of a heap is not in memory"
					    : heap_fault(arena, head, bytes, info);

		if (fault) {
			spans->lost = heap;
			spans->why_lost = fault;
			return 0;
		}
		start = heap == first ? arena->address + arena->layout->size : heap + head;
		error = add_span(spans, start, heap + info[2], arena->top, index, false);
		heap = info[1];
	}
	return error;
}

static int compare_spans(const void *left_pointer, const void *right_pointer)
{
	const struct heap_span *left = left_pointer, *right = right_pointer;

	return left->start < right->start ? -1 : left->start > right->start;
}

/* Sorts them; no memory is part of two. */
static void drop_overlapping(struct heap_spans *spans)
{
	size_t kept = 0;

	for (size_t i = 0; i < spans->list.count; i++) {
		const struct heap_span *span = &spans->list.items[i];

		if (kept && span->start < spans->list.items[kept - 1].end) {
			spans->lost = span->start;
			spans->why_lost = "two heaps overlap";
		} else
			spans->list.items[kept++] = *span;
	}
	spans->list.count = kept;
}

int heap_spans_find(struct peek *peek, const struct malloc_arenas *arenas, const struct maps *maps,
		    uint64_t heap_start, struct heap_spans *spans)
{
	int error = 0;

	for (size_t i = 0; !error && i < arenas->list.count; i++) {
		const struct malloc_arena *arena = &arenas->list.items[i];
		size_t before = spans->list.count;

		error = arena->main ? add_main(arena, (uint32_t)i, maps, heap_start, spans)
				    : add_heaps(peek, arena, (uint32_t)i, spans);
		for (size_t j = before; j < spans->list.count; j++)
			spans->list.items[j].caches_are_late = !arena->layout->fastbins;
	}
	if (spans->list.count)
		qsort(spans->list.items, spans->list.count, sizeof(*spans->list.items),
		      compare_spans);
	drop_overlapping(spans);
	return error;
}

struct heap_span *heap_spans_at(const struct heap_spans *spans, uint64_t address)
{
	return RANGE_AT(spans->list.items, spans->list.count, address);
}

void heap_spans_free(struct heap_spans *spans)
{
	for (size_t i = 0; i < spans->list.count; i++)
		vec_free(&spans->list.items[i].chunks);
	vec_free(&spans->list);
	spans->lost = 0;
	spans->why_lost = NULL;
}

/* Takes over an older walk of a heap, except where it has changed. */

#define HUGE_PAGE (2ul << 20)

/* The position of a repaired walk in the older one, and in the pages. */
struct mending {
	struct heap_span *span;
	const struct heap_span *older;
	const struct page_table *table;
	struct deadline *deadline; /* NULL: none */
	size_t at;		   /* in older->chunks */
	uint64_t page;		   /* the page looked at last */
	bool page_is_clean;
	uint64_t ahead; /* pages before it were read, if changed */
};

static bool is_clean(struct mending *mending, uint64_t address)
{
	uint64_t page = address & ~(MEMORY_PAGE - 1);

	if (page != mending->page) {
		const struct page *found = pages_find(mending->table, page);

		deadline_step(mending->deadline);
		mending->page = page;
		mending->page_is_clean =
			found && found->flags & PAGE_WAS_READ && !(found->flags & PAGE_CHANGED);
	}
	return mending->page_is_clean;
}

/* Returns the older walk's record of the chunk at span->next, if its header is unchanged. */
static const uint32_t *still_known(struct mending *mending)
{
	const struct heap_span *older = mending->older, *span = mending->span;
	uint64_t distance = span->next - span->start;

	while (mending->at < older->chunks.count &&
	       chunk_distance(older->chunks.items[mending->at]) < distance)
		mending->at++;
	if (mending->at + 1 >= older->chunks.count ||
	    chunk_distance(older->chunks.items[mending->at]) != distance ||
	    !is_clean(mending, span->next))
		return NULL;
	return &older->chunks.items[mending->at];
}

/* Returns the first changed page from `address` on; at most `end`. */
static uint64_t next_changed(struct mending *mending, uint64_t address, uint64_t end)
{
	for (address &= ~(MEMORY_PAGE - 1); address < end; address += MEMORY_PAGE) {
		if (!is_clean(mending, address))
			return address;
	}
	return end;
}

static size_t first_from(const struct heap_span *span, size_t low, uint64_t distance)
{
	size_t before = SORTED_BEFORE(chunk, span->chunks.items, span->chunks.count,
				      chunk_distance(*chunk) < distance);

	return MAX(low, before);
}

/*
 * Takes over all chunks from span->next up to the next changed page, if the older walk knows this
 * chunk: their headers are unchanged, and so is their sequence.
 */
static int take_over(struct mending *mending)
{
	struct heap_span *span = mending->span;
	const struct heap_span *older = mending->older;
	uint64_t limit = MIN(span->top ? span->top : span->end, span->end), stop;
	size_t from = mending->at, to, wanted;
	uint32_t *grown;

	stop = next_changed(mending, span->next, limit);
	to = first_from(older, from, stop - span->start);
	/* The last one ended the older walk: its successor is unknown. */
	to = MIN(to, older->chunks.count - 1);
	/* It was truncated meanwhile, and not between two chunks. */
	if (to <= from)
		return break_off(span, "the heap ends within a chunk");
	wanted = span->chunks.count + (to - from);
	if (wanted > span->chunks.capacity) {
		grown = reallocarray(span->chunks.items, wanted + 1024, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		span->chunks.items = grown;
		span->chunks.capacity = wanted + 1024;
	}
	memcpy(span->chunks.items + span->chunks.count, older->chunks.items + from,
	       (to - from) * sizeof(*grown));
	span->chunks.count = wanted;
	mending->at = to;
	span->next = span->start + chunk_distance(older->chunks.items[to]);
	return 0;
}

/* Reads the next changed pages together: one by one they would take most of a stop. */
static void look_ahead(struct mending *mending, struct peek *peek)
{
	uint64_t pages[PEEK_AHEAD], at = mending->span->next & ~(MEMORY_PAGE - 1);
	size_t count = 0, seen = 0;

	for (; at < mending->span->end && count < PEEK_AHEAD && seen < PEEK_PAGES;
	     at += MEMORY_PAGE, seen++) {
		const struct page *page = pages_find(mending->table, at);

		if (page && page->flags & PAGE_WAS_READ && page->flags & PAGE_CHANGED)
			pages[count++] = at;
	}
	mending->ahead = at;
	if (count)
		peek_ahead(peek, pages, count);
}

static int mend_one(struct mending *mending, struct peek *peek)
{
	struct heap_span *span = mending->span;
	const uint32_t *known = span->next == span->top ? NULL : still_known(mending);
	uint64_t header[2];
	int missing;

	if (known)
		return take_over(mending);
	if (span->next >= mending->ahead)
		look_ahead(mending, peek);
	missing = peek_words(peek, span->next, header, 2);
	if (missing == -ETIMEDOUT)
		return missing;
	return missing ? break_off(span, page_missing) : heap_span_step(span, header[1]);
}

/* If nothing has changed, takes the older walk whole. */
static bool take_whole(struct mending *mending, struct heap_span *older)
{
	struct heap_span *span = mending->span;
	uint64_t end = older->next + 16; /* after its terminator's header */

	if (!older->done || older->broken || older->top != span->top || older->end != span->end ||
	    next_changed(mending, span->start, end) != end)
		return false;
	memcpy(&span->chunks, &older->chunks, sizeof(span->chunks));
	memset(&older->chunks, 0, sizeof(older->chunks));
	span->next = older->next;
	span->top_size = older->top_size;
	span->done = true;
	return true;
}

/*
 * Allocates room for as many chunks as before, at once: stepwise growth, with a fault per page,
 * would cost more of a stop than all the copying.
 */
static int make_room(struct heap_span *span, size_t count)
{
	size_t bytes = (count * sizeof(*span->chunks.items) / HUGE_PAGE + 1) * HUGE_PAGE;

	if (count < HUGE_PAGE / sizeof(*span->chunks.items))
		return 0;
	span->chunks.items = aligned_alloc(HUGE_PAGE, bytes);
	if (!span->chunks.items)
		return -ENOMEM;
	span->chunks.capacity = bytes / sizeof(*span->chunks.items);
	madvise(span->chunks.items, bytes, MADV_HUGEPAGE); /* optional, for speed */
	return 0;
}

int heap_span_mend(struct heap_span *span, struct heap_span *older, const struct page_table *table,
		   struct peek *peek)
{
	struct mending mending = {.span = span,
				  .older = older,
				  .table = table,
				  .deadline = peek->deadline,
				  .page = UINT64_MAX};
	int error = 0;

	if (take_whole(&mending, older))
		return 0;
	error = make_room(span, older->chunks.count);
	while (!error && !span->done)
		error = deadline_step(mending.deadline) ? -ETIMEDOUT : mend_one(&mending, peek);
	vec_free(&older->chunks);
	return error;
}

#define CHUNK_PREVIOUS_IN_USE 1ull
#define CHUNK_IS_MAPPED 2ull
#define CHUNK_NOT_MAIN 4ull
#define CHUNK_FLAGS 7ull
#define CHUNK_MIN 32

/* The two fence posts at the end of a retired heap. */
#define FENCE_BYTES 48

static int push(struct heap_span *span, uint64_t size_word)
{
	uint32_t *chunk = vec_push(&span->chunks);

	if (!chunk)
		return -ENOMEM;
	*chunk = chunk_pack(span->next - span->start, size_word & CHUNK_PREVIOUS_IN_USE);
	return 0;
}

/*
 * In a thread's heap only chunks in use have the NON_MAIN_ARENA mark: glibc removes it from free
 * ones (malloc.c, _int_free() and _int_malloc(): set_head() of the remainder).
 */
static const char *chunk_fault(const struct heap_span *span, uint64_t size_word)
{
	uint64_t size = size_word & ~CHUNK_FLAGS;
	uint64_t limit = span->top > span->next ? span->top : span->end;

	if (size < CHUNK_MIN)
		return "the size in a chunk's header is too small for one";
	if (size % 16)
		return "the size in a chunk's header is not a multiple of 16";
	if (size > limit - span->next)
		return span->top > span->next ? "a chunk reaches beyond the top chunk"
					      : "a chunk reaches beyond the end of its heap";
	if (size_word & CHUNK_IS_MAPPED)
		return "a chunk within a heap is marked as mapped";
	return span->main && size_word & CHUNK_NOT_MAIN
		       ? "a chunk of the main heap is marked as another arena's"
		       : NULL;
}

/*
 * Walks one chunk, by the size in its header at span->next. Returns 0 (also if broken) or -ENOMEM.
 */
static int heap_span_step(struct heap_span *span, uint64_t size_word)
{
	uint64_t size = size_word & ~CHUNK_FLAGS;
	bool fence = !span->top && size < CHUNK_MIN && span->end - span->next <= FENCE_BYTES;
	const char *fault;

	if (span->next == span->top || fence) {
		span->done = true;
		span->top_size = size;
		return push(span, size_word);
	}
	fault = chunk_fault(span, size_word);
	if (fault)
		return break_off(span, fault);
	if (push(span, size_word))
		return -ENOMEM;
	span->next += size;
	if (span->next >= span->end)
		return break_off(span, "a heap ends without a top chunk");
	return span->next - span->start >= SPAN_MAX_BYTES
		       ? break_off(span, "a heap is larger than can be walked")
		       : 0;
}

int heap_span_feed(struct heap_span *span, uint64_t address, const uint64_t *words, size_t count)
{
	uint64_t end = address + count * 8;
	int error = 0;

	while (!error && !span->done && span->next >= address && span->next + 16 <= end)
		error = heap_span_step(span, words[(span->next - address) / 8 + 1]);
	return error;
}

struct window {
	uint64_t words[WINDOW_PAGES * PAGE_WORDS];
};

/*
 * Returns the number of pages in memory from `page` on, within a window. *elsewhere: the first of
 * them is swapped out or not in the core; else it vanished during the read.
 */
static size_t present_pages(const struct peek *peek, uint64_t page, bool *elsewhere)
{
	uint64_t entries[WINDOW_PAGES];
	size_t count = 0;

	pagemap_read(peek->source, peek->pagemap, page, entries, WINDOW_PAGES);
	while (count < WINDOW_PAGES && pagemap_is_present(entries[count]))
		count++;
	*elsewhere = !count && (peek->source.core || pagemap_is_swapped(entries[0]));
	return count;
}

static int walk_window(struct heap_span *span, struct peek *peek, struct window *window)
{
	uint64_t page = span->next & ~(MEMORY_PAGE - 1), before = span->next;
	uint64_t left = (span->end - page + MEMORY_PAGE - 1) / MEMORY_PAGE;
	bool elsewhere;
	size_t count = MIN(present_pages(peek, page, &elsewhere), left);
	ssize_t got =
		count ? memory_read_present(peek->source, page, window->words, count * MEMORY_PAGE)
		      : 0;
	int error = 0;

	if (got == -ESRCH) /* it has ended: nothing else can be read either */
		return -ESRCH;
	if (got >= (ssize_t)MEMORY_PAGE)
		error = heap_span_feed(span, page, window->words, (size_t)got / 8);
	if (error || span->done || span->next != before)
		return error;
	span->absent = elsewhere;
	return break_off(span, page_missing);
}

int heap_span_walk(struct heap_span *span, struct peek *peek)
{
	_cleanup_free_ struct window *window = span->done ? NULL : malloc(sizeof(*window));
	int error = window || span->done ? 0 : -ENOMEM;

	while (!error && !span->done)
		error = walk_window(span, peek, window);
	return error;
}

void heap_span_resume(struct heap_span *span)
{
	if (span->chunks.count)
		span->next = span->start + chunk_distance(span->chunks.items[--span->chunks.count]);
	span->broken = span->done = span->absent = false;
	span->why = NULL;
}

int heap_span_finish(struct heap_span *span, struct peek *peek)
{
	int error = 0;

	while (!error && !span->done) {
		uint64_t header[2];
		int missing = peek_words(peek, span->next, header, 2);

		if (missing == -ETIMEDOUT)
			error = missing;
		else
			error = missing ? break_off(span, page_missing)
					: heap_span_step(span, header[1]);
	}
	return error;
}

#define CHUNK_FLAGS 7ull
#define SMALL_BINS 64
/* For chunks of 1056 to 2047 bytes, and for each doubling. */
#define LARGE_BINS 12
#define LARGE_LEAST 1056
#define CACHE_BINS (SMALL_BINS + LARGE_BINS)
/* Maximum distance of libc's own thread-locals from the thread pointer. */
#define TLS_SEARCH_BYTES (64ull << 10)
/*
 * Links per chunk, because some lists are followed twice; and spare ones for false lists, or lists
 * of chunks that the walk has not seen.
 */
#define CHUNK_LINKS 4
#define SPARE_LINKS (1u << 17)

/* struct tcache_perthread_struct: counts, then entries. */
static const struct cache_shape {
	uint64_t chunk_size, chunk_most;
	size_t bins, count_bytes;
	bool counts_slots; /* of the remaining room: for any bin, plus its chunks, the same sum */
} shapes[] = {
	/* From 2.42. 2.43 requests the size of a chunk in place of a block's. */
	{0x300, 0x320, CACHE_BINS, 2, true},
	{0x290, 0x2a0, SMALL_BINS, 2, false}, /* from 2.30 */
	{0x250, 0x260, SMALL_BINS, 1, false}, /* from 2.26 */
};

/* A free chunk may have been 16 bytes too large for it, and too small to be split. */
static bool may_be_shape(const struct cache_shape *shape, uint64_t size)
{
	return size >= shape->chunk_size && size <= shape->chunk_most;
}

/* A list that loops, or many with a common end, would take hours and all memory. */
static void bound_links(struct free_chunks *free_chunks, const struct heap_spans *spans)
{
	free_chunks->most = SPARE_LINKS;
	for (size_t i = 0; i < spans->list.count; i++)
		free_chunks->most += CHUNK_LINKS * spans->list.items[i].chunks.count;
}

/* Sizes of the chunks in one list. */
struct chunk_sizes {
	uint64_t least, most;
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

static bool has_size(struct peek *peek, const struct heap_spans *spans, uint64_t chunk,
		     const struct chunk_sizes *wanted)
{
	uint64_t size;

	return chunk_size(peek, spans, chunk, &size) && size >= wanted->least &&
	       size <= wanted->most;
}

static int add(struct free_chunks *free_chunks, uint64_t chunk)
{
	uint64_t *slot = vec_push(&free_chunks->list);

	if (!slot)
		return -ENOMEM;
	*slot = chunk;
	return 0;
}

/* From 2.43 on a cache can hold blocks with their own mappings (glibc.malloc.tcache_max). */
static bool is_mapped_chunk(struct peek *peek, const struct heap_spans *spans, uint64_t chunk,
			    const struct chunk_sizes *wanted)
{
	uint64_t header[2], size;

	if (wanted->least < LARGE_LEAST || chunk % 16 || heap_spans_at(spans, chunk) ||
	    peek_words(peek, chunk, header, 2))
		return false;
	size = header[1] & ~CHUNK_FLAGS;
	return (header[1] & CHUNK_FLAGS) == CHUNK_IS_MAPPED && size >= wanted->least &&
	       size <= wanted->most;
}

/*
 * Reads the pointer stored at `place`, mangled with its address from 2.32 on. `bias`: from a chunk
 * to the pointer's target. *chunk gets 0 at the end of the list.
 */
static bool follow(struct free_chunks *lists, struct peek *peek, const struct heap_spans *spans,
		   uint64_t place, uint64_t bias, const struct chunk_sizes *wanted, uint64_t *chunk)
{
	uint64_t stored;

	if (lists->followed >= lists->most || peek_words(peek, place, &stored, 1))
		return false;
	lists->followed++;
	for (int mangled = 1; mangled >= 0; mangled--) {
		uint64_t next = mangled ? stored ^ place >> 12 : stored;

		*chunk = next ? next - bias : 0;
		if (!next || has_size(peek, spans, *chunk, wanted) ||
		    is_mapped_chunk(peek, spans, *chunk, wanted))
			return true;
	}
	return false;
}

static int add_fastbin(struct free_chunks *free_chunks, struct peek *peek,
		       const struct heap_spans *spans, uint64_t chunk, uint64_t size)
{
	const struct chunk_sizes wanted = {size, size};

	if (chunk && !has_size(peek, spans, chunk, &wanted)) {
		free_chunks->broken++;
		return 0;
	}
	while (chunk) {
		if (add(free_chunks, chunk))
			return -ENOMEM;
		if (!follow(free_chunks, peek, spans, chunk + 16, 0, &wanted, &chunk))
			break;
	}
	free_chunks->broken += chunk != 0;
	return 0;
}

int free_lists_add_fastbins(struct free_chunks *free_chunks, struct peek *peek,
			    const struct malloc_arenas *arenas, const struct heap_spans *spans)
{
	int error = 0;

	bound_links(free_chunks, spans);
	for (size_t i = 0; !error && i < arenas->list.count; i++) {
		const struct malloc_arena *arena = &arenas->list.items[i];

		for (uint64_t bin = 0; !error && bin < MALLOC_FASTBINS; bin++)
			error = add_fastbin(free_chunks, peek, spans, arena->fastbins[bin],
					    (bin + 2) * 16);
	}
	return error;
}

static struct chunk_sizes sizes_of_bin(size_t bin)
{
	uint64_t size = (bin + 2) * 16;

	if (bin < SMALL_BINS)
		return (struct chunk_sizes){size, size};
	size = 1024ull << (bin - SMALL_BINS);
	return (struct chunk_sizes){MAX(size, LARGE_LEAST), 2 * size - 1};
}

/*
 * Reads the chunks of a bin; those with their own mappings stay live, and are counted as broken.
 * Returns false if it is inconsistent, or longer than `most`.
 */
static bool read_cache_bin(struct free_chunks *held, struct peek *peek,
			   const struct heap_spans *spans, uint64_t entry, size_t bin,
			   uint64_t most, uint64_t *length)
{
	const struct chunk_sizes wanted = sizes_of_bin(bin);
	uint64_t chunk = entry ? entry - 16 : 0;

	*length = 0;
	if (chunk && !has_size(peek, spans, chunk, &wanted) &&
	    !is_mapped_chunk(peek, spans, chunk, &wanted))
		return false;
	for (; chunk && *length < most; ++*length) {
		bool mapped = !heap_spans_at(spans, chunk);

		held->broken += mapped;
		if ((!mapped && add(held, chunk)) ||
		    !follow(held, peek, spans, chunk + 16, 16, &wanted, &chunk))
			return false;
	}
	return !chunk;
}

/* The range over all bins of the number of chunks for which one has room. */
struct capacity {
	uint64_t least, most;
};

/*
 * A thread may have stopped between linking a chunk and counting it: the list is authoritative, its
 * count may be off by one.
 */
static bool count_holds(const struct cache_shape *shape, uint64_t count, uint64_t length,
			struct capacity *capacity)
{
	if (!shape->counts_slots)
		return length + 1 >= count;
	capacity->least = MIN(capacity->least, count + length);
	capacity->most = MAX(capacity->most, count + length);
	return capacity->most && capacity->most - capacity->least <= 1;
}

static bool read_cache(struct free_chunks *held, struct peek *peek, const struct heap_spans *spans,
		       uint64_t chunk, const struct cache_shape *shape)
{
	uint64_t words[CACHE_BINS * 2 / 8 + CACHE_BINS];
	size_t count_words = shape->bins * shape->count_bytes / 8;
	struct capacity capacity = {.least = UINT16_MAX};

	if (peek_words(peek, chunk + 16, words, count_words + shape->bins))
		return false;
	for (size_t i = 0; i < shape->bins; i++) {
		uint64_t count = 0, length, most;

		memcpy(&count, (char *)words + i * shape->count_bytes, shape->count_bytes);
		most = (shape->counts_slots ? capacity.least - MIN(count, capacity.least) : count) +
		       1;
		if (!read_cache_bin(held, peek, spans, words[count_words + i], i, most, &length) ||
		    !count_holds(shape, count, length, &capacity))
			return false;
	}
	return true;
}

/* Up to 2.41, an empty cache looks like any zeroed block, unless it is the first chunk. */
static bool may_be_empty(const struct heap_spans *spans, uint64_t chunk,
			 const struct cache_shape *shape)
{
	const struct heap_span *span = heap_spans_at(spans, chunk);

	return shape->counts_slots || (span && span->start == chunk && !span->caches_are_late);
}

/*
 * Returns whether there is a cache at `chunk`; *held gets its chunks, freed by the caller in any
 * case.
 */
static bool is_cache(struct peek *peek, const struct heap_spans *spans, uint64_t chunk,
		     struct free_chunks *held)
{
	uint64_t size;

	if (!chunk_size(peek, spans, chunk, &size))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		held->list.count = held->broken = 0;
		if (may_be_shape(&shapes[i], size) &&
		    read_cache(held, peek, spans, chunk, &shapes[i]) &&
		    (held->list.count || may_be_empty(spans, chunk, &shapes[i])))
			return true;
	}
	return false;
}

/* *found: it was one. */
static int add_cache(struct free_chunks *free_chunks, struct peek *peek,
		     const struct heap_spans *spans, uint64_t chunk, bool *found)
{
	_cleanup_(free_lists_free) struct free_chunks held = {
		.followed = free_chunks->followed,
		.most = free_chunks->most,
	};
	int error = 0;

	*found = is_cache(peek, spans, chunk, &held);
	free_chunks->followed = held.followed;
	free_chunks->broken += held.followed >= held.most;
	if (!*found)
		return 0;
	for (size_t i = 0; !error && i < held.list.count; i++)
		error = add(free_chunks, held.list.items[i]);
	free_chunks->broken += held.broken;
	return error ? error : add(free_chunks, chunk);
}

int free_lists_add_cache(struct free_chunks *free_chunks, struct peek *peek,
			 uint64_t thread_pointer, const struct heap_spans *spans)
{
	bool above = machine_abi.tls.is_variant_1, found = false;
	uint64_t word, at = above ? thread_pointer + machine_abi.tls.head_bytes
				  : thread_pointer - sizeof(word);
	int error = 0;

	bound_links(free_chunks, spans);
	/* The nearest are the program's own. */
	for (size_t i = 0;
	     thread_pointer && !error && !found && i < TLS_SEARCH_BYTES / sizeof(word); i++) {
		if (peek_words(peek, at + (above ? i : -i) * sizeof(word), &word, 1))
			break;
		if (word % 16 == 0 && heap_spans_at(spans, word - 16))
			error = add_cache(free_chunks, peek, spans, word - 16, &found);
	}
	return error;
}

static bool may_be_cache(uint64_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		if (may_be_shape(&shapes[i], size))
			return true;
	}
	return false;
}

int free_lists_add_all_caches(struct free_chunks *free_chunks, struct peek *peek,
			      const struct heap_spans *spans)
{
	int error = 0;

	bound_links(free_chunks, spans);
	for (size_t i = 0; i < spans->list.count; i++) {
		const struct heap_span *span = &spans->list.items[i];

		for (size_t j = 0; !error && j + 1 < span->chunks.count; j++) {
			const uint32_t *chunk = &span->chunks.items[j];
			uint64_t size = chunk_distance(chunk[1]) - chunk_distance(chunk[0]);
			bool found;

			if (may_be_cache(size))
				error = add_cache(free_chunks, peek, spans,
						  span->start + chunk_distance(*chunk), &found);
		}
	}
	return error;
}

void free_lists_free(struct free_chunks *free_chunks)
{
	vec_free(&free_chunks->list);
	*free_chunks = (struct free_chunks){0};
}
