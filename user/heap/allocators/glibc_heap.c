// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The heap of glibc's malloc: arenas (glibc_arenas.h) that divide spans of memory into chunks
 * without gaps (glibc_walk.h). A walk from chunk to chunk takes longer than a process may be
 * stopped, so it is done while the process runs, and repaired at the stop where pages have changed.
 *
 * Source: glibc 2.26 to 2.43, malloc/malloc.c (mallinfo2, mtrim, systrim), malloc/arena.c.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "heap/allocators/glibc_walk.h"
#include "heap/allocators/heap_reader.h"
#include "process/pause/stop.h"
#include "process/proc/target_file.h"

/* While the process runs, a heap can change under the walk: the number of restarts. */
#define WALK_TRIES 3
/* attached_threads precedes system_mem (struct malloc_state, since 2.23). */
#define THREADS_BEFORE_SYSTEM_MEM 8
#define CHUNK_FLAGS 7ull
#define CHUNK_IS_MAPPED 2ull
/* A flag in prev_size of a mapped chunk (malloc.c, MMAP_HP). */
#define MAPPED_HUGE 1ull
#define CHUNK_HEADER 16
/* The last word of a chunk in use is in the next one's header. */
#define CHUNK_OVERLAP 8
#define MIN_LARGE 1024
/* struct malloc_chunk, and the smallest chunk (malloc.c, MINSIZE). */
#define CHUNK_STRUCT_BYTES 48
#define CHUNK_MIN 32

struct glibc {
	struct malloc_arenas arenas;
	struct malloc_par_tail par;
	bool has_par;
	size_t libraries; /* with arenas */
	struct {
		uint64_t start, end;
	} data;			  /* of the module that leads to arenas */
	bool left;		  /* all arenas found were changing whenever they were read */
	struct heap_spans walked; /* while the process ran */
	bool walk_is_used;	  /* used by a read() */
	struct heap_spans spans;  /* of the last read() */
	struct free_chunks fast, cached;
};

/* Returns 0; -ENOENT: no arena; -EAGAIN: one is just changing; -ENOMEM; -ETIMEDOUT. */
static int find_in(struct glibc *glibc, const struct heap_view *view, uint64_t start, uint64_t end)
{
	size_t before = glibc->arenas.list.count;
	int error = malloc_arenas_find(view->peek, view->heaps, start, end, &glibc->arenas);

	if (error && error != -EAGAIN)
		return error;
	/* Data of another module that resembles an arena does not affect arenas already found. */
	if (error && (before || glibc->left))
		return error;
	if (!error && glibc->arenas.list.count == before)
		return -ENOENT;
	glibc->left = error == -EAGAIN;
	glibc->libraries += !glibc->left && (!glibc->libraries || start != glibc->data.start);
	glibc->data.start = start;
	glibc->data.end = end;
	return error;
}

static int glibc_find(void *state, const struct heap_view *view, uint64_t start, uint64_t end)
{
	struct glibc *glibc = state;
	int error = find_in(glibc, view, start, end);

	if (!error && !glibc->has_par)
		glibc->has_par = !malloc_par_find(view->peek, view->heaps, start, end, &glibc->par);
	return error;
}

/* Rereads the arenas: others may have joined, and a changing one may be stable by now. */
static int read_arenas(struct glibc *glibc, const struct heap_view *view, struct heap *heap)
{
	bool was_left = glibc->left;
	int error = was_left ? find_in(glibc, view, glibc->data.start, glibc->data.end)
			     : malloc_arenas_refresh(view->peek, view->heaps, &glibc->arenas);

	if (!error || error == -ENOMEM || error == -ETIMEDOUT)
		return error;
	/* While the process runs, the previous state suffices. */
	if (!view->stop && !was_left)
		return 0;
	heap->broken_at = glibc->arenas.list.count ? glibc->arenas.list.items[0].address
						   : glibc->arenas.faulty;
	heap->why_broken = glibc->arenas.fault;
	heap->broken_walks++;
	vec_free(&glibc->arenas.list);
	glibc->left = true;
	return 0;
}

