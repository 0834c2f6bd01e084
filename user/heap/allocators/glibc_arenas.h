/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the arenas of glibc's malloc in a process by their structure: an arena's 126 empty bins
 * point at themselves, filled ones at heap memory, and all arenas form a ring. Memory counts as an
 * arena only if all of that holds.
 *
 * Source of the layouts: glibc 2.26 to 2.43, malloc/malloc.c (struct malloc_state, malloc_par) and
 * malloc/arena.c (heap_info).
 */
#ifndef LEAKMON_HEAP_GLIBC_ARENAS_H
#define LEAKMON_HEAP_GLIBC_ARENAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "heap/allocators/pointer_filter.h"
#include "process/proc/process_memory.h"

#define MALLOC_FASTBINS 10
#define MALLOC_BINS 127
/* Eight per CPU, plus the main one (malloc/arena.c, NARENAS_FROM_NCORES): for 1024 CPUs. */
#define MALLOC_MAX_ARENAS (8 * 1024 + 1)
/*
 * HEAP_MAX_SIZE: heaps of other arenas than the main one start at multiples of it; with huge pages
 * (glibc.malloc.hugetlb=2), at multiples of four of those.
 */
#define MALLOC_HEAP_BYTES (64ull << 20)
#define MALLOC_HEAP_LEAST (256ull << 10)
#define MALLOC_HEAP_MOST (64ull << 30)

/* Offsets of fields in struct malloc_state. `fastbins` 0: no fast bins (2.43). */
struct malloc_layout {
	const char *versions;
	uint32_t fastbins, top, bins, next, system_mem, size;
};

struct malloc_arena {
	uint64_t address;
	uint64_t top, system_mem, next;
	uint64_t fastbins[MALLOC_FASTBINS];
	const struct malloc_layout *layout;
	bool main; /* in a library's data; else in a separate heap */
};

struct malloc_arenas {
	VEC(struct malloc_arena) list; /* the main one of a ring first */
	size_t unclosed;	       /* rings that do not close */
	/*
	 * After -EAGAIN, the best near match: its address, the number of its empty bins, and the
	 * check that it fails; static.
	 */
	uint64_t faulty;
	uint32_t faulty_bins;
	const char *fault;
};

/*
 * Looks for main arenas in [start, end) of a module's data, and adds them with the others of their
 * rings. `heaps`: memory that bins and tops may point to (anonymous writable memory). Returns 0,
 * also if there is none; -EAGAIN: one changed while it was read, or has grown since `heaps` was;
 * -ENOMEM; -ETIMEDOUT: by peek's deadline.
 */
int malloc_arenas_find(struct peek *peek, const struct filter *heaps, uint64_t start, uint64_t end,
		       struct malloc_arenas *arenas);

/*
 * Rereads the rings from their main arenas: others may have joined. Returns 0; -EBADMSG; -ENOMEM;
 * -ETIMEDOUT.
 */
int malloc_arenas_refresh(struct peek *peek, const struct filter *heaps,
			  struct malloc_arenas *arenas);

/* struct malloc_par from mmapped_mem to tcache_count, with its default values. */
struct malloc_par_tail {
	uint64_t mapped_bytes, mapped_bytes_most;
	uint64_t heap_start; /* of the main heap's first chunk, before alignment */
	uint64_t cache_bins, cache_max_bytes, cache_count;
};

/*
 * Finds malloc_par in [start, end) of a module's data. Returns 0; -ENOENT: not there, or no heap
 * yet; -ETIMEDOUT. *tail is untouched on error.
 */
int malloc_par_find(struct peek *peek, const struct filter *heaps, uint64_t start, uint64_t end,
		    struct malloc_par_tail *tail);

#endif
