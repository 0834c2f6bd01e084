// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/block_index.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct regions {
	uint64_t *list; /* ascending */
	size_t count, capacity;
};

static int add_region(struct regions *regions, uint64_t region)
{
	if (regions->count && regions->list[regions->count - 1] >= region)
		return 0;
	if (regions->count == regions->capacity) {
		size_t grown = regions->capacity ? regions->capacity * 2 : 1024;
		uint64_t *moved = reallocarray(regions->list, grown, sizeof(*moved));

		if (!moved)
			return -ENOMEM;
		regions->list = moved;
		regions->capacity = grown;
	}
	regions->list[regions->count++] = region;
	return 0;
}

static int list_regions(const struct block_index *index, struct regions *regions)
{
	int error = 0;

	for (uint32_t i = 0; i < index->count; i++) {
		uint64_t first = index->starts[i] >> REGION_SHIFT;
		uint64_t last =
			(index->starts[i] + block_reach(index->sizes[i]) - 1) >> REGION_SHIFT;

		last = MIN(last, (uint64_t)UINT32_MAX - 1);
		for (uint64_t region = first; !error && region <= last; region++)
			error = add_region(regions, region);
	}
	return error;
}

static void insert(struct block_index *index, uint64_t region, uint32_t place)
{
	uint32_t key = (uint32_t)region + 1, slot = region_slot(key, index->mask);

	while (index->keys[slot])
		slot = (slot + 1) & index->mask;
	index->keys[slot] = key;
	index->regions[slot] = place;
}

static void fill_lines(struct block_index *index, const struct regions *regions)
{
	uint32_t block = 0;

	for (size_t i = 0; i < regions->count; i++) {
		insert(index, regions->list[i], (uint32_t)i);
		for (uint64_t line = 0; line < REGION_LINES; line++) {
			uint64_t start = (regions->list[i] << REGION_SHIFT) + (line << LINE_SHIFT);

			while (block < index->count && index->starts[block] <= start)
				block++;
			index->lines[i * REGION_LINES + line] = block;
		}
	}
}

int block_index_build(const uint64_t *starts, const uint64_t *sizes, uint32_t count,
		      struct block_index *index)
{
	struct block_index built = {.starts = starts, .sizes = sizes, .count = count, .mask = 15};
	struct regions regions = {0};
	int error = list_regions(&built, &regions);

	while (!error && built.mask < regions.count * 2)
		built.mask = built.mask * 2 + 1;
	built.keys = calloc((size_t)built.mask + 1, sizeof(uint32_t));
	built.regions = calloc((size_t)built.mask + 1, sizeof(uint32_t));
	built.lines = malloc((regions.count + 1) * REGION_LINES * sizeof(uint32_t));
	if (error || !built.keys || !built.regions || !built.lines) {
		block_index_free(&built);
		free(regions.list);
		return -ENOMEM;
	}
	fill_lines(&built, &regions);
	free(regions.list);
	*index = built;
	return 0;
}

void block_index_free(struct block_index *index)
{
	free(index->keys);
	free(index->regions);
	free(index->lines);
	*index = (struct block_index){0};
}
