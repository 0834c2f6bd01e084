/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks glibc's heaps chunk by chunk, by the size in each header. A walk can be fed from windows as
 * they are read, and repaired later where pages have changed. At an inconsistency the walk ends:
 * nothing beyond is guessed.
 */
#ifndef LEAKMON_HEAP_GLIBC_WALK_H
#define LEAKMON_HEAP_GLIBC_WALK_H

#include "heap/allocators/glibc_arenas.h"
#include "heap/allocators/pages.h"
#include "process/proc/maps.h"

/*
 * A chunk's offset in its span, in units of 16 bytes, and whether the previous one is in use: a
 * chunk's flag is in the next one.
 */
static inline uint32_t chunk_pack(uint64_t distance, bool previous_in_use)
{
	return (uint32_t)(distance / 16) << 1 | previous_in_use;
}

static inline uint64_t chunk_distance(uint32_t chunk)
{
	return (uint64_t)(chunk >> 1) * 16;
}

#define SPAN_MAX_BYTES (1ull << 35)

/* Memory that one arena divides into chunks without gaps. */
struct heap_span {
	uint64_t start, end; /* of the first chunk; beyond the last possible one */
	uint64_t top;	     /* the final chunk, or 0: the last one is a fence post */
	uint64_t top_size;   /* known when the walk is done */
	bool main;	     /* of the main arena */
	/*
	 * A thread's cache is made at its first free() (2.43): the first chunk is not an empty one.
	 */
	bool caches_are_late;
	uint32_t arena;
	/* The last one is the span's terminator, not a block. */
	VEC(uint32_t) chunks;
	uint64_t next;	   /* of the walk */
	bool done, broken; /* broken: at `next`, an impossible chunk */
	bool absent;	   /* broken because that page is swapped out, or not in the core */
	const char *why;   /* the check that failed there; static; NULL: none */
};

struct heap_spans {
	VEC(struct heap_span) list; /* by ascending address */
	uint64_t lost; /* the last heap with a broken descriptor, which has no span; 0: none */
	const char *why_lost; /* the check that it failed; static */
};

/*
 * Finds the spans of the arenas. maps: to find the main heap; heap_start: its first chunk, 0:
 * unknown. Returns 0 or -ENOMEM.
 */
int heap_spans_find(struct peek *peek, const struct malloc_arenas *arenas, const struct maps *maps,
		    uint64_t heap_start, struct heap_spans *spans);
void heap_spans_free(struct heap_spans *spans);

/* Continues the walk to the end of the words. Returns 0 or -ENOMEM. */
int heap_span_feed(struct heap_span *span, uint64_t address, const uint64_t *words, size_t count);

/*
 * Completes the walk of a running process, with windows of pages in memory. Returns 0 (also if
 * broken); -ENOMEM; -ESRCH.
 */
int heap_span_walk(struct heap_span *span, struct peek *peek);
/* Resumes a broken walk at the last consistent chunk. */
void heap_span_resume(struct heap_span *span);

/*
 * Completes the walk with words peeked one by one. Returns 0 (also if broken); -ENOMEM; -ETIMEDOUT.
 */
int heap_span_finish(struct heap_span *span, struct peek *peek);

/*
 * While the process is stopped: takes over the unchanged parts of an older walk of the same span,
 * and rewalks the rest. `older` is consumed. Returns 0; -ENOMEM; -ETIMEDOUT: peek's deadline has
 * passed.
 */
int heap_span_mend(struct heap_span *span, struct heap_span *older, const struct page_table *table,
		   struct peek *peek);

/* Returns the span that contains address, or NULL. */
struct heap_span *heap_spans_at(const struct heap_spans *spans, uint64_t address);

/*
 * Chunks of glibc's malloc that look in use but are free: those in fast bins and in the threads'
 * caches; and the caches themselves.
 *
 * Source: glibc 2.26 to 2.43, malloc/malloc.c (tcache_perthread_struct, PROTECT_PTR).
 */

struct free_chunks {
	VEC(uint64_t) list; /* addresses of chunks (not of blocks) */
	size_t broken;	    /* inconsistent lists */
	/* Links of all lists together, and their limit: a chunk is in one list only. */
	uint64_t followed, most;
};

/* Adds the fast bins of all arenas. Returns 0 or -ENOMEM. */
int free_lists_add_fastbins(struct free_chunks *free_chunks, struct peek *peek,
			    const struct malloc_arenas *arenas, const struct heap_spans *spans);

/* Adds the cache of the thread with that thread pointer, if it has one. Returns 0 or -ENOMEM. */
int free_lists_add_cache(struct free_chunks *free_chunks, struct peek *peek,
			 uint64_t thread_pointer, const struct heap_spans *spans);

/*
 * Adds every chunk that can only be a cache: if the threads' pointers are unknown. Returns 0 or
 * -ENOMEM.
 */
int free_lists_add_all_caches(struct free_chunks *free_chunks, struct peek *peek,
			      const struct heap_spans *spans);

void free_lists_free(struct free_chunks *free_chunks);

#endif
