/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap of any allocator: the use of its memory ranges, the blocks in them, and its figures.
 * Readers fill it (heap_reader.h); a heap image, `retain` and `memory` read it.
 */
#ifndef LEAKMON_HEAP_HEAP_H
#define LEAKMON_HEAP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "report/allocator_report.h"

struct heap_reader;

enum run_use {
	RUN_BLOCKS,   /* divided into blocks */
	RUN_MAPPED,   /* one block with its own mapping */
	RUN_TOP,      /* free, at the end of an arena */
	RUN_DIRTY,    /* free, in memory; returned after a while, or by a purge */
	RUN_MUZZY,    /* free; the kernel reclaims it on demand */
	RUN_RETAINED, /* free addresses without memory */
	RUN_OWN,      /* the allocator's records */
	RUN_TABLES,   /* records outside its heap: in a module's data, or in front of an arena */
	RUN_CHANGING, /* pages changing to another use: no blocks */
	RUN_UNKNOWN,  /* a walk ended early: contents unknown */
	RUN_USE_MAX_
};

/* A memory range of one use. */
struct heap_run {
	uint64_t start, end;
	uint64_t first; /* address of its first block, if they have one size */
	union {
		uint64_t block; /* usable size of each */
		/*
		 * packed: the start of each block and the end of the last one, in units of 16 bytes
		 * from `start` on, times two; the lowest bit is the reader's. Owned.
		 */
		uint32_t *places;
	};
	uint32_t count; /* of blocks */
	uint32_t bits;	/* in heap.bits: two bits for each block, in two planes */
	uint32_t arena;
	bool packed; /* blocks of various sizes without gaps */
	uint8_t use; /* enum run_use */
};

enum block_use {
	BLOCK_LIVE,
	BLOCK_CACHED, /* in a thread's cache */
	BLOCK_FAST,   /* free, but not merged with its neighbours */
	BLOCK_FREE
};

struct heap_block {
	uint64_t start, end;	/* including the allocator's data beside it */
	uint64_t address, size; /* as the program sees it */
	enum block_use use;
};

/* One range of memory that could be returned. */
struct heap_trim {
	uint64_t start, end;
	uint32_t arena;
};

/* A block with its own mapping, recognised by its header. */
struct mapped_block {
	uint64_t page;	     /* page of the header's first byte */
	uint64_t start, end; /* including the header */
	uint64_t address;    /* as the program sees it */
	uint64_t page_hash;  /* of the contents when the header was found */
	bool sure;	     /* its position excludes other data */
	const struct heap_reader *reader;
};

struct heap {
	const struct heap_reader *reader;
	char name[48];		   /* "jemalloc 5.3"; empty: none */
	VEC(struct heap_run) runs; /* ascending, not overlapping */
	VEC(uint64_t) bits;
	/* of packed blocks: size of the header before each, and its overlap into the next one's */
	uint8_t header, overlap;
	uint64_t figures[ALLOCATOR_FIGURE_MAX_];
	/*
	 * Single arenas, and ranges that could be returned, besides free pages; `uses` and
	 * `trimmable` are filled by others.
	 */
	VEC(struct heap_arena) arenas;
	VEC(struct heap_trim) trims;
	size_t broken;		/* inconsistent records, or ones that changed during the read */
	size_t broken_caches;	/* inconsistent caches: their blocks may count as live */
	size_t broken_walks;	/* the rest after each is unknown */
	size_t absent_walks;	/* of these, those that ended at an absent page */
	uint64_t broken_at;	/* end of the first of them */
	const char *why_broken; /* the check that failed there; static */
	const char *why;	/* why not all is certain; static; NULL: it is */
	/*
	 * Live blocks are exact, and no other block is live: within runs; memory described by a
	 * broken record is in no run.
	 */
	bool blocks_certain;
	/* At a stop: a walk ended earlier than it had while the process ran. */
	bool torn;
	/* Bytes mapped for single blocks, if the allocator counts them. */
	bool mapped_known;
	uint64_t mapped_bytes;
};

struct heaps {
	VEC(struct heap) list;
};

void heap_free(struct heap *heap);
void heaps_free(struct heaps *heaps);
/* Frees the blocks, which are large; no access to them is allowed afterwards. */
void heap_drop_blocks(struct heap *heap);

/* Return the run that contains address, or NULL; and whether any heap has one. */
struct heap_run *heap_at(const struct heap *heap, uint64_t address);
bool heaps_have(const struct heaps *heaps, uint64_t address);

/* Returns whether any run lies in [start, end). */
bool heap_overlaps(const struct heap *heap, uint64_t start, uint64_t end);

/* Returns the i-th block of a run. */
struct heap_block heap_block(const struct heap *heap, const struct heap_run *run, uint32_t i);

/* For readers. */

/* Adds a run, whose blocks are all live, in any order. Returns 0 or -ENOMEM. */
int heap_add(struct heap *heap, const struct heap_run *run);
/* Adds a block with its own mapping, by its header. Returns 0 or -ENOMEM. */
int heap_add_mapped(struct heap *heap, const struct mapped_block *block);
/*
 * Sets the packed blocks of a run that was added without any, all of them live. The run owns
 * `places`, even on failure. Returns 0 or -ENOMEM.
 */
int heap_set_places(struct heap *heap, struct heap_run *run, uint32_t *places, uint32_t count);
/* Returns the run of the packed block that begins at `start`, and its index; NULL: none. */
struct heap_run *heap_block_from(const struct heap *heap, uint64_t start, uint32_t *i);
/* Drops a run of unknown contents: it is removed by the sort. */
void heap_drop(struct heap_run *run);
bool heap_is_live(const struct heap *heap, const struct heap_run *run, uint32_t i);
void heap_set_use(struct heap *heap, const struct heap_run *run, uint32_t i, enum block_use use);
/* Sorts, and drops overlaps, after all runs were added and before any look-up. */
void heap_sort(struct heap *heap);
/*
 * Marks a block as kept by a thread's cache. Returns false if no live block of that size begins
 * there.
 */
bool heap_cache(struct heap *heap, uint64_t address, uint64_t block);
/* Marks a block as kept by a cache between threads: it is free. Returns as heap_cache(). */
bool heap_transfer(struct heap *heap, uint64_t address, uint64_t block);
/* Marks the block that contains address as the allocator's own. */
bool heap_own(struct heap *heap, uint64_t address);
/* Counts live blocks, if all runs have blocks of one size each. */
void heap_finish(struct heap *heap);

#endif
