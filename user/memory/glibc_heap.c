// SPDX-License-Identifier: GPL-2.0-or-later
#include "memory/glibc_heap.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "heap/heap_image_zones.h"
#include "heap/pages.h"
#include "proc/process_memory.h"
#include "proc/target_file.h"

/* Data of a module beyond this is not searched for malloc's state. */
#define MAX_DATA_BYTES (64ull << 20)
/* A heap can change while it is read: this often it is begun anew. */
#define READ_TRIES 3
#define CHUNK_FLAGS 7ull
/* attached_threads stands before system_mem (struct malloc_state, since 2.23). */
#define THREADS_BEFORE_SYSTEM_MEM 8
#define MIN_LARGE 1024
/* struct malloc_chunk, and the smallest chunk (malloc.c, MINSIZE). */
#define CHUNK_STRUCT_BYTES 48
#define CHUNK_MIN 32

struct span_account {
	const struct heap_span *span;
	const struct residency *residency;
	const struct free_chunks *fast, *cached; /* of all spans; sorted */
	uint64_t top_size;			 /* of the chunk at the span's top, if it has one */
	uint64_t memory_end; /* main arena: of the heap's mapping; else 0: no top is given back */
};

struct accounting {
	const struct span_account *given;
	struct glibc_arena *arena;
	struct glibc_heap *heap;
	size_t fast, cached; /* next in the lists */
	uint64_t run;	     /* where a run of free chunks begins; 0: none */
	/* Neighbours of one use, not yet in the arena's sums: most chunks are live. */
	struct {
		enum heap_use use;
		uint64_t start, end, chunks;
	} pending;
};

static void add_pending(struct accounting *accounting)
{
	const struct residency *residency = accounting->given->residency;
	struct heap_share *share = &accounting->arena->uses[accounting->pending.use];
	uint64_t start = accounting->pending.start, end = accounting->pending.end;

	share->bytes += end - start;
	share->resident += residency_bytes(residency, start, end, RESIDENT);
	share->swapped += residency_bytes(residency, start, end, IN_SWAP);
	share->chunks += accounting->pending.chunks;
}

static void add_share(struct accounting *accounting, enum heap_use use, uint64_t start,
		      uint64_t end, bool is_chunk)
{
	if (end <= start)
		return;
	if (accounting->pending.use != use || accounting->pending.end != start) {
		add_pending(accounting);
		accounting->pending.use = use;
		accounting->pending.start = start;
		accounting->pending.chunks = 0;
	}
	accounting->pending.end = end;
	accounting->pending.chunks += is_chunk;
}

/* Whether the next one of an ascending list is `chunk`; the list moves on. */
static bool is_next(const struct free_chunks *list, size_t *at, uint64_t chunk)
{
	while (*at < list->list.count && list->list.items[*at] < chunk)
		++*at;
	return *at < list->list.count && list->list.items[*at] == chunk;
}

static enum heap_use use_of(struct accounting *accounting, uint64_t chunk, bool in_use)
{
	if (!in_use)
		return HEAP_BINS;
	if (is_next(accounting->given->fast, &accounting->fast, chunk))
		return HEAP_FAST;
	if (is_next(accounting->given->cached, &accounting->cached, chunk))
		return HEAP_CACHED;
	return HEAP_LIVE;
}

/* mtrim(): fast chunks have been merged with their neighbours; of what is free then, pages that
 * hold nothing of the chunk's own fields. */
static void trim_run(struct accounting *accounting, uint64_t start, uint64_t end)
{
	uint64_t from = (start + CHUNK_STRUCT_BYTES + MEMORY_PAGE - 1) & ~(MEMORY_PAGE - 1);

	if (end - start >= MEMORY_PAGE - 1 + CHUNK_STRUCT_BYTES && end > from)
		accounting->arena->trimmable +=
			residency_bytes(accounting->given->residency, from,
					from + ((end - from) & ~(MEMORY_PAGE - 1)), RESIDENT);
}

/* systrim(): the break goes back by whole pages, if nobody else has moved it. */
static void trim_top(struct accounting *accounting, uint64_t start, uint64_t end)
{
	uint64_t size = end - start, extra;

	if (!accounting->given->memory_end || size <= CHUNK_MIN + 1 ||
	    ((end + MEMORY_PAGE - 1) & ~(MEMORY_PAGE - 1)) != accounting->given->memory_end)
		return;
	extra = (size - CHUNK_MIN - 1) & ~(MEMORY_PAGE - 1);
	accounting->arena->trimmable +=
		residency_bytes(accounting->given->residency, end - extra, end, RESIDENT);
}

