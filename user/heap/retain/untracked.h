/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that no block is known in: what another allocator handed out before anybody watched, or
 * what a program mapped by itself. Nobody knows where its objects begin, so it is looked at by the
 * page: what points into a page leads to all words of that page, and of those behind it up to the
 * next page that something points into (an object larger than a page).
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

/* A word that stands in a block or a page, and points into a page. */
struct untracked_edge {
	uint32_t source, page;
};

/* One that stands in neither. */
struct untracked_root {
	uint64_t address; /* as root_word's */
	uint32_t page, thread;
};

struct untracked {
	VEC(struct untracked_range) ranges; /* ascending */
	struct filter filter;		    /* what lies in them */
	uint32_t pages;
	uint8_t *pointed; /* by page: whether anything points into it, or a range begins */
	VEC(struct untracked_edge) from_blocks, from_pages; /* by ascending source */
	VEC(struct untracked_root) roots;
	uint64_t recent[UNTRACKED_RECENT]; /* so that most repetitions are left out */
	bool truncated;			   /* there were too many to keep them all */
};

/* Which memory it is. 0 or -ENOMEM. */
int untracked_prepare(const struct heap_image *heap_image, const struct data_modules *modules,
		      struct untracked *untracked);
void untracked_free(struct untracked *untracked);

/* The number of the page at address, or UNTRACKED_NONE; and back. */
uint32_t untracked_page(const struct untracked *untracked, uint64_t address);
uint64_t untracked_address(const struct untracked *untracked, uint32_t page);

/* A word that holds `value`, found by ascending address. 0 or -ENOMEM. */
int untracked_add_from_block(struct untracked *untracked, uint32_t block, uint64_t value);
int untracked_add_outside(struct untracked *untracked, uint64_t address, uint64_t value,
			  uint32_t thread);

/* A word that a walk begins at: its root, and where it points. */
struct untracked_start {
	uint32_t root;	  /* the caller's number, from 1 */
	uint32_t node;	  /* a block, or graph->blocks plus a page */
	uint32_t urgency; /* walks of the lowest number are done first, and to their end */
};

/*
 * Breadth first from the starts, which get sorted. An array by page that the caller frees: the root
 * that leads there, 0: none. NULL: out of memory. pages_only: not through blocks.
 */
uint32_t *untracked_roots_find(const struct heap_graph *graph, struct untracked_start *starts,
			       size_t count, bool pages_only);

#endif
