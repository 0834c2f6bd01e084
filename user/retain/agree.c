// SPDX-License-Identifier: GPL-2.0-or-later
/* The two-scan rule: what only one of two blurred pictures calls lost is not. */
#include <errno.h>

#include "base/cleanup.h"
#include "retain/retain.h"

#define WINDOW_BYTES (256u << 10)

/* Of a block as it is now; 0: it cannot be read. */
static uint64_t hash_block(pid_t task, uint64_t start, uint64_t size, unsigned char *window)
{
	uint64_t hash = 1;

	for (uint64_t done = 0; done < size;) {
		uint64_t part = MIN(size - done, WINDOW_BYTES);

		if (memory_read_exact(task, start + done, window, part))
			return 0;
		for (uint64_t i = 0; i < part; i++)
			hash = (hash ^ window[i]) * 0x100000001b3ull;
		done += part;
	}
	return hash ? hash : 1;
}

int retain_remember_lost(struct retain *retain)
{
	_cleanup_free_ unsigned char *window = malloc(WINDOW_BYTES);
	uint32_t blocks = retain->graph.blocks;

	retain->lost_hashes = calloc((size_t)blocks + 1, sizeof(uint64_t));
	if (!window || !retain->lost_hashes)
		return -ENOMEM;
	for (uint32_t i = 0; i < blocks; i++) {
		if (retain->retention.verdicts[i] == VERDICT_LOST)
			retain->lost_hashes[i] =
				hash_block(retain->picture.maps.task, retain->graph.starts[i],
					   retain->graph.sizes[i], window);
	}
	return 0;
}

/* Whether a block was there before, and lost, and has not been written since. */
static bool was_lost(const struct retain *earlier, const struct retain *retain, uint32_t block)
{
	uint64_t start = retain->graph.starts[block];
	uint32_t before = block_index_find(&earlier->graph.index, start);

	return before != BLOCK_NONE && earlier->graph.starts[before] == start &&
	       earlier->graph.sizes[before] == retain->graph.sizes[block] &&
	       earlier->retention.verdicts[before] == VERDICT_LOST &&
	       earlier->lost_hashes[before] &&
	       earlier->lost_hashes[before] == retain->lost_hashes[block];
}

int retain_agree(struct retain *retain, const struct retain *earlier)
{
	uint32_t blocks = retain->graph.blocks, count = 0;
	_cleanup_free_ uint32_t *doubtful = malloc(((size_t)blocks + 1) * sizeof(*doubtful));
	int err = retain_remember_lost(retain);

	if (err || !doubtful)
		return -ENOMEM;
	for (uint32_t i = 0; i < blocks; i++) {
		if (retain->retention.verdicts[i] == VERDICT_LOST && !was_lost(earlier, retain, i))
			doubtful[count++] = i;
	}
	err = retention_take_back(&retain->graph.graph, retain->graph.sizes, doubtful, count,
				  &retain->retention);
	return err ? err : retain_count_again(retain);
}