/* Finds the spans that the arenas now describe. Returns 0 or -ENOMEM. */
static int find_spans(struct glibc *glibc, const struct heap_view *view, struct heap_spans *spans)
{
	heap_spans_free(spans);
	return heap_spans_find(view->peek, &glibc->arenas, view->maps,
			       glibc->has_par ? glibc->par.heap_start : 0, spans);
}

static int glibc_walk_begin(void *state, const struct heap_view *view)
{
	struct glibc *glibc = state;

	return find_spans(glibc, view, &glibc->walked);
}

static int glibc_walk_feed(void *state, uint64_t address, const uint64_t *words, size_t count)
{
	struct glibc *glibc = state;
	struct heap_span *spans = glibc->walked.list.items;
	size_t i = SORTED_BEFORE(span, spans, glibc->walked.list.count, span->end <= address);
	int error = 0;

	for (; !error && i < glibc->walked.list.count && spans[i].start < address + count * 8; i++)
		error = heap_span_feed(&spans[i], address, words, count);
	return error;
}

/* Completes the walk; a broken span may just have changed while it was read. */
static int glibc_walk_end(void *state, const struct heap_view *view)
{
	struct glibc *glibc = state;
	int error = 0;

	for (size_t i = 0; !error && i < glibc->walked.list.count; i++) {
		struct heap_span *span = &glibc->walked.list.items[i];

		for (size_t try = 0; !error && try < WALK_TRIES; try++) {
			if (span->broken)
				heap_span_resume(span);
			error = heap_span_walk(span, view->peek);
			if (!span->broken || span->absent)
				break;
		}
	}
	return error;
}

static struct heap_span *same_span(struct heap_spans *spans, const struct heap_span *wanted)
{
	struct heap_span *span = heap_spans_at(spans, wanted->start);

	return span && span->start == wanted->start ? span : NULL;
}

/* During a stop: repeats the walk where something changed. Returns 0 or -errno. */
static int mend_spans(struct glibc *glibc, const struct heap_view *view)
{
	int error = find_spans(glibc, view, &glibc->spans);

	for (size_t i = 0; !error && i < glibc->spans.list.count; i++) {
		struct heap_span *span = &glibc->spans.list.items[i];
		struct heap_span *older = same_span(&glibc->walked, span);

		error = older ? heap_span_mend(span, older, view->pages, view->peek)
			      : heap_span_finish(span, view->peek);
	}
	return error;
}

/* Without a stop: takes the walk unchanged, or makes a new one if there is none, or it was used. */
static int take_walk(struct glibc *glibc, const struct heap_view *view)
{
	int error = glibc->walk_is_used ? glibc_walk_begin(glibc, view) : 0;

	if (!error && glibc->walk_is_used)
		error = glibc_walk_end(glibc, view);
	heap_spans_free(&glibc->spans);
	glibc->spans = glibc->walked;
	glibc->walked = (struct heap_spans){0};
	return error;
}

/* Without a stop, the threads' caches are found by their structure. Returns 0 or -ENOMEM. */
static int find_free_chunks(struct glibc *glibc, const struct heap_view *view)
{
	const struct stop *stop = view->stop;
	int error;

	free_lists_free(&glibc->fast);
	free_lists_free(&glibc->cached);
	error = free_lists_add_fastbins(&glibc->fast, view->peek, &glibc->arenas, &glibc->spans);
	if (!stop && !error)
		error = free_lists_add_all_caches(&glibc->cached, view->peek, &glibc->spans);
	for (size_t i = 0; stop && !error && i < stop->threads.count; i++)
		error = free_lists_add_cache(
			&glibc->cached, view->peek,
			machine_thread_pointer(&stop->threads.items[i].registers), &glibc->spans);
	return error;
}

/* Parts of the heap. */

/* Returns where its chunks end, and their terminator begins: the last one may be broken. */
static uint64_t chunks_end(const struct heap_span *span)
{
	size_t count = span->chunks.count;

	return count ? span->start + chunk_distance(span->chunks.items[count - 1]) : span->start;
}

