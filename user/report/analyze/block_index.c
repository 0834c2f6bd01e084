// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/analyze/block_index.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/search.h"

static uint64_t region_of(uint64_t address)
{
	return address >> REGION_SHIFT;
}

/* Returns whether a block is the first one of its region. */
static bool is_first(const struct block_index *index, uint32_t block)
{
	return !block || region_of(index->starts[block - 1]) != region_of(index->starts[block]);
}

/* Returns whether it extends into a region in which no block starts. */
static bool is_wide(const struct block_index *index, uint32_t block)
{
	uint64_t start = index->starts[block];
	uint64_t last = region_of(start + block_reach(index->sizes[block]) - 1);

	if (last == region_of(start))
		return false;
	return last > region_of(start) + 1 || block + 1 == index->count ||
	       region_of(index->starts[block + 1]) != last;
}

static void insert(struct block_index *index, uint64_t region, uint32_t place)
{
	uint32_t key = (uint32_t)region + 1, slot = region_slot(index, key);

	while (index->keys[slot])
		slot = (slot + 1) & index->mask;
	index->keys[slot] = key;
	index->regions[slot] = place;
}

static void fill_lines(struct block_index *index, uint64_t region, uint32_t *lines, uint32_t block)
{
	for (uint64_t line = 0; line < REGION_LINES; line++) {
		uint64_t start = (region << REGION_SHIFT) + (line << LINE_SHIFT);

		while (block < index->count && index->starts[block] <= start)
			block++;
		lines[line] = block;
	}
}

static void fill(struct block_index *index)
{
	uint32_t place = 0, wide = 0;

	for (uint32_t i = 0; i < index->count; i++) {
		uint64_t region = region_of(index->starts[i]);

		if (is_wide(index, i))
			index->wide[wide++] = i;
		if (!is_first(index, i) || region >= UINT32_MAX)
			continue;
		insert(index, region, place);
		fill_lines(index, region, index->lines + (size_t)place * REGION_LINES, i);
		place++;
	}
}

int block_index_build(const uint64_t *starts, const uint64_t *sizes, uint32_t count,
		      struct block_index *index)
{
	struct block_index built = {.starts = starts, .sizes = sizes, .count = count, .mask = 15};
	size_t regions = 0;

	for (uint32_t i = 0; i < count; i++) {
		regions += is_first(&built, i);
		built.wide_count += is_wide(&built, i);
	}
	while (built.mask < regions * 2)
		built.mask = built.mask * 2 + 1;
	built.shift = (uint32_t)__builtin_clzll(built.mask);
	built.multiplier = hash_secret() | 1;
	built.keys = calloc((size_t)built.mask + 1, sizeof(uint32_t));
	built.regions = calloc((size_t)built.mask + 1, sizeof(uint32_t));
	built.lines = malloc((regions + 1) * REGION_LINES * sizeof(uint32_t));
	built.wide = malloc(((size_t)built.wide_count + 1) * sizeof(uint32_t));
	if (!built.keys || !built.regions || !built.lines || !built.wide) {
		block_index_free(&built);
		return -ENOMEM;
	}
	fill(&built);
	*index = built;
	return 0;
}

uint32_t block_index_find_wide(const struct block_index *index, uint64_t address)
{
	size_t before = SORTED_BEFORE(wide, index->wide, index->wide_count,
				      index->starts[*wide] <= address);
	uint32_t block = before ? index->wide[before - 1] : BLOCK_NONE;

	if (!before || address - index->starts[block] >= block_reach(index->sizes[block]))
		return BLOCK_NONE;
	return block;
}

void block_index_free(struct block_index *index)
{
	free(index->keys);
	free(index->regions);
	free(index->lines);
	free(index->wide);
	*index = (struct block_index){0};
}