static void end_run(struct accounting *accounting, uint64_t end, bool at_top, uint64_t top)
{
	struct glibc_heap *heap = accounting->heap;
	uint64_t start = accounting->run ? accounting->run : top;

	accounting->run = 0;
	if (!start)
		return;
	heap->largest_free = MAX(heap->largest_free, end - start);
	if (at_top)
		trim_top(accounting, start, end);
	else
		trim_run(accounting, start, end);
}

static void add_chunk(struct accounting *accounting, uint64_t start, uint64_t end, bool in_use)
{
	enum heap_use use = use_of(accounting, start, in_use);

	add_share(accounting, use, start, end, true);
	if (use == HEAP_BINS && end - start < MIN_LARGE)
		accounting->heap->small_bytes += end - start;
	else if (use == HEAP_BINS)
		accounting->heap->large_bytes += end - start;
	if (use != HEAP_BINS && use != HEAP_FAST)
		end_run(accounting, start, false, 0);
	else if (!accounting->run)
		accounting->run = start;
}

/* What ends the span: its top, fence posts, or a place where no chunk can be. */
static void add_end(struct accounting *accounting, uint64_t last)
{
	const struct heap_span *span = accounting->given->span;
	uint64_t end = span->end;

	if (span->broken || !span->done) {
		end_run(accounting, last, false, 0);
		add_share(accounting, HEAP_UNKNOWN, last, end, false);
	} else if (last == span->top) {
		end = MIN(end, last + accounting->given->top_size);
		end_run(accounting, end, true, last);
		add_share(accounting, HEAP_TOP, last, end, true);
		add_share(accounting, HEAP_OWN, end, span->end, false);
	} else {
		end_run(accounting, last, false, 0);
		add_share(accounting, HEAP_OWN, last, end, false);
	}
}

static void heap_account_add(const struct span_account *account, struct glibc_arena *arena,
			     struct glibc_heap *heap)
{
	const struct heap_span *span = account->span;
	struct accounting accounting = {.given = account, .arena = arena, .heap = heap};
	uint64_t at = span->start;

	for (size_t i = 0; i + 1 < span->chunks.count; i++) {
		uint64_t next = span->start + chunk_distance(span->chunks.items[i + 1]);

		add_chunk(&accounting, at, next, span->chunks.items[i + 1] & 1);
		at = next;
	}
	add_end(&accounting, at);
	add_pending(&accounting);
}

struct reading {
	const struct maps *maps;
	int pagemap;
	struct peek peek;
	struct filter heaps;
	struct malloc_arenas arenas;
	struct heap_spans spans;
	struct residency *residencies; /* one for each span; owned */
	struct free_chunks fast, cached;
	struct malloc_par_tail par;
	bool has_par;
	size_t module; /* mapping of the module that led to arenas */
	struct glibc_heap *heap;
};

/* 0; -EAGAIN: malloc was at work; -ENOMEM. */
static int find_in_module(struct reading *reading, size_t i)
{
	const struct mapping *mapping = &reading->maps->list.items[i];
	uint64_t end = MIN(maps_data_end(reading->maps, i), mapping->start + MAX_DATA_BYTES);
	size_t before = reading->arenas.list.count;
	int error;

	if (!mapping->inode || !mapping->writable || mapping->shared)
		return 0;
	error = malloc_arenas_find(&reading->peek, &reading->heaps, mapping->start, end,
				   &reading->arenas);
	if (error || reading->arenas.list.count == before)
		return error;
	reading->module = i;
	if (!reading->has_par)
		reading->has_par = !malloc_par_find(&reading->peek, &reading->heaps, mapping->start,
						    end, &reading->par);
	return 0;
}

static int find_arenas(struct reading *reading)
{
	int error = 0;

	for (size_t i = 0; !error && i < reading->maps->list.count; i++)
		error = find_in_module(reading, i);
	return error;
}

/* Walking what is resident, in windows. */

struct window {
	uint64_t words[WINDOW_PAGES * PAGE_WORDS];
};

