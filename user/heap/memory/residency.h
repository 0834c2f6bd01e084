/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which pages of a stretch of memory are resident, and which are in swap. */
#ifndef LEAKMON_MEMORY_RESIDENCY_H
#define LEAKMON_MEMORY_RESIDENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/proc/process_memory.h"

#define RESIDENT 1
#define IN_SWAP 2

struct residency {
	uint64_t start, end;	    /* of pages */
	uint8_t *pages;		    /* RESIDENT, IN_SWAP or 0; owned */
	size_t counts[IN_SWAP + 1]; /* of pages, by what they are */
};

/* `pagemap` as pagemap_open() gives it; -1: every page counts as resident. 0 or -ENOMEM. */
int residency_read(struct residency *residency, struct memory_source source, int pagemap,
		   uint64_t start, uint64_t end);
void residency_free(struct residency *residency);

/* Bytes of [start, end) in pages of that kind; what lies outside is none. */
uint64_t residency_bytes(const struct residency *residency, uint64_t start, uint64_t end, int kind);

static inline bool residency_is(const struct residency *residency, uint64_t address, int kind)
{
	return address >= residency->start && address < residency->end &&
	       residency->pages[(address - residency->start) / MEMORY_PAGE] == kind;
}

#endif
