/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A directed graph of up to 4 billion nodes, edges in one array by their source: made to be walked
 * with ten million nodes in a second.
 */
#ifndef LEAKMON_ANALYZE_GRAPH_H
#define LEAKMON_ANALYZE_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#define GRAPH_NONE UINT32_MAX

struct graph {
	uint32_t nodes;
	uint32_t *first;   /* of each node in `targets`, and behind the last one */
	uint32_t *targets; /* nodes; may repeat */
};

/*
 * Breadth first from `count` nodes, over nodes with no parent yet (GRAPH_NONE): for a first walk
 * all of them are. parents[start] becomes the start itself. distances get the number of steps.
 * `queue` has room for all nodes. How many nodes were reached.
 */
size_t graph_reach(const struct graph *graph, const uint32_t *starts, size_t count,
		   uint32_t *parents, uint32_t *distances, uint32_t *queue);

/*
 * For blocks that nothing holds: which ones were lost themselves (direct leaks), and which only
 * with them (indirect). A lost ring counts as one direct leak: one of its blocks stands for it.
 *
 * `lost` are `count` nodes in ascending order; owners[node] is GRAPH_NONE for exactly these, and
 * gets the direct leak through which the node is lost: itself, if it is one. 0 or -ENOMEM.
 */
int leak_roots_find(const struct graph *graph, const uint32_t *lost, uint32_t count,
		    uint32_t *owners);

#endif
