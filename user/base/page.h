/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page size of the running kernel, its unit of mapping, faults and counts: 4, 16 or 64 KiB,
 * depending on the processor. A core file's may differ (process/proc/process_memory.h).
 */
#ifndef LEAKMON_BASE_PAGE_H
#define LEAKMON_BASE_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Returns the page size in bytes, a power of two. */
static inline uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/*
 * Returns the size of a huge page, in bytes: the span of one table of the page tables, with entries
 * of 8 bytes.
 */
static inline uint64_t page_huge_size(void)
{
	return page_size() / 8 * page_size();
}

/* Return the page boundary at or below an address, or at or above it (0 above the last one). */
static inline uint64_t page_down(uint64_t address)
{
	return address & ~(page_size() - 1);
}

static inline uint64_t page_up(uint64_t address)
{
	return align_up(address, page_size());
}

/*
 * Returns whether the byte at `offset` of a file can be mapped to `address`: only whole pages can.
 */
static inline bool page_is_congruent(uint64_t address, uint64_t offset)
{
	return page_down(address - offset) == address - offset;
}

#endif
