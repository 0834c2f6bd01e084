/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gperftools' tcmalloc, read from outside. Its page heap lies in the module's zeroed data: a map
 * that leads from the first page of every span to the span's record, two lists of free spans for
 * every length, and how many bytes there are of each kind. Beside it lie the size classes, and for
 * each class its central list with the transfer cache; the caches of threads are a list of their
 * own.
 *
 * Each is found by what it looks like: so many heads of lists that point to themselves or to spans,
 * a map that leads to records of the very pages, numbers that fit. What was read is believed if the
 * spans that the map leads to are as many bytes as the page heap has counted, of every kind, and if
 * in every span as many blocks are free as its record says.
 *
 * Source: gperftools 2.8 to 2.10, page_heap.h, pagemap.h, span.h, central_freelist.h,
 * thread_cache.h, common.h; for 48 bits of addresses and every size of pages that it can be built
 * with. Not with TCMALLOC_SMALL_BUT_SLOW.
 */
#ifndef LEAKMON_HEAP_TCMALLOC_HEAP_H
#define LEAKMON_HEAP_TCMALLOC_HEAP_H

#include "heap/heap.h"

/* In [start, end) of one module's data. As heap_find() and heap_read(). */
int tcmalloc_find_in(struct peek *peek, const struct filter *heaps, uint64_t start, uint64_t end,
		     struct heap_place *place);
int tcmalloc_read(struct peek *peek, const struct filter *heaps, const struct heap_place *place,
		  struct heap *heap);

#endif
