/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jemalloc's heap, read from outside. A radix tree, whose root lies in the module's zeroed data,
 * leads from every page at which an extent begins or ends (of slabs: from every page) to the
 * extent's record, which says what the extent is for, and of a slab which regions are free. The
 * arenas, in an array beside it, list the caches of threads, and what the records themselves take.
 *
 * The root is found by that: what lies where a leaf would be leads to a record of the very page
 * that this leaf is about, in this layout, and so do those around it.
 *
 * Source: jemalloc 5.2.0 to 5.3.0, rtree.h, edata.h (extent_structs.h), cache_bin.h, base.h,
 * arena_structs.h, sc.c; for 4 KiB pages and 48 bits of addresses.
 */
#ifndef LEAKMON_HEAP_JEMALLOC_HEAP_H
#define LEAKMON_HEAP_JEMALLOC_HEAP_H

#include "heap/heap.h"

/* In [start, end) of one module's data. As heap_find() and heap_read(). */
int jemalloc_find_in(struct peek *peek, const struct filter *heaps, uint64_t start, uint64_t end,
		     struct heap_place *place);
int jemalloc_read(struct peek *peek, const struct filter *heaps, const struct heap_place *place,
		  struct heap *heap);

#endif
