/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the block that contains an address, tens of millions of times: a table of the 64 KiB
 * regions in which blocks start, and for every 512 bytes of each the block with which to begin.
 * Blocks that extend into other regions are listed singly: their sizes may be false, so they must
 * not cost memory.
 */
#ifndef LEAKMON_ANALYZE_BLOCK_INDEX_H
#define LEAKMON_ANALYZE_BLOCK_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define BLOCK_NONE UINT32_MAX
#define REGION_SHIFT 16
#define LINE_SHIFT 9
#define BLOCK_ADDRESS_BITS (REGION_SHIFT + 32) /* a region's number has 32 bits */
#define REGION_LINES (1u << (REGION_SHIFT - LINE_SHIFT))

struct block_index {
	/* borrowed; ascending, not overlapping; see block_reach() */
	const uint64_t *starts, *sizes;
	uint32_t count;
	/* a hash table: number of a region plus 1 -> its index in lines */
	uint32_t *keys, *regions;
	uint32_t mask, shift;
	uint64_t multiplier; /* secret: targets may choose regions */
	uint32_t *lines;     /* blocks that start at or below the line's first byte */
	uint32_t *wide;	     /* blocks that extend into regions in which none starts; ascending */
	uint32_t wide_count;
};

/*
 * Builds the index. Returns 0 or -ENOMEM; then *index is untouched. Addresses are below 1 <<
 * BLOCK_ADDRESS_BITS; those in the last region below that are not found.
 */
int block_index_build(const uint64_t *starts, const uint64_t *sizes, uint32_t count,
		      struct block_index *index);
void block_index_free(struct block_index *index);

/*
 * Returns how many bytes from its start belong to a block. One of size 0 still has an address. One
 * of 8 bytes may be `new T[0]`: it contains only the count of T's to destroy, and the program keeps
 * the address after that (Itanium C++ ABI, 2.7).
 */
static inline uint64_t block_reach(uint64_t size)
{
	return size + (size == 0 || size == 8);
}

/*
 * Multiply-shift hashing (M. Dietzfelbinger and others, "A reliable randomized algorithm for the
 * closest-pair problem", 1997).
 */
static inline uint32_t region_slot(const struct block_index *index, uint32_t key)
{
	return (uint32_t)(key * index->multiplier >> index->shift);
}

/* Returns as block_index_find(), for an address in a region in which no block starts. */
uint32_t block_index_find_wide(const struct block_index *index, uint64_t address);

/* Returns the block that contains the address, by block_reach(); or BLOCK_NONE. */
static inline uint32_t block_index_find(const struct block_index *index, uint64_t address)
{
	uint32_t key = (uint32_t)(address >> REGION_SHIFT) + 1, slot, at;

	if (!index->count || address >> BLOCK_ADDRESS_BITS || !key)
		return BLOCK_NONE;
	for (slot = region_slot(index, key); index->keys[slot] != key;
	     slot = (slot + 1) & index->mask) {
		if (!index->keys[slot])
			return block_index_find_wide(index, address);
	}
	at = index->lines[(size_t)index->regions[slot] * REGION_LINES +
			  (address >> LINE_SHIFT & (REGION_LINES - 1))];
	while (at < index->count && index->starts[at] <= address)
		at++;
	if (!at || address - index->starts[at - 1] >= block_reach(index->sizes[at - 1]))
		return BLOCK_NONE;
	return at - 1;
}

#endif
