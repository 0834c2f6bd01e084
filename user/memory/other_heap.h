/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How an allocator other than glibc's uses its memory, read from outside without a stop: what is
 * live, what is free and where, page by page as it is resident.
 */
#ifndef LEAKMON_MEMORY_OTHER_HEAP_H
#define LEAKMON_MEMORY_OTHER_HEAP_H

#include "heap/heap.h"
#include "memory/glibc_heap.h"

struct other_heap {
	char name[48];			 /* "jemalloc 5.3" */
	VEC(struct heap_extent) extents; /* that it has; ascending */
	struct heap_share uses[HEAP_USE_MAX_];
	struct heap_figures figures; /* as it counts itself */
	size_t arenas, caches;
	uint64_t live_bytes;
	size_t live_blocks;
	const char *why; /* not all is certain; static */
};

/*
 * 0; -ENOENT: there is none that is known; -ENOMEM. *heap is filled in either case, and freed by
 * the caller.
 */
int other_heap_read(const struct maps *maps, int pagemap, struct other_heap *heap);
void other_heap_free(struct other_heap *heap);

#endif
