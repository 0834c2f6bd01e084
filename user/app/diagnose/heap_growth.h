/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who allocated the growth of malloc's heap. Two scans count its blocks by size; a profile knows
 * which call stacks allocated since, and the last scan says which of their blocks are still there.
 * The growth of each size is divided among the call stacks by what of theirs has survived: what is
 * counted says how much, survivors say whose.
 */
#ifndef LEAKMON_DIAGNOSE_HEAP_GROWTH_H
#define LEAKMON_DIAGNOSE_HEAP_GROWTH_H

#include "app/profile/profile_blocks.h"
#include "base/vec.h"
#include "report/retain_result.h"

struct retain;

/* Classes of 16 bytes up to 1 KiB, then sixteen to each doubling: few enough to be counted in an
 * array, and narrow enough that call stacks rarely share one. */
#define SIZE_CLASSES 768
size_t size_class_of(uint64_t bytes);

/* Blocks of malloc in one scan, without objects of managed heaps. */
struct size_tally {
	struct retention_total sizes[SIZE_CLASSES], sum;
};
struct heap_tally {
	bool known; /* the heap was walked, at one moment */
	struct size_tally all, lost;
};
void heap_tally_take(const struct retain *retain, struct heap_tally *tally);

/* The time of a profile in parts, to tell what grows from what has stopped growing. */
#define GROWTH_PARTS 3

/* Blocks of one call stack and size that a profile saw allocated and the last scan still has. */
struct survivors {
	uint32_t site;	     /* profile_report_site.index */
	uint32_t size_class; /* in the heap, as usable */
	size_t samples;	     /* that were looked up; of exact tracking all of them */
	size_t lost_samples;
	double blocks, bytes;		/* that they stand for */
	double lost_blocks, lost_bytes; /* of these, unreachable ones */
	double born[GROWTH_PARTS];	/* bytes, by when they were allocated */
	/* The row is of large blocks that the call stack's survivors point into, or that point to
	 * survivors: tables, vectors, pools. They are so few that windows rarely meet them. */
	bool container;
};

struct survivor_list {
	VEC(struct survivors) list; /* by site, then by size */
	bool exact;
};

/* Looks up blocks in a scan that began at `now_ns` (CLOCK_MONOTONIC): 0 or -ENOMEM; vec_free() the
 * list in either case. */
int survivors_find(const struct retain *retain, const struct profile_blocks *blocks,
		   uint64_t now_ns, struct survivor_list *survivors);

struct site_growth {
	uint32_t site; /* profile_report_site.index */
	/* Bytes of the counted growth: an estimate, and its limits. Of exact tracking they are the
	 * least and the most that the counts allow; of windows 95 %. */
	double bytes, low, high;
	double blocks;
	double born[GROWTH_PARTS];
	size_t samples, lost_samples;
};

/* Zero-initialise; vec_free() the sites. */
struct heap_growth {
	bool known;		       /* by scans or by tracking */
	bool counted;		       /* both scans counted the heap: `bytes` is its growth */
	bool exact;		       /* all blocks allocated since the first scan were tracked */
	double bytes;		       /* net growth */
	VEC(struct site_growth) sites; /* the greatest first */
	double unexplained;	       /* bytes of sizes of which no survivor is known */
};

/* Of all blocks, or of the unreachable ones (`lost`). 0 or -ENOMEM; *growth is unknown where a scan
 * is. */
int heap_growth_divide(const struct heap_tally *first, const struct heap_tally *last,
		       const struct survivor_list *survivors, bool lost,
		       struct heap_growth *growth);

/* The same where no scan could count the heap, of blocks that were tracked exactly: all that is
 * outstanding is growth. 0 or -ENOMEM. */
int heap_growth_track(const struct profile_blocks *blocks, uint64_t now_ns,
		      struct heap_growth *growth);

/* Adds the growth of another call stack. */
void site_growth_join(struct site_growth *into, const struct site_growth *site);

/* Whether a call stack still allocates what grows: in each part of the time, not least the last. */
bool site_growth_goes_on(const struct site_growth *site);

#endif