static int add_span(struct heap *heap, const struct heap_span *span)
{
	bool is_whole = span->done && !span->broken;
	uint64_t last = chunks_end(span);
	uint64_t rest =
		is_whole && last == span->top ? MIN(span->end, last + span->top_size) : last;
	const struct heap_run runs[] = {
		{.start = span->start, .end = last, .use = RUN_BLOCKS},
		{.start = last, .end = rest, .use = RUN_TOP},
		{.start = rest, .end = span->end, .use = is_whole ? RUN_OWN : RUN_UNKNOWN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		struct heap_run run = runs[i];

		run.arena = span->arena;
		if (run.start < run.end && heap_add(heap, &run))
			return -ENOMEM;
	}
	if (span->broken && !heap->broken_walks++) {
		heap->broken_at = span->next;
		heap->why_broken = span->why;
	}
	heap->absent_walks += span->absent;
	return 0;
}

static int add_runs(const struct glibc *glibc, struct heap *heap)
{
	int error = 0;

	if (glibc->spans.lost && !heap->broken_walks) {
		heap->broken_at = glibc->spans.lost;
		heap->why_broken = glibc->spans.why_lost;
	}
	heap->broken_walks += glibc->spans.lost != 0;
	for (size_t i = 0; !error && i < glibc->arenas.list.count; i++) {
		const struct malloc_arena *arena = &glibc->arenas.list.items[i];

		error = heap_add(heap,
				 &(struct heap_run){.start = arena->address,
						    .end = arena->address + arena->layout->size,
						    .use = RUN_TABLES});
	}
	for (size_t i = 0; !error && i < glibc->spans.list.count; i++)
		error = add_span(heap, &glibc->spans.list.items[i]);
	heap_sort(heap);
	return error;
}

static size_t count_broken(const struct heap_spans *spans)
{
	size_t count = 0;

	for (size_t i = 0; i < spans->list.count; i++)
		count += spans->list.items[i].broken;
	return count;
}

/* Reads the bytes mapped for single blocks; with several libraries the total is unknown. */
static void read_mapped_bytes(const struct glibc *glibc, const struct heap_view *view,
			      struct heap *heap)
{
	struct malloc_par_tail par;

	heap->mapped_known =
		glibc->libraries == 1 &&
		!malloc_par_find(view->peek, view->heaps, glibc->data.start, glibc->data.end, &par);
	heap->mapped_bytes = heap->mapped_known ? par.mapped_bytes : 0;
}

static int glibc_read(void *state, const struct heap_view *view, struct heap *heap)
{
	struct glibc *glibc = state;
	bool again = view->stop || glibc->walk_is_used || glibc->left;
	int error = again ? read_arenas(glibc, view, heap) : 0;

	if (error)
		return error;
	glibc->walk_is_used |= again;
	error = view->stop ? mend_spans(glibc, view) : take_walk(glibc, view);
	glibc->walk_is_used = true;
	if (!error)
		error = find_free_chunks(glibc, view);
	if (!error)
		error = add_runs(glibc, heap);
	if (error)
		return error;
	read_mapped_bytes(glibc, view, heap);
	heap->torn = view->stop && count_broken(&glibc->spans) > count_broken(&glibc->walked);
	heap->figures[ALLOCATOR_BROKEN_LISTS] = glibc->fast.broken + glibc->cached.broken;
	heap->figures[ALLOCATOR_ARENAS] = glibc->arenas.list.count;
	heap->header = CHUNK_HEADER;
	heap->overlap = CHUNK_OVERLAP;
	heap->blocks_certain = true;
	if (glibc->arenas.list.count)
		snprintf(heap->name, sizeof(heap->name), "%s",
			 glibc->arenas.list.items[0].layout->versions);
	return 0;
}

/* Free chunks: the next chunk tells whether a chunk is in use; others are in lists. */

static void set_listed(struct heap *heap, const struct free_chunks *list, enum block_use use)
{
	for (size_t i = 0; i < list->list.count; i++) {
		uint32_t block;
		const struct heap_run *run = heap_block_from(heap, list->list.items[i], &block);

		if (run && heap_is_live(heap, run, block))
			heap_set_use(heap, run, block, use);
	}
}

static int settle_span(struct heap *heap, struct heap_span *span)
{
	uint32_t *chunks = span->chunks.items, count = (uint32_t)span->chunks.count;
	struct heap_run *run = heap_at(heap, span->start);

	if (count < 2 || !run || run->start != span->start || run->packed)
		return 0;
	memset(&span->chunks, 0, sizeof(span->chunks));
	if (heap_set_places(heap, run, chunks, count - 1))
		return -ENOMEM;
	for (uint32_t i = 0; i + 1 < count; i++) {
		if (!(chunks[i + 1] & 1))
			heap_set_use(heap, run, i, BLOCK_FREE);
	}
	return 0;
}

static int glibc_settle(void *state, struct heap *heap)
{
	struct glibc *glibc = state;
	int error = 0;

	for (size_t i = 0; !error && i < glibc->spans.list.count; i++)
		error = settle_span(heap, &glibc->spans.list.items[i]);
	set_listed(heap, &glibc->fast, BLOCK_FAST);
	set_listed(heap, &glibc->cached, BLOCK_CACHED);
	return error;
}

/* -------- the figures of `leakmon memory` */

struct accounting {
	struct heap *heap;
	const struct heap_view *view;
	uint64_t free_from;   /* start of a run of free chunks; 0: none */
	uint64_t free_chunks; /* in bins */
};

static int add_trim(struct accounting *accounting, uint64_t start, uint64_t end, uint32_t arena)
{
	struct heap_trim *trim = vec_push(&accounting->heap->trims);

	if (!trim)
		return -ENOMEM;
	*trim = (struct heap_trim){start, end, arena};
	return 0;
}

/*
 * As mtrim(): fast chunks have been merged with their neighbours; of the free ones, pages that
 * contain none of the chunk's own fields can be returned.
 */
static int trim_stretch(struct accounting *accounting, uint64_t start, uint64_t end, uint32_t arena)
{
	uint64_t page = memory_page_size(accounting->view->maps->source);
	uint64_t from = align_up(start + CHUNK_STRUCT_BYTES, page);

	if (end - start < page - 1 + CHUNK_STRUCT_BYTES || end <= from)
		return 0;
	return add_trim(accounting, from, from + ((end - from) & ~(page - 1)), arena);
}

/* As systrim(): the break moves back by whole pages, if no one else has moved it. */
static int trim_top(struct accounting *accounting, uint64_t start, uint64_t end, uint32_t arena)
{
	const struct mapping *mapping = maps_find(accounting->view->maps, end - 1);
	uint64_t page = memory_page_size(accounting->view->maps->source);
	uint64_t size = end - start, extra;

	if (!mapping || strcmp(mapping->path, "[heap]") != 0 ||
	    !accounting->heap->arenas.items[arena].main || size <= CHUNK_MIN + 1 ||
	    align_up(end, page) != mapping->end)
		return 0;
	extra = (size - CHUNK_MIN - 1) & ~(page - 1);
	return add_trim(accounting, end - extra, end, arena);
}

/* Ends a run of free chunks; `at_top`: with the top of its arena. */
static int end_stretch(struct accounting *accounting, uint64_t end, bool at_top, uint32_t arena)
{
	uint64_t start = accounting->free_from;
	uint64_t *largest = &accounting->heap->figures[ALLOCATOR_LARGEST_FREE];

	accounting->free_from = 0;
	if (!start)
		return 0;
	*largest = MAX(*largest, end - start);
	return at_top ? trim_top(accounting, start, end, arena)
		      : trim_stretch(accounting, start, end, arena);
}

static int account_block(struct accounting *accounting, const struct heap_block *block,
			 uint32_t arena)
{
	static const enum allocator_figure figures[] = {
		[BLOCK_LIVE] = ALLOCATOR_LIVE,
		[BLOCK_CACHED] = ALLOCATOR_CACHED,
		[BLOCK_FAST] = ALLOCATOR_FAST,
		[BLOCK_FREE] = ALLOCATOR_BINS,
	};
	uint64_t *sums = accounting->heap->figures, bytes = block->end - block->start;

	sums[figures[block->use]] += bytes;
	sums[ALLOCATOR_LIVE_BLOCKS] += block->use == BLOCK_LIVE;
	if (block->use == BLOCK_FREE) {
		sums[bytes < MIN_LARGE ? ALLOCATOR_SMALL : ALLOCATOR_LARGE] += bytes;
		accounting->free_chunks++;
	}
	if (block->use == BLOCK_LIVE || block->use == BLOCK_CACHED)
		return end_stretch(accounting, block->start, false, arena);
	if (!accounting->free_from)
		accounting->free_from = block->start;
	return 0;
}

static int account_run(struct accounting *accounting, size_t i)
{
	const struct heap_run *run = &accounting->heap->runs.items[i], *next = run + 1;
	bool has_top = i + 1 < accounting->heap->runs.count && next->use == RUN_TOP &&
		       next->start == run->end;
	uint64_t *sums = accounting->heap->figures;
	int error = 0;

	sums[ALLOCATOR_TOP] += run->use == RUN_TOP ? run->end - run->start : 0;
	sums[ALLOCATOR_UNKNOWN] += run->use == RUN_UNKNOWN ? run->end - run->start : 0;
	for (uint32_t j = 0; !error && run->packed && j < run->count; j++) {
		struct heap_block block = heap_block(accounting->heap, run, j);

		error = account_block(accounting, &block, run->arena);
	}
	if (run->use == RUN_TOP && !accounting->free_from)
		accounting->free_from = run->start;
	if (error || has_top)
		return error;
	return end_stretch(accounting, run->end, run->use == RUN_TOP, run->arena);
}

/* A page is read for each chunk of the list: beyond this number, chunks stay counted by size. */
#define UNSORTED_MAX 16384

/* Lists that newly freed chunks pass through: these count as unsorted, not by size. */
static void account_unsorted(struct accounting *accounting, const struct glibc *glibc,
			     const struct malloc_arena *arena)
{
	struct peek *peek = accounting->view->peek;
	uint64_t head = arena->address + arena->layout->bins - 16, chunk, words[3];

	if (peek_words(peek, head + 16, &chunk, 1))
		return;
	/* Lists of other threads may change: at most the number of chunks. */
	for (uint64_t i = MIN(accounting->free_chunks, UNSORTED_MAX); i && chunk != head; i--) {
		uint64_t *sums = accounting->heap->figures, size, *sorted;

		if (!heap_spans_at(&glibc->spans, chunk) || peek_words(peek, chunk, words, 3))
			return;
		size = words[1] & ~CHUNK_FLAGS;
		sorted = &sums[size < MIN_LARGE ? ALLOCATOR_SMALL : ALLOCATOR_LARGE];
		if (size > *sorted)
			return;
		*sorted -= size;
		sums[ALLOCATOR_UNSORTED] += size;
		chunk = words[2];
	}
}

static int account_arena(struct accounting *accounting, const struct malloc_arena *read)
{
	struct heap_arena *arena = vec_push(&accounting->heap->arenas);
	uint64_t *sums = accounting->heap->figures, threads = 0;

	if (!arena)
		return -ENOMEM;
	peek_words(accounting->view->peek,
		   read->address + read->layout->system_mem - THREADS_BEFORE_SYSTEM_MEM, &threads,
		   1);
	*arena = (struct heap_arena){
		.address = read->address,
		.main = read->main,
		.threads = (uint32_t)MIN(threads, UINT32_MAX),
		.system_bytes = read->system_mem,
	};
	sums[ALLOCATOR_SYSTEM] += arena->system_bytes;
	sums[ALLOCATOR_IDLE_ARENAS] += !arena->main && !arena->threads;
	return 0;
}

static void account_sums(struct glibc *glibc, const struct heap_view *view, struct heap *heap)
{
	uint64_t *sums = heap->figures;

	sums[ALLOCATOR_HEADERS] = CHUNK_OVERLAP * sums[ALLOCATOR_LIVE_BLOCKS];
	sums[ALLOCATOR_FREE] = sums[ALLOCATOR_TOP] + sums[ALLOCATOR_BINS] + sums[ALLOCATOR_FAST];
	sums[ALLOCATOR_USED] =
		sums[ALLOCATOR_SYSTEM] - MIN(sums[ALLOCATOR_FREE], sums[ALLOCATOR_SYSTEM]);
	sums[ALLOCATOR_BROKEN_HEAPS] = heap->broken_walks;
	glibc->has_par = !malloc_par_find(view->peek, view->heaps, glibc->data.start,
					  glibc->data.end, &glibc->par);
	sums[ALLOCATOR_MAPPED_BYTES] =
		glibc->has_par ? glibc->par.mapped_bytes : ALLOCATOR_NOT_KNOWN;
}

/* Blocks with their own mappings: each mapping's chunks are contiguous. */

/*
 * prev_size of such a chunk is its distance from the start of its mapping (memalign). Up to 2.42
 * the chunk extends to the mapping's end. From 2.43 on it ends one header before, its block extends
 * into that as into a next chunk, and the lowest bit of prev_size marks huge pages. *offset and
 * *size get its offset in the mapping, and its bytes with the header; `room`: from the chunk to the
 * last possible end of its mapping.
 */
static bool is_mapped_header(uint64_t distance, const uint64_t *header, uint64_t room,
			     uint64_t *offset, uint64_t *size)
{
	uint64_t chunk = header[1] & ~CHUNK_FLAGS, total = chunk;

	*offset = header[0];
	*size = chunk;
	if ((header[0] + chunk) % MEMORY_PAGE) {
		*offset &= ~MAPPED_HUGE;
		*size += CHUNK_OVERLAP;
		total += CHUNK_HEADER;
	}
	return (header[1] & CHUNK_FLAGS) == CHUNK_IS_MAPPED && *offset % MEMORY_PAGE == distance &&
	       total >= MEMORY_PAGE - distance && total <= room && total >= chunk &&
	       (*offset + total) % MEMORY_PAGE == 0;
}

static bool glibc_find_mapped(uint64_t page, const uint64_t *words, uint64_t end,
			      struct mapped_block *block)
{
	/*
	 * At the front, or 16 bytes before an aligned address: then the one at the front may have
	 * remained, too, so the last one is tried first.
	 */
	for (uint64_t align = MEMORY_PAGE; align >= 16; align /= 2) {
		uint64_t distance = align - 16, start = page + distance, offset, size;

		if (!is_mapped_header(distance, words + distance / 8, end - start, &offset,
				      &size) ||
		    (distance != MEMORY_PAGE - 16 && offset != distance))
			continue;
		*block = (struct mapped_block){.page = page,
					       .start = start,
					       .end = start + size,
					       .address = start + CHUNK_HEADER};
		return true;
	}
	return false;
}

/* Without a name, or with one from prctl(2), which glibc can set (glibc.mem.decorate_maps). */
static bool may_hold_blocks(const struct mapping *mapping)
{
	return mapping->writable && !mapping->inode && !mapping->shared &&
	       (!mapping->path[0] || strncmp(mapping->path, "[anon:", 6) == 0);
}

static bool reaches_span(const struct heap_spans *spans, uint64_t start, uint64_t end)
{
	size_t at = SORTED_BEFORE(span, spans->list.items, spans->list.count, span->end <= start);

	return at < spans->list.count && spans->list.items[at].start < end;
}

static int account_mapping(const struct glibc *glibc, const struct heap_view *view,
			   const struct mapping *mapping, struct heap *heap)
{
	uint64_t words[PAGE_WORDS], at = mapping->start;

	while (at < mapping->end) {
		const struct heap_span *span = heap_spans_at(&glibc->spans, at);
		struct mapped_block block;

		if (span) {
			at = align_up(span->end, MEMORY_PAGE);
			continue;
		}
		if (peek_words(view->peek, at, words, PAGE_WORDS) ||
		    !glibc_find_mapped(at, words, mapping->end, &block) ||
		    reaches_span(&glibc->spans, block.page, block.end))
			return 0;
		if (heap_add_mapped(heap, &block))
			return -ENOMEM;
		heap->figures[ALLOCATOR_MAPPED_BLOCKS]++;
		at = align_up(block.end, MEMORY_PAGE);
	}
	return 0;
}

static int account_mapped(const struct glibc *glibc, const struct heap_view *view,
			  struct heap *heap)
{
	int error = 0;

	for (size_t i = 0; !error && i < view->maps->list.count; i++) {
		if (may_hold_blocks(&view->maps->list.items[i]))
			error = account_mapping(glibc, view, &view->maps->list.items[i], heap);
	}
	heap_sort(heap);
	return error;
}

/* The version is in a banner that the library can print. */

#define BANNER "GNU C Library ("
#define VERSION_WORDS "release version "
#define SEARCH_BYTES (8u << 20)

static void name_from_text(const char *text, size_t size, struct heap *heap)
{
	const char *banner = memmem(text, size, BANNER, strlen(BANNER));
	size_t room = banner ? size - (size_t)(banner - text) : 0;
	const char *version =
		banner ? memmem(banner, MIN(room, 256), VERSION_WORDS, strlen(VERSION_WORDS))
		       : NULL;
	unsigned major, minor;

	if (version && sscanf(version + strlen(VERSION_WORDS), "%3u.%3u", &major, &minor) == 2)
		snprintf(heap->name, sizeof(heap->name), "glibc %u.%u", major, minor);
}

static void find_name(const struct glibc *glibc, const struct heap_view *view, struct heap *heap)
{
	const struct mapping *mapping = maps_find(view->maps, glibc->data.start);
	_cleanup_close_ int fd =
		mapping ? target_file_open_mapping(view->maps->source, mapping) : -1;
	_cleanup_free_ char *text = fd < 0 ? NULL : malloc(SEARCH_BYTES + 1);
	ssize_t got = text ? pread(fd, text, SEARCH_BYTES, 0) : -1;

	if (got <= 0)
		return;
	text[got] = '\0';
	name_from_text(text, (size_t)got, heap);
}

static const char *why_uncertain(const struct heap *heap)
{
	if (heap->absent_walks)
		return "a heap was walked only up to a page that is swapped out";
	if (heap->broken_walks)
		return "a heap was walked only up to where it contradicts itself, or changed while "
		       "it was read";
	if (heap->figures[ALLOCATOR_BROKEN_LISTS])
		return "lists of free blocks changed while they were read: some of their blocks "
		       "count as live";
	return NULL;
}

static int glibc_account(void *state, const struct heap_view *view, struct heap *heap)
{
	struct glibc *glibc = state;
	struct accounting accounting = {.heap = heap, .view = view};
	int error = 0;

	for (uint32_t i = 0; !error && i < glibc->arenas.list.count; i++)
		error = account_arena(&accounting, &glibc->arenas.list.items[i]);
	for (size_t i = 0; !error && i < glibc->spans.list.count; i++)
		heap->arenas.items[glibc->spans.list.items[i].arena].heaps++;
	for (size_t i = 0; !error && i < heap->runs.count; i++)
		error = account_run(&accounting, i);
	if (error)
		return error;
	for (size_t i = 0; i < glibc->arenas.list.count; i++)
		account_unsorted(&accounting, glibc, &glibc->arenas.list.items[i]);
	account_sums(glibc, view, heap);
	find_name(glibc, view, heap);
	heap->why = why_uncertain(heap);
	return account_mapped(glibc, view, heap);
}

static void glibc_release(void *state)
{
	struct glibc *glibc = state;

	vec_free(&glibc->arenas.list);
	heap_spans_free(&glibc->walked);
	heap_spans_free(&glibc->spans);
	free_lists_free(&glibc->fast);
	free_lists_free(&glibc->cached);
}

const struct heap_reader heap_reader_glibc = {
	.name = "glibc",
	.why_not = "the allocator is not glibc's, or has not been used yet: nothing is known of "
		   "its state",
	.why_changing = "glibc's heap changed too fast to be read; only a short stop would show it",
	.libc = true,
	.several = true,
	.advice =
		{
			.trim = "malloc_trim(3)",
			.retained = "; a lower M_TRIM_THRESHOLD (mallopt(3)) gives the top back by "
				    "itself",
			.caches =
				"the caches of threads (tcache) keep it until the threads end, and "
				"malloc_trim(3) does not reach it. "
				"GLIBC_TUNABLES=glibc.malloc.tcache_count=… (ld.so(8)) makes them "
				"smaller",
			.arenas = "MALLOC_ARENA_MAX=2 (mallopt(3)) avoids them",
		},
	.state_size = sizeof(struct glibc),
	.find = glibc_find,
	.read = glibc_read,
	.release = glibc_release,
	.walk_begin = glibc_walk_begin,
	.walk_feed = glibc_walk_feed,
	.walk_end = glibc_walk_end,
	.settle = glibc_settle,
	.account = glibc_account,
	.find_mapped = glibc_find_mapped,
};
