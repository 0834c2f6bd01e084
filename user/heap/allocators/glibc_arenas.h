/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finding the arenas of glibc's malloc in a process, by what they look like: an arena's 126 empty
 * bins point at themselves, filled ones at heap memory, and all arenas form a ring. Nothing is
 * taken for an arena unless all of that holds.
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
/* Eight for each CPU, and the main one (malloc/arena.c, NARENAS_FROM_NCORES): of 1024 CPUs. */
#define MALLOC_MAX_ARENAS (8 * 1024 + 1)
/* HEAP_MAX_SIZE: heaps of other arenas than the main one start at multiples of it; with huge pages
 * (glibc.malloc.hugetlb=2), at multiples of four of those instead. */
#define MALLOC_HEAP_BYTES (64ull << 20)
#define MALLOC_HEAP_LEAST (256ull << 10)
#define MALLOC_HEAP_MOST (64ull << 30)

/* Where fields are in struct malloc_state. No fast bins (2.43): `fastbins` is 0. */
struct malloc_layout {
	const char *versions;
	uint32_t fastbins, top, bins, next, system_mem, size;
};

struct malloc_arena {
	uint64_t address;
	uint64_t top, system_mem, next;
	uint64_t fastbins[MALLOC_FASTBINS];
	const struct malloc_layout *layout;
	bool main; /* in a library's data; else in a heap of its own */
};

struct malloc_arenas {
	VEC(struct malloc_arena) list; /* the main one of a ring first */
	size_t unclosed;	       /* of rings that do not close */
	/* What resembles an arena most, after -EAGAIN: its address, how many of its bins are empty,
	 * and which check it fails; static. */
	uint64_t faulty;
	uint32_t faulty_bins;
	const char *fault;
};

/*
 * Looks for main arenas in [start, end) of a module's data, and adds them with the others of their
 * rings. `heaps`: where bins and tops can point to (anonymous writable memory).
 * 0, also when there is none; -EAGAIN: one is there that changed while it was read, or that has
 * grown since `heaps` was; -ENOMEM; -ETIMEDOUT: by peek's deadline.
 */
int malloc_arenas_find(struct peek *peek, const struct filter *heaps, uint64_t start, uint64_t end,
		       struct malloc_arenas *arenas);

/* Reads the rings again from their main arenas: others may have joined. 0; -EBADMSG; -ENOMEM;
 * -ETIMEDOUT. */
int malloc_arenas_refresh(struct peek *peek, const struct filter *heaps,
			  struct malloc_arenas *arenas);

/* struct malloc_par from mmapped_mem to tcache_count, as the defaults have them. */
struct malloc_par_tail {
	uint64_t mapped_bytes, mapped_bytes_most;
	uint64_t heap_start; /* of the main heap's first chunk, up to alignment */
	uint64_t cache_bins, cache_max_bytes, cache_count;
};

/* malloc_par in [start, end) of a module's data. 0; -ENOENT: it is not there, or there is no heap
 * yet; -ETIMEDOUT. *tail is untouched on error. */
int malloc_par_find(struct peek *peek, const struct filter *heaps, uint64_t start, uint64_t end,
		    struct malloc_par_tail *tail);

#endif
