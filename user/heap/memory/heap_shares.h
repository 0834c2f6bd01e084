/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The allocators' use of a process's memory, read from outside without a stop: live bytes, free
 * bytes and their places, page by page by residency. A process that allocates meanwhile makes the
 * result inexact; inconsistent parts count as unknown, never as a guess.
 */
#ifndef LEAKMON_MEMORY_HEAP_SHARES_H
#define LEAKMON_MEMORY_HEAP_SHARES_H

#include "process/proc/maps.h"
#include "report/allocator_report.h"

struct heap_extent {
	uint64_t start, end;
};

struct heap_shares {
	struct allocator_reports reports;
	VEC(struct heap_extent) extents; /* of all heaps; ascending */
	VEC(struct heap_extent) mapped;	 /* of blocks with a separate mapping each; ascending */
	const char *why;		 /* reason why not all is known; static; NULL: all known */
	bool changed;	   /* a heap changed during every reading; newer mappings may help */
	uint64_t pause_ns; /* duration of the stop; 0: not stopped */
};

/* Reads the heaps of a process without a stop. 0, also if no heap can be read; -ENOMEM; -ESRCH.
 * *shares is filled in any case, and the caller frees it. */
int heap_shares_read(const struct maps *maps, int pagemap, struct heap_shares *shares);
/*
 * Reads the heaps of a process that is stopped while its allocators' records are read and their
 * blocks are walked, for at most max_pause_ns (0: by its size). The mappings are read again, into
 * *maps. Parts that exceed the time are read after the process resumes. Errors include those of
 * hold_process(); -ETIMEDOUT: no heap could be read in time. *shares is filled in any case, and the
 * caller frees it.
 */
int heap_shares_read_stopped(pid_t pid, struct maps *maps, int pagemap, uint64_t max_pause_ns,
			     struct heap_shares *shares);
void heap_shares_free(struct heap_shares *shares);

#endif
