// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks in pages of which nobody knows when they changed are not called lost. */
#include <errno.h>

#include "base/cleanup.h"
#include "retain/retain.h"

/* Of a chunk: the header before it, and the next one's, in which its own state stands. */
#define HEADER_BYTES 16

static bool is_late(const struct picture *picture, uint64_t start, uint64_t end)
{
	size_t low = 0, high = picture->late.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (picture->late.items[middle] + MEMORY_PAGE <= start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < picture->late.count && picture->late.items[low] < end;
}

int retain_take_back_late(struct retain *retain)
{
	const struct heap_graph *graph = &retain->graph;
	_cleanup_free_ uint32_t *doubtful = NULL;
	uint32_t count = 0;

	if (!retain->picture.late.count)
		return 0;
	doubtful = malloc(((size_t)graph->blocks + 1) * sizeof(*doubtful));
	if (!doubtful)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->blocks; i++) {
		if (retain->retention.verdicts[i] == VERDICT_LOST &&
		    is_late(&retain->picture, graph->starts[i] - HEADER_BYTES,
			    graph->starts[i] + graph->sizes[i] + HEADER_BYTES))
			doubtful[count++] = i;
	}
	return retention_take_back(&graph->graph, graph->sizes, doubtful, count,
				   &retain->retention);
}
