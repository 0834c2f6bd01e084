/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many blocks of many sizes, of which first every third and then nearly all are freed. */
#ifndef LEAKMON_MIXED_BLOCKS_H
#define LEAKMON_MIXED_BLOCKS_H

#include "workload.h"

#define MIXED_BLOCKS_MAX 60000

struct mix {
	size_t count, smallest, sizes, step; /* `sizes` sizes, `step` apart */
};

static void *mixed_blocks[MIXED_BLOCKS_MAX];

static inline void *make(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	memset(block, 1, size);
	return OPAQUE(block);
}

static inline void mixed_free(size_t i)
{
	free(mixed_blocks[i]);
	mixed_blocks[i] = NULL;
}

static inline void mixed_make(const struct mix *mix)
{
	for (size_t i = 0; i < mix->count; i++)
		mixed_blocks[i] = make(mix->smallest + i % mix->sizes * mix->step);
	for (size_t i = 0; i < mix->count; i += 3)
		mixed_free(i);
}

/* All but every 1000th. */
static inline void mixed_drop(const struct mix *mix)
{
	for (size_t i = 0; i < mix->count; i++)
		if (i % 1000 != 1)
			mixed_free(i);
}

#endif