static size_t resident_run(const struct residency *residency, uint64_t page)
{
	size_t count = 0;

	while (count < WINDOW_PAGES &&
	       residency_is(residency, page + count * MEMORY_PAGE, RESIDENT))
		count++;
	return count;
}

static int walk_window(struct reading *reading, struct heap_span *span,
		       const struct residency *residency, struct window *window)
{
	uint64_t page = span->next & ~(MEMORY_PAGE - 1), before = span->next;
	size_t count = resident_run(residency, page);
	ssize_t got =
		count ? memory_read(reading->peek.source, page, window->words, count * MEMORY_PAGE)
		      : 0;
	int error = 0;

	if (got == -ESRCH) /* it has ended: nothing else can be read either */
		return -ESRCH;
	if (got >= (ssize_t)MEMORY_PAGE)
		error = heap_span_feed(span, page, window->words, (size_t)got / 8);
	if (error || span->done || span->next != before)
		return error;
	reading->heap->absent_spans += !count;
	span->broken = span->done = true;
	return 0;
}

static int walk(struct reading *reading)
{
	_cleanup_free_ struct window *window = malloc(sizeof(*window));
	int error = window ? 0 : -ENOMEM;

	reading->residencies = calloc(reading->spans.list.count + 1, sizeof(*reading->residencies));
	if (!reading->residencies)
		return -ENOMEM;
	for (size_t i = 0; !error && i < reading->spans.list.count; i++) {
		struct heap_span *span = &reading->spans.list.items[i];

		error = residency_read(&reading->residencies[i], reading->pagemap, span->start,
				       MIN(span->end, span->start + SPAN_MAX_BYTES));
		while (!error && !span->done)
			error = walk_window(reading, span, &reading->residencies[i], window);
		reading->heap->broken_spans += span->broken;
	}
	return error;
}

static int find_free_chunks(struct reading *reading)
{
	int error = free_lists_add_fastbins(&reading->fast, &reading->peek, &reading->arenas,
					    &reading->spans);

	if (!error)
		error = free_lists_add_all_caches(&reading->cached, &reading->peek,
						  &reading->spans);
	free_lists_finish(&reading->fast);
	free_lists_finish(&reading->cached);
	reading->heap->broken_lists = reading->fast.broken + reading->cached.broken;
	return error;
}

/* 0; -EAGAIN: it changed under the reading, which is complete all the same but for what broke. */
static int read_once(struct reading *reading)
{
	uint64_t lost = 0;
	int error = find_arenas(reading);

	if (error)
		return error;
	error = heap_spans_find(&reading->peek, &reading->arenas, reading->maps,
				reading->has_par ? reading->par.heap_start : 0, &reading->spans,
				&lost);
	if (error == -EBADMSG) {
		reading->heap->broken_spans++;
		error = 0;
	}
	if (!error)
		error = walk(reading);
	if (!error)
		error = find_free_chunks(reading);
	return !error && reading->heap->broken_spans > reading->heap->absent_spans ? -EAGAIN
										   : error;
}

static void forget(struct reading *reading)
{
	for (size_t i = 0; reading->residencies && i < reading->spans.list.count; i++)
		residency_free(&reading->residencies[i]);
	free(TAKE_PTR(reading->residencies));
	heap_spans_free(&reading->spans);
	free_lists_free(&reading->fast);
	free_lists_free(&reading->cached);
	reading->fast.broken = reading->cached.broken = 0;
	vec_free(&reading->arenas.list);
	reading->has_par = false;
	peek_forget(&reading->peek);
}

/* What the reading says. */

static const struct mapping *heap_mapping(const struct maps *maps, const struct heap_span *span)
{
	const struct mapping *mapping = span->main ? maps_find(maps, span->end - 1) : NULL;

	return mapping && strcmp(mapping->path, "[heap]") == 0 ? mapping : NULL;
}

static uint64_t top_size(struct reading *reading, const struct heap_span *span)
{
	uint64_t header[2];

	if (!span->top || peek_words(&reading->peek, span->top, header, 2))
		return 0;
	return MIN(header[1] & ~CHUNK_FLAGS, span->end - span->top);
}

/* A page is read for each chunk of the list: what is behind so many stays counted by its size. */
#define UNSORTED_MAX 16384

