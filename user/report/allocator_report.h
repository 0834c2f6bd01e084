/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of one allocator's heap: the uses of its bytes, and its own figures. Outputs loop over the
 * tables of figures, one for the C library's own malloc and one for its replacements.
 */
#ifndef LEAKMON_REPORT_ALLOCATOR_REPORT_H
#define LEAKMON_REPORT_ALLOCATOR_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum heap_use {
	HEAP_LIVE,    /* blocks of the program, with their headers */
	HEAP_CACHED,  /* free, in a thread's cache, including the cache itself */
	HEAP_FAST,    /* free, kept intact for the next request of that size */
	HEAP_BINS,    /* free, between other blocks */
	HEAP_TOP,     /* free, at an arena's end */
	HEAP_DIRTY,   /* free pages, returned after a while */
	HEAP_OWN,     /* the allocator's records */
	HEAP_UNKNOWN, /* not walked: the walk ended before */
	HEAP_USE_MAX_
};

struct heap_share {
	uint64_t bytes, resident, swapped, blocks;
};

struct heap_arena {
	uint64_t address;
	bool main;
	uint32_t threads; /* attached; for the main arena a lower bound */
	uint32_t heaps;
	uint64_t system_bytes; /* as malloc counts it */
	uint64_t trimmable;    /* whole free resident pages that could be returned */
	struct heap_share uses[HEAP_USE_MAX_];
};

/* In bytes unless stated otherwise. */
enum allocator_figure {
	ALLOCATOR_ALLOCATED,   /* handed out, with caches and the allocator's own blocks */
	ALLOCATOR_LIVE_BLOCKS, /* blocks */
	ALLOCATOR_LIVE,
	ALLOCATOR_CACHED, /* in the caches of threads */
	/*
	 * in transit between threads: in shared caches, or freed by another thread than the owner
	 */
	ALLOCATOR_TRANSFER,
	ALLOCATOR_OWN,	    /* the allocator's own blocks */
	ALLOCATOR_ACTIVE,   /* pages with blocks */
	ALLOCATOR_DIRTY,    /* free pages in memory */
	ALLOCATOR_MUZZY,    /* free pages that the kernel reclaims on demand */
	ALLOCATOR_RETAINED, /* free pages without memory */
	ALLOCATOR_METADATA,
	ALLOCATOR_MAPPED,
	ALLOCATOR_ARENAS, /* arenas, or heaps of threads */
	ALLOCATOR_CACHES, /* caches of threads */
	/* For a malloc that divides its arenas into chunks: */
	ALLOCATOR_SYSTEM,
	ALLOCATOR_USED, /* uordblks of mallinfo2(3) */
	ALLOCATOR_FREE, /* fordblks */
	ALLOCATOR_HEADERS,
	ALLOCATOR_MAPPED_BLOCKS, /* blocks with a mapping each */
	ALLOCATOR_MAPPED_BYTES,	 /* hblkhd */
	ALLOCATOR_FAST,
	ALLOCATOR_BINS,
	/* bins by size; a very long unsorted list is cut off, the rest counts by size */
	ALLOCATOR_UNSORTED,
	ALLOCATOR_SMALL,
	ALLOCATOR_LARGE,
	ALLOCATOR_TOP,
	ALLOCATOR_LARGEST_FREE, /* without a gap */
	ALLOCATOR_UNKNOWN,
	ALLOCATOR_TRIMMABLE,	/* malloc_trim(3) would return it */
	ALLOCATOR_BROKEN_HEAPS, /* walks that ended early */
	ALLOCATOR_BROKEN_LISTS,
	ALLOCATOR_IDLE_ARENAS, /* arenas without threads */
	/* Of the process, attached to any one of its allocators: */
	ALLOCATOR_PROCESS_RESIDENT,
	ALLOCATOR_PROCESS_FREE, /* resident */
	ALLOCATOR_PROCESS_TRIMMABLE,
	ALLOCATOR_CERTAIN,	 /* 1: no contradictions */
	ALLOCATOR_FRAGMENTATION, /* in .fragmentation */
	ALLOCATOR_FIGURE_MAX_
};

#define ALLOCATOR_NOT_KNOWN UINT64_MAX

enum allocator_kind {
	ALLOCATOR_LIBC,	 /* the C library's own malloc */
	ALLOCATOR_OTHER, /* a replacement, or one beside it */
	ALLOCATOR_KIND_MAX_
};

enum allocator_unit { ALLOCATOR_NUMBER, ALLOCATOR_FLAG, ALLOCATOR_REAL };

struct allocator_figure_row {
	const char *json;
	enum allocator_figure figure;
	enum allocator_unit unit;
};

struct allocator_kind_row {
	const char *json; /* name of an object with these members, in this order */
	const struct allocator_figure_row *figures;
	size_t count;
	bool has_arenas; /* and with a list of arenas */
};

struct allocator_report {
	enum allocator_kind kind;
	char name[48];			       /* "jemalloc 5.3" */
	struct heap_share uses[HEAP_USE_MAX_]; /* of the whole heap */
	uint64_t figures[ALLOCATOR_FIGURE_MAX_];
	double fragmentation; /* of the process: see memory_fragmentation() */
	VEC(struct heap_arena) arenas;
	const char *why; /* why not all is certain; static; NULL: it is */
};

/* The allocators of one process; the C library's first. */
struct allocator_reports {
	VEC(struct allocator_report) list;
};

const struct allocator_kind_row *allocator_kind_row(enum allocator_kind kind);
/* Returns the first one of a kind, or NULL. */
const struct allocator_report *allocator_report_of(const struct allocator_reports *reports,
						   enum allocator_kind kind);
void allocator_reports_free(struct allocator_reports *reports);

#endif
