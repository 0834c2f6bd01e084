/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the allocators of a process use their memory, read from outside without a stop: what is live,
 * what is free and where, page by page as it is resident. A process that allocates meanwhile blurs
 * the picture; what contradicts itself is counted as unknown, never guessed.
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
	VEC(struct heap_extent) mapped;	 /* of blocks with a mapping each; ascending */
	const char *why;		 /* not all is known; static; NULL: it is */
	bool changed;	   /* a heap was changing whenever it was read; newer mappings may help */
	uint64_t pause_ns; /* for so long the process stood; 0: not at all */
};

/* 0, also when there is no heap that can be read; -ENOMEM; -ESRCH. *shares is filled in any case,
 * and freed by the caller. */
int heap_shares_read(const struct maps *maps, int pagemap, struct heap_shares *shares);
/*
 * Likewise, of a process that stands while its allocators' records are read and their blocks are
 * walked, for at most max_pause_ns (0: by its size). The mappings are read again, into *maps. What
 * there was no time for is read when it runs again. Errors are those of hold_process(), too; of
 * -ETIMEDOUT: it took too long to read any heap.
 */
int heap_shares_read_stopped(pid_t pid, struct maps *maps, int pagemap, uint64_t max_pause_ns,
			     struct heap_shares *shares);
void heap_shares_free(struct heap_shares *shares);

#endif
