// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/graph.h"

size_t graph_reach(const struct graph *graph, const uint32_t *starts, size_t count,
		   uint32_t *parents, uint32_t *distances, uint32_t *queue)
{
	size_t taken = 0, known = 0;

	for (size_t i = 0; i < count; i++) {
		if (parents[starts[i]] != GRAPH_NONE)
			continue;
		parents[starts[i]] = starts[i];
		distances[starts[i]] = 0;
		queue[known++] = starts[i];
	}
	for (; taken < known; taken++) {
		uint32_t node = queue[taken];

		for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++) {
			uint32_t target = graph->targets[i];

			if (parents[target] != GRAPH_NONE)
				continue;
			parents[target] = node;
			distances[target] = distances[node] + 1;
			queue[known++] = target;
		}
	}
	return known;
}
