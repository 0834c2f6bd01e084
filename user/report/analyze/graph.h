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

/* Costs of steps are less than this: a search keeps a queue for each. */
#define GRAPH_COST_MAX 256

/* What a search counts instead of steps. */
struct graph_costs {
	const uint8_t *edges; /* of each edge, below GRAPH_COST_MAX; NULL: each costs one */
	/*
	 * Chains cost as much as one step: an edge costs nothing when it stands at the same place
	 * of its source as the edge before it, and both end at nodes of one kind. At its 16th,
	 * 256th, … edge a chain costs `chain` more.
	 *
	 * Only nodes below `placed` have a kind, and their edges places; 0: there are no chains.
	 */
	const uint32_t *places, *kinds;
	uint32_t placed;
	uint8_t chain;
	uint8_t passing; /* edges that cost as much or more are part of no chain; 0: all may be */
};

/* A search over one graph in several parts, each over the nodes that the ones before left. */
struct graph_search {
	const struct graph *graph;	 /* borrowed */
	const struct graph_costs *costs; /* borrowed; NULL: every edge costs one */
	uint32_t *parents;		 /* borrowed; of nodes, as graph_reach() fills them */
	uint32_t *distances;		 /* likewise; NULL: nobody asks for them */
	uint32_t without; /* no search begins at that node; GRAPH_NONE: at each that is given */
	/* Of nodes: the cost of the cheapest way, more than that of any way that a part before has
	 * found; the edge that it ends with; how many edges of a chain that is the last of.
	 * Owned. */
	uint32_t *reached_at, *entered, *runs;
	uint32_t base; /* what the ways of the next part cost more */
};

/* 0 or -ENOMEM. The caller ends it in either case. */
int graph_search_begin(struct graph_search *search);

/*
 * Finds the cheapest ways from `count` nodes that follow each other from `start` on, over nodes
 * that have no parent yet. starts: what each of them costs itself, below GRAPH_COST_MAX; NULL:
 * nothing. Of two ways that cost the same, the one found first stays: without chains that of the
 * first node. 0 or -ENOMEM.
 */
int graph_search_from(struct graph_search *search, uint32_t start, uint32_t count,
		      const uint8_t *starts);
void graph_search_end(struct graph_search *search);

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
