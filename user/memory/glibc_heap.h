/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How glibc's malloc uses its memory, read from outside without a stop: what is live, what is free
 * and where, and what malloc_trim(3) would give back. A process that allocates meanwhile blurs the
 * picture; what contradicts itself is counted as unknown, never guessed.
 *
 * Source: glibc 2.26 to 2.41, malloc/malloc.c (mallinfo2, mtrim, systrim), malloc/arena.c.
 */
#ifndef LEAKMON_MEMORY_GLIBC_HEAP_H
#define LEAKMON_MEMORY_GLIBC_HEAP_H

#include "heap/glibc_walk.h"
#include "memory/residency.h"

enum heap_use {
	HEAP_LIVE,    /* blocks that the program has, with their headers */
	HEAP_CACHED,  /* free, in a thread's cache (tcache), with the cache itself */
	HEAP_FAST,    /* free, in fast bins */
	HEAP_BINS,    /* free, in unsorted, small and large bins */
	HEAP_TOP,     /* free, at an arena's end */
	HEAP_DIRTY,   /* free pages that other allocators give back after a while */
	HEAP_OWN,     /* descriptions of heaps and arenas, fence posts */
	HEAP_UNKNOWN, /* where the walk had to end */
	HEAP_USE_MAX_
};

struct heap_share {
	uint64_t bytes, resident, swapped, chunks;
};

struct glibc_arena {
	uint64_t address;
	bool main;
	uint32_t threads; /* attached; of the main one this is a lower limit */
	uint32_t heaps;
	uint64_t system_bytes; /* as malloc counts it */
	uint64_t trimmable;    /* whole free resident pages that malloc_trim() gives back */
	struct heap_share uses[HEAP_USE_MAX_];
};

struct heap_extent {
	uint64_t start, end;
};

struct glibc_heap {
	char name[48]; /* "glibc 2.36" */
	VEC(struct glibc_arena) arenas;
	VEC(struct heap_extent) extents; /* that arenas cut into chunks; ascending */
	/* Blocks with a mapping of their own, ascending; what malloc has counted of them. */
	VEC(struct mapped_chunk) mapped;
	uint64_t mapped_bytes;
	bool mapped_known;		       /* mapped_bytes is */
	struct heap_share uses[HEAP_USE_MAX_]; /* of all arenas */
	uint64_t system_bytes, trimmable;
	/* Of HEAP_BINS; of an unsorted list that is very long, the rest counts by its size. */
	uint64_t unsorted_bytes, small_bytes, large_bytes;
	uint64_t largest_free; /* without a gap */
	size_t broken_spans, broken_lists, absent_spans;
	bool changed; /* arenas are there, and changed whenever they were read */
};

/*
 * Reads the heap of the process whose mappings are given. 0; -ENOENT: there is none of glibc's that
 * has been used; -ENOMEM. heap->changed may be set also with -ENOENT. *heap is filled in either
 * case, and freed by the caller.
 */
int glibc_heap_read(const struct maps *maps, int pagemap, struct glibc_heap *heap);
void glibc_heap_free(struct glibc_heap *heap);

/* As mallinfo2(3) has them: uordblks and fordblks. */
uint64_t glibc_heap_used(const struct glibc_heap *heap);
uint64_t glibc_heap_unused(const struct glibc_heap *heap);

#endif
