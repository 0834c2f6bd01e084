/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The dominator tree: node D dominates N if every path from the root to N goes through D, so that
 * without D, N would not be held. What D retains is all that it dominates, itself included.
 *
 * Source: Georgiadis, Tarjan, Werneck, "Finding Dominators in Practice" (JGAA 10, 2006): Semi-NCA.
 */
#ifndef LEAKMON_ANALYZE_DOMINATORS_H
#define LEAKMON_ANALYZE_DOMINATORS_H

#include "analyze/graph.h"

struct dominators {
	uint32_t count;	    /* nodes that the root reaches, itself included */
	uint32_t *vertices; /* by depth-first number, the root first */
	uint32_t *numbers;  /* of a node; GRAPH_NONE: not reached */
	uint32_t *parents;  /* by number: the number of the immediate dominator; 0's is 0 */
};

/* Which edges exist, where not all do; NULL: all. */
typedef int graph_edge_filter(const void *context, uint32_t source, uint32_t target);

/* 0 or -ENOMEM; then *dominators is untouched. */
int dominators_find(const struct graph *graph, uint32_t root, graph_edge_filter *filter,
		    const void *context, struct dominators *dominators);

/*
 * weights of the first `weight_count` nodes (NULL: 1 each; the others have none) -> retained
 * weights by depth-first number, in an array that the caller frees. NULL: out of memory.
 */
uint64_t *dominators_sum(const struct dominators *dominators, const uint64_t *weights,
			 uint32_t weight_count);

void dominators_free(struct dominators *dominators);

#endif
