/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which block holds an address, asked tens of millions of times: a table of the 64 KiB regions that
 * hold blocks, and in each the block to begin at for every 512 bytes.
 */
#ifndef LEAKMON_ANALYZE_BLOCK_INDEX_H
#define LEAKMON_ANALYZE_BLOCK_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define BLOCK_NONE UINT32_MAX
#define REGION_SHIFT 16
#define LINE_SHIFT 9
#define REGION_LINES (1u << (REGION_SHIFT - LINE_SHIFT))

struct block_index {
	const uint64_t *starts,
		*sizes; /* borrowed; ascending, not overlapping; size 0 counts as 1 */
	uint32_t count;
	uint32_t *keys,
		*regions; /* a hash table: number of a region plus 1 -> its place in lines */
	uint32_t mask;
	uint32_t *lines; /* blocks that start at or below the line's first byte */
};

/* 0 or -ENOMEM; then *index is untouched. Addresses are below 2^47. */
int block_index_build(const uint64_t *starts, const uint64_t *sizes, uint32_t count,
		      struct block_index *index);
void block_index_free(struct block_index *index);

static inline uint32_t region_slot(uint32_t key, uint32_t mask)
{
	return (uint32_t)(key * 0x9e3779b1u) & mask;
}

/* The block that holds the address, not counting the one past its end; or BLOCK_NONE. */
static inline uint32_t block_index_find(const struct block_index *index, uint64_t address)
{
	uint32_t key = (uint32_t)(address >> REGION_SHIFT) + 1, slot, at;

	if (!index->count || address >> 47)
		return BLOCK_NONE;
	for (slot = region_slot(key, index->mask); index->keys[slot] != key;
	     slot = (slot + 1) & index->mask) {
		if (!index->keys[slot])
			return BLOCK_NONE;
	}
	at = index->lines[(size_t)index->regions[slot] * REGION_LINES +
			  (address >> LINE_SHIFT & (REGION_LINES - 1))];
	while (at < index->count && index->starts[at] <= address)
		at++;
	if (!at || address - index->starts[at - 1] >= index->sizes[at - 1] + !index->sizes[at - 1])
		return BLOCK_NONE;
	return at - 1;
}

#endif