/* What newly freed chunks pass through: they count as unsorted, and not by their size. */
static void add_unsorted(struct reading *reading, const struct malloc_arena *arena)
{
	struct glibc_heap *heap = reading->heap;
	uint64_t head = arena->address + arena->layout->bins - 16, chunk, words[3];

	if (peek_words(&reading->peek, head + 16, &chunk, 1))
		return;
	/* Lists of other threads may change: no longer than there are chunks. */
	for (uint64_t i = MIN(heap->uses[HEAP_BINS].chunks, UNSORTED_MAX); i && chunk != head;
	     i--) {
		uint64_t size;

		if (!heap_spans_at(&reading->spans, chunk) ||
		    peek_words(&reading->peek, chunk, words, 3))
			return;
		size = words[1] & ~CHUNK_FLAGS;
		if (size < MIN_LARGE ? size > heap->small_bytes : size > heap->large_bytes)
			return;
		*(size < MIN_LARGE ? &heap->small_bytes : &heap->large_bytes) -= size;
		heap->unsorted_bytes += size;
		chunk = words[2];
	}
}

static int add_arena(struct reading *reading, size_t i)
{
	const struct malloc_arena *read = &reading->arenas.list.items[i];
	struct glibc_arena *arena = vec_push(&reading->heap->arenas);
	uint64_t threads = 0;

	if (!arena)
		return -ENOMEM;
	peek_words(&reading->peek,
		   read->address + read->layout->system_mem - THREADS_BEFORE_SYSTEM_MEM, &threads,
		   1);
	*arena = (struct glibc_arena){
		.address = read->address,
		.main = read->main,
		.threads = (uint32_t)MIN(threads, UINT32_MAX),
		.system_bytes = read->system_mem,
	};
	for (size_t j = 0; j < reading->spans.list.count; j++) {
		const struct heap_span *span = &reading->spans.list.items[j];
		const struct mapping *mapping = heap_mapping(reading->maps, span);
		struct span_account account = {
			.span = span,
			.residency = &reading->residencies[j],
			.fast = &reading->fast,
			.cached = &reading->cached,
			.top_size = top_size(reading, span),
			.memory_end = mapping ? mapping->end : 0,
		};

		if (span->arena != i)
			continue;
		arena->heaps++;
		heap_account_add(&account, arena, reading->heap);
	}
	return 0;
}

static int add_extents(struct reading *reading)
{
	for (size_t i = 0; i < reading->spans.list.count; i++) {
		struct heap_extent *extent = vec_push(&reading->heap->extents);

		if (!extent)
			return -ENOMEM;
		*extent = (struct heap_extent){reading->spans.list.items[i].start,
					       reading->spans.list.items[i].end};
	}
	return 0;
}

static void add_shares(struct heap_share *sum, const struct heap_share *share)
{
	sum->bytes += share->bytes;
	sum->resident += share->resident;
	sum->swapped += share->swapped;
	sum->chunks += share->chunks;
}

static int sum_up(struct reading *reading)
{
	struct glibc_heap *heap = reading->heap;
	int error = add_extents(reading);

	for (size_t i = 0; !error && i < reading->arenas.list.count; i++) {
		struct glibc_arena *arena;

		error = add_arena(reading, i);
		if (error)
			break;
		arena = &heap->arenas.items[i];
		for (size_t use = 0; use < HEAP_USE_MAX_; use++)
			add_shares(&heap->uses[use], &arena->uses[use]);
		heap->system_bytes += arena->system_bytes;
		heap->trimmable += arena->trimmable;
	}
	for (size_t i = 0; !error && i < reading->arenas.list.count; i++)
		add_unsorted(reading, &reading->arenas.list.items[i]);
	heap->mapped_known = reading->has_par;
	heap->mapped_bytes = reading->has_par ? reading->par.mapped_bytes : 0;
	return error;
}

/* Blocks with mappings of their own: each mapping's chunks lie one behind the other. */

static uint64_t extent_end(const struct glibc_heap *heap, uint64_t address)
{
	for (size_t i = 0; i < heap->extents.count; i++) {
		if (address >= heap->extents.items[i].start && address < heap->extents.items[i].end)
			return heap->extents.items[i].end;
	}
	return 0;
}

