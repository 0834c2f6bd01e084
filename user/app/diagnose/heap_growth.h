/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attributes growth of malloc's heap to call stacks. Two scans count its blocks by size; a profile
 * knows which call stacks allocated since, and the last scan which of their blocks are still
 * present. The growth of each size is divided among the call stacks in proportion to their
 * surviving blocks: counts give the amount, survivors the owners.
 */
#ifndef LEAKMON_DIAGNOSE_HEAP_GROWTH_H
#define LEAKMON_DIAGNOSE_HEAP_GROWTH_H

#include "app/profile/profile_blocks.h"
#include "base/vec.h"
#include "report/retain_result.h"

struct retain;

/*
 * Classes of 16 bytes up to 1 KiB, then sixteen per doubling: few enough for an array, and narrow
 * enough that call stacks rarely share one.
 */
#define SIZE_CLASSES 768
size_t size_class_of(uint64_t bytes);

/* Blocks of malloc in one scan, without objects of managed heaps. */
struct size_tally {
	struct retention_total sizes[SIZE_CLASSES], sum;
};
struct heap_tally {
	bool known; /* the heap was walked, in one consistent state */
	struct size_tally all, lost;
};
void heap_tally_take(const struct retain *retain, struct heap_tally *tally);

/*
 * The time of a profile is divided into parts, to tell continuing growth from growth that has
 * stopped.
 */
#define GROWTH_PARTS 3

/* Blocks of one call stack and size that a profile saw allocated and the last scan still has. */
struct survivors {
	uint32_t site;	     /* profile_report_site.index */
	uint32_t size_class; /* in the heap, as usable */
	size_t samples;	     /* looked up; with exact tracking all of them */
	size_t lost_samples;
	double blocks, bytes;		/* that the samples represent */
	double lost_blocks, lost_bytes; /* unreachable ones among these */
	double born[GROWTH_PARTS];	/* bytes by time of allocation */
	/* The row is of large blocks that the call stack's survivors point into, or that point to
	 * survivors: tables, vectors, pools. They are too few for windows to sample. */
	bool container;
};

struct survivor_list {
	VEC(struct survivors) list; /* by site, then by size */
	bool exact;
};

/*
 * Looks up blocks in a scan that began at `now_ns` (CLOCK_MONOTONIC). Returns 0 or -ENOMEM;
 * vec_free() the list in either case.
 */
int survivors_find(const struct retain *retain, const struct profile_blocks *blocks,
		   uint64_t now_ns, struct survivor_list *survivors);

struct site_growth {
	uint32_t site; /* profile_report_site.index */
	/* Bytes of the counted growth: an estimate, and its limits. With exact tracking the limits
	 * follow from the counts; with windows they are of 95 %. */
	double bytes, low, high;
	double blocks;
	double born[GROWTH_PARTS];
	size_t samples, lost_samples;
};

/* Zero-initialise; vec_free() the sites. */
struct heap_growth {
	bool known;		       /* from scans or tracking */
	bool counted;		       /* both scans counted the heap: `bytes` is its growth */
	bool exact;		       /* all blocks allocated since the first scan were tracked */
	double bytes;		       /* net growth */
	VEC(struct site_growth) sites; /* the greatest first */
	double unexplained;	       /* bytes of sizes without a known survivor */
};

/*
 * Divides the growth of all blocks, or of the unreachable ones (`lost`). Returns 0 or -ENOMEM;
 * *growth is unknown if a scan is.
 */
int heap_growth_divide(const struct heap_tally *first, const struct heap_tally *last,
		       const struct survivor_list *survivors, bool lost,
		       struct heap_growth *growth);

/*
 * Derives growth without counts of the heap, from blocks that were tracked exactly: all outstanding
 * blocks are growth. Returns 0 or -ENOMEM.
 */
int heap_growth_track(const struct profile_blocks *blocks, uint64_t now_ns,
		      struct heap_growth *growth);

/* Adds the growth of another call stack. */
void site_growth_join(struct site_growth *into, const struct site_growth *site);

/*
 * Returns whether a call stack still allocates the growing memory: in each part of the time,
 * including the last.
 */
bool site_growth_goes_on(const struct site_growth *site);

#endif
