/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mimalloc's heap, read from outside. The main thread's heap lies in the module's data, and is
 * found by the sizes of its queues and by what points to it. It has a random number that every
 * segment carries together with its own address: at a multiple of 32 MiB, such a segment is one.
 * Its records tell which pages are cut into blocks of which size, with their lists of free ones;
 * blocks that other threads have freed are on lists of their own.
 *
 * What was read is believed if in every page the lists have as many blocks as its record says, and
 * if there are as many segments as each thread has counted.
 *
 * Source: mimalloc 2.0.9, mimalloc-types.h, segment.c, page.c; without padding, that is not as a
 * debug build; with encoded lists (MI_SECURE=4), too.
 */
#ifndef LEAKMON_HEAP_MIMALLOC_HEAP_H
#define LEAKMON_HEAP_MIMALLOC_HEAP_H

#include "heap/heap.h"

/* In [start, end) of one module's data. As heap_find() and heap_read(). */
int mimalloc_find_in(struct peek *peek, const struct filter *heaps, uint64_t start, uint64_t end,
		     struct heap_place *place);
int mimalloc_read(struct peek *peek, const struct filter *heaps, const struct heap_place *place,
		  struct heap *heap);

#endif
