/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Residency of the pages of a memory range: resident, in swap, or neither. */
#ifndef LEAKMON_MEMORY_RESIDENCY_H
#define LEAKMON_MEMORY_RESIDENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/proc/process_memory.h"

#define RESIDENT 1
#define IN_SWAP 2

struct residency {
	uint64_t start, end;	    /* bounds, on page boundaries */
	uint8_t *pages;		    /* RESIDENT, IN_SWAP or 0; owned */
	size_t counts[IN_SWAP + 1]; /* numbers of pages by state */
};

/* Reads the states of the pages in a range. `pagemap`: result of pagemap_open(); -1: every page
 * counts as resident. 0 or -ENOMEM. */
int residency_read(struct residency *residency, struct memory_source source, int pagemap,
		   uint64_t start, uint64_t end);
void residency_free(struct residency *residency);

/* Returns the bytes of [start, end) in pages of a kind; pages outside the range count as none. */
uint64_t residency_bytes(const struct residency *residency, uint64_t start, uint64_t end, int kind);

static inline bool residency_is(const struct residency *residency, uint64_t address, int kind)
{
	return address >= residency->start && address < residency->end &&
	       residency->pages[(address - residency->start) / MEMORY_PAGE] == kind;
}

#endif
