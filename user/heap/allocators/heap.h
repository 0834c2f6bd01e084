/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap of one allocator, whichever it is: which stretches of memory are for what, which blocks
 * are in them, and its figures. Readers fill it (heap_reader.h); a heap image, `retain` and
 * `memory` read it.
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
	RUN_BLOCKS,   /* cut into blocks */
	RUN_MAPPED,   /* one block with a mapping of its own */
	RUN_TOP,      /* free, at the end of an arena */
	RUN_DIRTY,    /* free, in memory; given back after a while, or by a purge */
	RUN_MUZZY,    /* free; the kernel takes it back when it needs it */
	RUN_RETAINED, /* free addresses, without memory */
	RUN_OWN,      /* the allocator's records */
	RUN_TABLES,   /* likewise, outside its heap: in a module's data, or in front of an arena */
	RUN_CHANGING, /* pages in transition to another use: they have no blocks */
	RUN_UNKNOWN,  /* a walk ended early: it may hold anything */
	RUN_USE_MAX_
};

/* A stretch of memory of one use. */
struct heap_run {
	uint64_t start, end;
	uint64_t first; /* address of its first block, of those of one size */
	union {
		uint64_t block; /* size of each, as the program can use it */
		/* packed: where each block begins and the last one ends, in units of 16 bytes from
		 * `start` on, times two; the lowest bit is the reader's. Owned. */
		uint32_t *places;
	};
	uint32_t count; /* of blocks */
	uint32_t bits;	/* in heap.bits: two bits for each block, in two planes */
	uint32_t arena;
	bool packed; /* blocks of many sizes without a gap */
	uint8_t use; /* enum run_use */
};

enum block_use {
	BLOCK_LIVE,
	BLOCK_CACHED, /* in a thread's cache */
	BLOCK_FAST,   /* free, and not to be joined with its neighbours */
	BLOCK_FREE
};

struct heap_block {
	uint64_t start, end;	/* with what the allocator keeps beside it */
	uint64_t address, size; /* as the program has it */
	enum block_use use;
};

/* Memory that could be given back, in one piece. */
struct heap_trim {
	uint64_t start, end;
	uint32_t arena;
};

/* A block that has a mapping of its own, by what looks like its header. */
struct mapped_block {
	uint64_t page;	     /* that the header begins in */
	uint64_t start, end; /* with the header */
	uint64_t address;    /* as the program has it */
	uint64_t page_hash;  /* of the contents in which the header was found */
	bool sure;	     /* its place shows that it is no other data */
	const struct heap_reader *reader;
};

struct heap {
	const struct heap_reader *reader;
	char name[48];		   /* "jemalloc 5.3"; empty: none */
	VEC(struct heap_run) runs; /* ascending, not overlapping */
	VEC(uint64_t) bits;
	uint8_t header, overlap; /* of packed blocks: what lies before each, and how far it
				  * reaches into what lies before the next one */
	uint64_t figures[ALLOCATOR_FIGURE_MAX_];
	/* Arenas one by one, and of what could be given back, besides free pages; `uses` and
	 * `trimmable` are for others to fill. */
	VEC(struct heap_arena) arenas;
	VEC(struct heap_trim) trims;
	size_t broken;	      /* records that contradict themselves, or changed while being read */
	size_t broken_caches; /* likewise: what they keep may count as live */
	size_t broken_walks;  /* what lies behind is not known */
	size_t absent_walks;  /* of them, those that ended at a page that is not in memory */
	uint64_t broken_at;   /* where the first of them ended */
	const char *why_broken; /* which check failed there; static */
	const char *why;	/* not all is certain; static; NULL: it is */
	/* The live blocks are exact, and every other block is none: all of them in runs, that is;
	 * memory that a broken record is about is in no run. */
	bool blocks_certain;
	/* At a stop: a walk ended where it had gone on while the process ran. */
	bool torn;
	/* What is mapped for single blocks, where the allocator counts it. */
	bool mapped_known;
	uint64_t mapped_bytes;
};

struct heaps {
	VEC(struct heap) list;
};

void heap_free(struct heap *heap);
void heaps_free(struct heaps *heaps);
/* The blocks are needed no more, and are large: nothing may ask for them from here on. */
void heap_drop_blocks(struct heap *heap);

/* The run that holds address, or NULL. */
struct heap_run *heap_at(const struct heap *heap, uint64_t address);
bool heaps_have(const struct heaps *heaps, uint64_t address);

/* Whether any run lies in [start, end). */
bool heap_overlaps(const struct heap *heap, uint64_t start, uint64_t end);

/* The i-th block of a run. */
struct heap_block heap_block(const struct heap *heap, const struct heap_run *run, uint32_t i);

/* For readers. */

/* 0 or -ENOMEM; all its blocks are live. Runs may come in any order. */
int heap_add(struct heap *heap, const struct heap_run *run);
/* A block with a mapping of its own, by its header. 0 or -ENOMEM. */
int heap_add_mapped(struct heap *heap, const struct mapped_block *block);
/* Packed blocks of a run that was added without any, all of them live. The run owns `places`, also
 * on failure. 0 or -ENOMEM. */
int heap_set_places(struct heap *heap, struct heap_run *run, uint32_t *places, uint32_t count);
/* The run of the packed block that begins at `start`, and which one it is; NULL: there is none. */
struct heap_run *heap_block_from(const struct heap *heap, uint64_t start, uint32_t *i);
/* Nothing is known of it: it is in no run when they have been sorted. */
void heap_drop(struct heap_run *run);
bool heap_is_live(const struct heap *heap, const struct heap_run *run, uint32_t i);
void heap_set_use(struct heap *heap, const struct heap_run *run, uint32_t i, enum block_use use);
/* When all are added, and before any is asked for: sorts, and drops what overlaps. */
void heap_sort(struct heap *heap);
/* A block that a thread's cache keeps: false if no live block of that size begins there. */
bool heap_cache(struct heap *heap, uint64_t address, uint64_t block);
/* Likewise a cache between threads: the block is free. */
bool heap_transfer(struct heap *heap, uint64_t address, uint64_t block);
/* Whatever block holds address is the allocator's own. */
bool heap_own(struct heap *heap, uint64_t address);
/* Counts live blocks, if all runs have blocks of one size each. */
void heap_finish(struct heap *heap);

#endif
