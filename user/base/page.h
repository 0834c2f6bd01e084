/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pages of the running kernel, which maps, faults and counts in them: of 4, 16 or 64 KiB, as
 * the processor has them. A core file's may have another size (process/proc/process_memory.h).
 */
#ifndef LEAKMON_BASE_PAGE_H
#define LEAKMON_BASE_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A power of two, in bytes. */
static inline uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* One table of the page tables, of entries with 8 bytes, spans a huge page. */
static inline uint64_t page_huge_size(void)
{
	return page_size() / 8 * page_size();
}

/* The page boundary at or below an address; at or above it: 0 above the last one. */
static inline uint64_t page_down(uint64_t address)
{
	return address & ~(page_size() - 1);
}

static inline uint64_t page_up(uint64_t address)
{
	return align_up(address, page_size());
}

/* Whether the byte at `offset` of a file can be mapped to `address`: whole pages are. */
static inline bool page_is_congruent(uint64_t address, uint64_t offset)
{
	return page_down(address - offset) == address - offset;
}

#endif