static int add_mapped_in(struct reading *reading, const struct mapping *mapping)
{
	struct glibc_heap *heap = reading->heap;
	uint64_t words[PAGE_WORDS], at = mapping->start, end;
	struct mapped_chunk chunk, *kept;

	while (at < mapping->end) {
		end = extent_end(heap, at);
		if (end) {
			at = (end + MEMORY_PAGE - 1) & ~(MEMORY_PAGE - 1);
			continue;
		}
		if (peek_words(&reading->peek, at, words, PAGE_WORDS) ||
		    !page_has_mapped_chunk(at, words, mapping->end, &chunk))
			return 0;
		kept = vec_push(&heap->mapped);
		if (!kept)
			return -ENOMEM;
		*kept = chunk;
		at = (chunk.address + chunk.size + MEMORY_PAGE - 1) & ~(MEMORY_PAGE - 1);
	}
	return 0;
}

/* Without a name, or with one that prctl(2) gave it: glibc can do so (glibc.mem.decorate_maps). */
static bool may_hold_chunks(const struct mapping *mapping)
{
	return mapping->writable && !mapping->inode && !mapping->shared &&
	       (!mapping->path[0] || strncmp(mapping->path, "[anon:", 6) == 0);
}

static int add_mapped(struct reading *reading)
{
	int error = 0;

	for (size_t i = 0; !error && i < reading->maps->list.count; i++) {
		if (may_hold_chunks(&reading->maps->list.items[i]))
			error = add_mapped_in(reading, &reading->maps->list.items[i]);
	}
	return error;
}

/* The version is in a sentence that the library can print about itself. */

#define BANNER "GNU C Library ("
#define VERSION_WORDS "release version "
#define SEARCH_BYTES (8u << 20)

static void name_from_text(const char *text, size_t size, struct glibc_heap *heap)
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

static void find_name(const struct reading *reading, struct glibc_heap *heap)
{
	const struct mapping *mapping = &reading->maps->list.items[reading->module];
	_cleanup_close_ int fd = target_file_open_mapping(reading->maps->source, mapping);
	_cleanup_free_ char *text = fd < 0 ? NULL : malloc(SEARCH_BYTES + 1);
	ssize_t got = text ? pread(fd, text, SEARCH_BYTES, 0) : -1;

	snprintf(heap->name, sizeof(heap->name), "%s",
		 reading->arenas.list.items[0].layout->versions);
	if (got <= 0)
		return;
	text[got] = '\0';
	name_from_text(text, (size_t)got, heap);
}

static int conclude(struct reading *reading)
{
	int error;

	if (!reading->arenas.list.count)
		return -ENOENT;
	error = sum_up(reading);
	if (!error)
		error = add_mapped(reading);
	if (!error)
		find_name(reading, reading->heap);
	return error;
}

int glibc_heap_read(const struct maps *maps, int pagemap, struct glibc_heap *heap)
{
	struct reading reading = {.maps = maps,
				  .pagemap = pagemap,
				  .peek = {.source = maps->source, .pagemap = pagemap},
				  .heap = heap};
	int error;

	peek_forget(&reading.peek);
	error = filter_heaps_from_maps(maps, &reading.heaps);
	for (size_t try = 0; !error && try < READ_TRIES; try++) {
		forget(&reading);
		heap->broken_spans = heap->absent_spans = heap->broken_lists = 0;
		error = read_once(&reading);
		heap->changed = error == -EAGAIN;
		/* Lists that a thread was at work on may stand by now. */
		if (!heap->changed && (error || !heap->broken_lists || try))
			break;
		error = 0;
	}
	if (!error)
		error = conclude(&reading);
	forget(&reading);
	peek_free(&reading.peek);
	filter_free(&reading.heaps);
	return error;
}

void glibc_heap_free(struct glibc_heap *heap)
{
	vec_free(&heap->arenas);
	vec_free(&heap->extents);
	vec_free(&heap->mapped);
}

uint64_t glibc_heap_unused(const struct glibc_heap *heap)
{
	return heap->uses[HEAP_TOP].bytes + heap->uses[HEAP_BINS].bytes +
	       heap->uses[HEAP_FAST].bytes;
}

uint64_t glibc_heap_used(const struct glibc_heap *heap)
{
	uint64_t unused = glibc_heap_unused(heap);

	return heap->system_bytes - MIN(unused, heap->system_bytes);
}
