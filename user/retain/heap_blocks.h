/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The blocks of a picture: chunks in use, and blocks that were tracked, in one list. */
#ifndef LEAKMON_RETAIN_HEAP_BLOCKS_H
#define LEAKMON_RETAIN_HEAP_BLOCKS_H

#include "retain/heap_graph.h"

/* Fills blocks, starts, sizes, sites and the counts. 0 or -ENOMEM. */
int heap_blocks_list(const struct picture *picture, const struct tracked_block *tracked,
		     size_t tracked_count, struct heap_graph *graph);

#endif
