/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which root leads to which memory that no block is known in. */
#ifndef LEAKMON_RETAIN_UNTRACKED_ROOTS_H
#define LEAKMON_RETAIN_UNTRACKED_ROOTS_H

#include "retain/heap_graph.h"

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
