/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heaps of other allocators than glibc's, read from outside: which stretches of memory are cut into
 * blocks of which size, which blocks the program has, and which ones the caches of its threads
 * keep.
 *
 * Each allocator's reader finds the state by what it looks like, and takes nothing for it unless
 * all of it fits together. What contradicts itself is counted, never guessed.
 */
#ifndef LEAKMON_HEAP_HEAP_H
#define LEAKMON_HEAP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "heap/pointer_filter.h"
#include "proc/maps.h"
#include "proc/process_memory.h"

enum run_use {
	RUN_BLOCKS,   /* cut into blocks */
	RUN_DIRTY,    /* free, in memory; given back after a while, or by a purge */
	RUN_MUZZY,    /* free; the kernel takes it back when it needs it */
	RUN_RETAINED, /* free addresses, without memory */
	RUN_OWN,      /* the allocator's records */
	RUN_TABLES,   /* likewise, in its module's data: no part of its heap */
	RUN_UNKNOWN,
	RUN_USE_MAX_
};

/* Whole pages of one use. */
struct heap_run {
	uint64_t start, end;
	uint64_t first; /* address of its first block */
	uint64_t block; /* size of each, as the program can use it */
	uint32_t count; /* of blocks */
	uint32_t bits;	/* in foreign_heap.bits: `count` bits of live blocks, then as many of
			 * cached ones, each from a new word on */
	enum run_use use;
};

/* As the allocator itself counts them, in bytes. */
struct heap_figures {
	uint64_t
		allocated; /* blocks handed out, those in caches and the allocator's own included */
	uint64_t cached;   /* of them in the caches of threads */
	uint64_t transfer; /* likewise in those that go from thread to thread, or freed by others
			    * than the thread that they are to go back to */
	uint64_t own;	   /* of them the allocator's */
	uint64_t active;   /* pages that have such blocks */
	uint64_t dirty, muzzy, retained;
	uint64_t metadata;
	uint64_t mapped;
};

struct heap {
	char name[48];		   /* "jemalloc 5.3"; empty: none */
	VEC(struct heap_run) runs; /* ascending, not overlapping */
	VEC(uint64_t) bits;
	struct heap_figures figures;
	size_t live_blocks, cached_blocks;
	uint64_t live_bytes;
	size_t arenas, caches;
	size_t broken;	      /* records that contradict themselves, or changed while being read */
	size_t broken_caches; /* likewise: what they keep may count as live */
	const char *why;      /* not all is certain; static; NULL: it is */
	/* What is live is, and every other block is none: all of them in runs, that is; memory that
	 * a broken record is about is in no run. */
	bool blocks_certain;
};

/* tcmalloc's: addresses of the map of its pages, of what it counts, of the sizes of classes from 1
 * on, of the first central list, and of a word that leads to a thread's cache; 0: not found. */
struct tcmalloc_place {
	uint64_t map, stats, sizes, central, caches;
	uint32_t page_shift;
};

/* Where an allocator's state is: found once, read often. */
struct heap_place {
	const struct heap_allocator *allocator;
	const struct jemalloc_layout *jemalloc;
	const struct mimalloc_layout *mimalloc;
	uint64_t root, arenas; /* jemalloc's; root: the main thread's heap of mimalloc */
	struct tcmalloc_place tcmalloc;
};

/*
 * Looks for an allocator's state in the data of all modules. `heaps`: anonymous writable memory. 0;
 * -ENOENT: none that is known; -ENOMEM; -ETIMEDOUT: by peek's deadline.
 */
int heap_find(struct peek *peek, const struct filter *heaps, const struct maps *maps,
	      struct heap_place *place);

/* Reads it. *heap is to be freed in any case. 0; -ENOENT: it is not there (any more); -ENOMEM;
 * -ETIMEDOUT. */
int heap_read(struct peek *peek, const struct filter *heaps, const struct heap_place *place,
	      struct heap *heap);
void heap_free(struct heap *heap);

/*
 * Of a process in which nothing was found: that it has an allocator whose records are not read, and
 * what would help, by the names of what it has mapped. Static; NULL: it has none that is known.
 */
const char *heap_why_not(const struct maps *maps);

/* The run that holds address, or NULL. */
const struct heap_run *heap_at(const struct heap *heap, uint64_t address);

bool heap_is_live(const struct heap *heap, const struct heap_run *run, uint32_t i);
bool heap_is_cached(const struct heap *heap, const struct heap_run *run, uint32_t i);

/* For readers. */

/* 0 or -ENOMEM; all its blocks are live. Runs may come in any order. */
int heap_add(struct heap *heap, const struct heap_run *run);
/* Nothing is known of it: it is in no run when they have been sorted. */
void heap_drop(struct heap_run *run);
void heap_set_free(struct heap *heap, const struct heap_run *run, uint32_t i);
/* When all are added, and before any is asked for: sorts, and drops what overlaps. */
void heap_sort(struct heap *heap);
/*
 * Calls with every page of a module's data [start, end) that is there, until one call says that it
 * is enough: true.
 */
bool heap_data_visit(struct peek *peek, uint64_t start, uint64_t end,
		     bool (*visit)(void *context, uint64_t page, const uint64_t *words),
		     void *context);
/* Whether the page that holds a word cannot be read because it is in swap. */
bool heap_is_swapped(const struct peek *peek, uint64_t address);
/* As peek_words(), but words of pages that have never been touched, or given back, are 0. */
int heap_words(struct peek *peek, uint64_t address, uint64_t *words, size_t count);
/* A process that runs may change what is looked for meanwhile: so often it is looked for anew. */
#define HEAP_FIND_TRIES 3
/* A block that a thread's cache keeps: false if no live block of that size begins there. */
bool heap_cache(struct heap *heap, uint64_t address, uint64_t block);
/* Likewise a cache between threads: the block is free. */
bool heap_transfer(struct heap *heap, uint64_t address, uint64_t block);
/* Whatever block holds address is the allocator's own. */
bool heap_own(struct heap *heap, uint64_t address);
/* Counts live blocks. */
void heap_finish(struct heap *heap);

#endif
