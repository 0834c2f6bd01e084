/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A directed graph of up to 4 billion nodes, edges in one array by source: designed to walk ten
 * million nodes in a second.
 */
#ifndef LEAKMON_ANALYZE_GRAPH_H
#define LEAKMON_ANALYZE_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#define GRAPH_NONE UINT32_MAX

struct graph {
	uint32_t nodes;
	uint32_t *first;   /* each node's first index in `targets`, and the end */
	uint32_t *targets; /* nodes; may repeat */
};

/*
 * Searches breadth first from `count` nodes, over nodes without a parent (GRAPH_NONE), which for a
 * first walk are all. parents[start] becomes the start itself; distances get the number of steps.
 * `queue` has room for all nodes. Returns the number of nodes reached.
 */
size_t graph_reach(const struct graph *graph, const uint32_t *starts, size_t count,
		   uint32_t *parents, uint32_t *distances, uint32_t *queue);

/* Upper bound of step costs: a search keeps one queue for each. */
#define GRAPH_COST_MAX 256

/* Costs, in place of steps. */
struct graph_costs {
	const uint8_t *edges; /* per edge, below GRAPH_COST_MAX; NULL: each costs one */
	/*
	 * Chains cost as much as one step: an edge costs nothing if it has the same place in its
	 * source as the edge before it, and both end at nodes of one kind. At its 16th, 256th, …
	 * edge a chain costs `chain` more.
	 *
	 * Only nodes below `placed` have a kind, and their edges places; 0: no chains.
	 */
	const uint32_t *places, *kinds;
	uint32_t placed;
	uint8_t chain;
	uint8_t passing; /* edges of at least this cost are part of no chain; 0: all may be */
};

/* A search over one graph in several rounds, each over the nodes left by the previous ones. */
struct graph_search {
	const struct graph *graph;	 /* borrowed */
	const struct graph_costs *costs; /* borrowed; NULL: every edge costs one */
	uint32_t *parents;		 /* borrowed; of nodes, filled as by graph_reach() */
	/* borrowed; of nodes, as graph_reach(); NULL: not needed */
	uint32_t *distances;
	uint32_t without; /* no search begins at that node; GRAPH_NONE: at any given node */
	/*
	 * Of nodes: the cost of the cheapest path, above that of any path found in earlier rounds;
	 * its last edge; the number of edges of the chain that it ends. Owned.
	 */
	uint32_t *reached_at, *entered, *runs;
	uint32_t base; /* added to the costs of the next round */
};

/* Initialises a search. Returns 0 or -ENOMEM. The caller ends it in either case. */
int graph_search_begin(struct graph_search *search);

/*
 * Finds the cheapest paths from `count` consecutive nodes from `start` on, over nodes without a
 * parent. starts: each one's own cost, below GRAPH_COST_MAX; NULL: zero. Of two paths with equal
 * cost, the one found first stays: without chains that of the first node. Returns 0 or -ENOMEM.
 */
int graph_search_from(struct graph_search *search, uint32_t start, uint32_t count,
		      const uint8_t *starts);
void graph_search_end(struct graph_search *search);

/*
 * Divides unreachable blocks into direct leaks, and those lost only with them (indirect). A lost
 * cycle counts as one direct leak, represented by one of its blocks.
 *
 * `lost` are `count` nodes in ascending order; owners[node] is GRAPH_NONE for exactly these, and
 * gets the direct leak through which the node is lost: itself, if it is one. Returns 0 or -ENOMEM.
 */
int leak_roots_find(const struct graph *graph, const uint32_t *lost, uint32_t count,
		    uint32_t *owners);

#endif
