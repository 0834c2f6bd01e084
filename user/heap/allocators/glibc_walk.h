/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walking glibc's heaps chunk by chunk, by the size that each one's header gives. A walk can be fed
 * from windows as they are read, and mended later where pages have changed since. A heap that
 * contradicts itself ends its walk there: nothing beyond is guessed.
 */
#ifndef LEAKMON_HEAP_GLIBC_WALK_H
#define LEAKMON_HEAP_GLIBC_WALK_H

#include "heap/allocators/glibc_arenas.h"
#include "heap/allocators/pages.h"
#include "process/proc/maps.h"

/* A chunk's place in units of 16 bytes from its span's start, and whether the one before it is in
 * use: so the flag of a chunk stands in the next one. */
static inline uint32_t chunk_pack(uint64_t distance, bool previous_in_use)
{
	return (uint32_t)(distance / 16) << 1 | previous_in_use;
}

static inline uint64_t chunk_distance(uint32_t chunk)
{
	return (uint64_t)(chunk >> 1) * 16;
}

#define SPAN_MAX_BYTES (1ull << 35)

/* Memory that one arena cuts into chunks without a gap. */
struct heap_span {
	uint64_t start, end; /* of the first chunk; where no chunk can be any more */
	uint64_t top;	     /* the chunk that ends it, or 0: the last one is a fence post */
	uint64_t top_size;   /* known when the walk is done */
	bool main;	     /* of the main arena */
	/* A thread's cache is made at its first free() (2.43): the first chunk is no empty one. */
	bool caches_are_late;
	uint32_t arena;
	/* The last one is no block but what ends the span. */
	VEC(uint32_t) chunks;
	uint64_t next;	   /* of the walk */
	bool done, broken; /* broken: at `next`, where no chunk can be */
	bool absent;	   /* broken because that page is in swap, or not in the core */
	const char *why;   /* which check failed there; static; NULL: none */
};

struct heap_spans {
	VEC(struct heap_span) list; /* by ascending address */
	uint64_t lost; /* the last heap with a broken description of itself: it has no span; 0: none
			*/
	const char *why_lost; /* which check that one failed; static */
};

/* The spans of the arenas. maps: to find the main heap; heap_start: its first chunk, 0: unknown. 0
 * or -ENOMEM. */
int heap_spans_find(struct peek *peek, const struct malloc_arenas *arenas, const struct maps *maps,
		    uint64_t heap_start, struct heap_spans *spans);
void heap_spans_free(struct heap_spans *spans);

/* Goes on with the walk as far as the words reach. 0 or -ENOMEM. */
int heap_span_feed(struct heap_span *span, uint64_t address, const uint64_t *words, size_t count);

/* Finishes the walk of a process that runs, with windows of pages that are in memory. 0 (also when
 * it is broken); -ENOMEM; -ESRCH. */
int heap_span_walk(struct heap_span *span, struct peek *peek);
/* A broken walk goes on at the last chunk that held. */
void heap_span_resume(struct heap_span *span);

/* Finishes the walk with words peeked one by one. 0 (also when it is broken); -ENOMEM;
 * -ETIMEDOUT. */
int heap_span_finish(struct heap_span *span, struct peek *peek);

/*
 * While the process stands: takes over from an older walk of the same span what is still so, and
 * walks again what changed. `older` is used up. 0; -ENOMEM; -ETIMEDOUT: peek's deadline is over.
 */
int heap_span_mend(struct heap_span *span, struct heap_span *older, const struct page_table *table,
		   struct peek *peek);

/* The span that holds address, or NULL. */
struct heap_span *heap_spans_at(const struct heap_spans *spans, uint64_t address);

/*
 * Chunks of glibc's malloc that look as if they were in use, and are not: those in fast bins and in
 * the threads' caches, and the caches themselves.
 *
 * Source: glibc 2.26 to 2.43, malloc/malloc.c (tcache_perthread_struct, PROTECT_PTR).
 */

struct free_chunks {
	VEC(uint64_t) list; /* addresses of chunks (not of what malloc returned) */
	size_t broken;	    /* lists that contradicted themselves before their end */
	/* Links of all lists together, and how many at most: a chunk is in one list. */
	uint64_t followed, most;
};

/* The fast bins of all arenas. 0 or -ENOMEM. */
int free_lists_add_fastbins(struct free_chunks *free_chunks, struct peek *peek,
			    const struct malloc_arenas *arenas, const struct heap_spans *spans);

/* The cache of the thread with that thread pointer, if it has one. 0 or -ENOMEM. */
int free_lists_add_cache(struct free_chunks *free_chunks, struct peek *peek,
			 uint64_t thread_pointer, const struct heap_spans *spans);

/* Every chunk that can only be a cache: when the threads' pointers are not known. 0 or -ENOMEM. */
int free_lists_add_all_caches(struct free_chunks *free_chunks, struct peek *peek,
			      const struct heap_spans *spans);

void free_lists_free(struct free_chunks *free_chunks);

#endif
