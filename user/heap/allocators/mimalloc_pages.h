/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common part of the readers of mimalloc 2 and 3: a page of blocks of one size has three lists
 * of free ones, with as many blocks as its record says.
 */
#ifndef LEAKMON_HEAP_MIMALLOC_PAGES_H
#define LEAKMON_HEAP_MIMALLOC_PAGES_H

#include "heap/allocators/heap_reader.h"

#define MIMALLOC_SLICE_BYTES (64ull << 10)

struct mimalloc_page {
	uint64_t start, end, first, block;
	uint64_t lists[3]; /* free, local_free, and blocks freed by other threads */
	uint32_t capacity, reserved, used;
	/*
	 * MI_SECURE=4: the links of its lists are encoded with these keys; a list ends with the
	 * owner. 0: not encoded.
	 */
	uint64_t owner, keys[2];
};

struct mimalloc_reading {
	struct peek *peek;
	const struct filter *heaps;
	struct heap *heap;
	uint64_t blocks; /* of all pages added */
	bool swapped;	 /* a free block is swapped out */
};

/* Reads a word of the target. Returns 0, -EFAULT or -ETIMEDOUT. */
int mimalloc_word(const struct mimalloc_reading *reading, uint64_t address, uint64_t *word);

/* Returns the next block of a list; see struct mimalloc_page. */
uint64_t mimalloc_decode(uint64_t owner, const uint64_t keys[2], uint64_t next);

/*
 * Returns whether the lists have as many blocks of the page as its record says; *given_back: those
 * freed by other threads. A thread stopped within malloc may not have counted its last block yet.
 * With a run, whose blocks are all live, the listed ones become free.
 */
bool mimalloc_lists_hold(struct mimalloc_reading *reading, const struct mimalloc_page *page,
			 const struct heap_run *run, uint32_t *given_back);

/*
 * Adds a page with its blocks. Returns 0; 1: its lists are inconsistent, so it counts as broken,
 * and its contents as unknown; -E2BIG: too many blocks; -ENOMEM.
 */
int mimalloc_page_add(struct mimalloc_reading *reading, const struct mimalloc_page *page);

/* Adds mimalloc's own memory. Returns 0 or -ENOMEM. */
int mimalloc_own_add(struct mimalloc_reading *reading, uint64_t start, uint64_t end);

/* Completes the heap's figures once all is added; its name and its `why` are left to the caller. */
void mimalloc_finish(struct heap *heap);

/* Returns why the blocks are uncertain, as far as pages show; static; NULL: they are certain. */
const char *mimalloc_why_uncertain(const struct mimalloc_reading *reading);

#endif
