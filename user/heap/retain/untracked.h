/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory without known blocks: handed out by another allocator before tracking began, or mapped by
 * the program itself. Object boundaries are unknown, so it is analysed by page: a pointer into a
 * page leads to all words of that page, and of the following ones up to the next page that
 * something points into (an object larger than a page).
 */
#ifndef LEAKMON_RETAIN_UNTRACKED_H
#define LEAKMON_RETAIN_UNTRACKED_H

#include "heap/allocators/data_modules.h"
#include "heap/allocators/pointer_filter.h"

struct heap_graph;

#define UNTRACKED_NONE UINT32_MAX
#define UNTRACKED_RECENT 4096

struct untracked_range {
	uint64_t start, end;
	uint32_t first; /* number of its first page */
};

/* A word in a block or a page that points into a page. */
struct untracked_edge {
	uint32_t source, page;
};

/* A word in neither. */
struct untracked_root {
	uint64_t address; /* as in root_word */
	uint32_t page, thread;
};

struct untracked {
	VEC(struct untracked_range) ranges; /* ascending */
	struct filter filter;		    /* addresses in them */
	uint32_t pages;
	uint8_t *pointed; /* by page: whether anything points into it, or a range begins */
	VEC(struct untracked_edge) from_blocks, from_pages; /* by ascending source */
	VEC(struct untracked_root) roots;
	uint64_t recent[UNTRACKED_RECENT]; /* to skip most repetitions */
	bool truncated;			   /* too many to keep */
};

/* Finds this memory. Returns 0 or -ENOMEM. */
int untracked_prepare(const struct heap_image *heap_image, const struct data_modules *modules,
		      struct untracked *untracked);
void untracked_free(struct untracked *untracked);

/* Return the number of the page at address, or UNTRACKED_NONE; and the inverse. */
uint32_t untracked_page(const struct untracked *untracked, uint64_t address);
uint64_t untracked_address(const struct untracked *untracked, uint32_t page);

/* Add a word that holds `value`, by ascending address. Return 0 or -ENOMEM. */
int untracked_add_from_block(struct untracked *untracked, uint32_t block, uint64_t value);
int untracked_add_outside(struct untracked *untracked, uint64_t address, uint64_t value,
			  uint32_t thread);

/* A word at which a walk begins: its root, and its target. */
struct untracked_start {
	uint32_t root;	  /* the caller's number, from 1 */
	uint32_t node;	  /* a block, or graph->blocks plus a page */
	uint32_t urgency; /* walks of the lowest number are completed first */
};

/*
 * Searches breadth first from the starts, which are sorted. Returns an array by page that the
 * caller frees: the root that leads there, 0: none. NULL: out of memory. pages_only: not through
 * blocks.
 */
uint32_t *untracked_roots_find(const struct heap_graph *graph, struct untracked_start *starts,
			       size_t count, bool pages_only);

#endif
