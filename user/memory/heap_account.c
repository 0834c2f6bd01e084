// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cleanup.h"
#include "memory/glibc_heap.h"

/* struct malloc_chunk, and the smallest chunk (malloc.c, MINSIZE). */
#define CHUNK_STRUCT_BYTES 48
#define CHUNK_MIN 32
/* From here on chunks are in large bins (malloc.c, MIN_LARGE_SIZE). */
#define LARGE_MIN 1024

struct accounting {
	const struct span_account *given;
	struct glibc_arena *arena;
	struct glibc_heap *heap;
	size_t fast, cached; /* next in the lists */
	uint64_t run;	     /* where a run of free chunks begins; 0: none */
};

static void add_share(const struct accounting *accounting, enum heap_use use, uint64_t start,
		      uint64_t end, bool is_chunk)
{
	const struct residency *residency = accounting->given->residency;
	struct heap_share *share = &accounting->arena->uses[use];

	if (end <= start)
		return;
	share->bytes += end - start;
	share->resident += residency_bytes(residency, start, end, RESIDENT);
	share->swapped += residency_bytes(residency, start, end, IN_SWAP);
	share->chunks += is_chunk;
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
	if (use == HEAP_BINS && end - start < LARGE_MIN)
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

void heap_account_add(const struct span_account *account, struct glibc_arena *arena,
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
}
