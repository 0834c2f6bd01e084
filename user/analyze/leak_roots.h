/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Of blocks that nothing holds: which ones were lost themselves (direct leaks), and which only with
 * them (indirect). A lost ring counts as one direct leak: one of its blocks stands for it.
 */
#ifndef LEAKMON_ANALYZE_LEAK_ROOTS_H
#define LEAKMON_ANALYZE_LEAK_ROOTS_H

#include "analyze/graph.h"

/*
 * `lost` are `count` nodes in ascending order; owners[node] is GRAPH_NONE for exactly these, and
 * gets the direct leak through which the node is lost: itself, if it is one. 0 or -ENOMEM.
 */
int leak_roots_find(const struct graph *graph, const uint32_t *lost, uint32_t count,
		    uint32_t *owners);

#endif
