/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the steps and the roots of a path cost: the cheapest path to a block is the one that a
 * person would draw. It has the fewest steps, weighted by how certain they are: a reference that a
 * runtime names is certain, a word that points into the middle of a block may be a number.
 *
 * Steps that cost PATH_COST_PASSING or more only pass by: they hold nothing that another step
 * leads to (struct retention_costs). All weights, each with its reason, are in path_costs.c.
 */
#ifndef LEAKMON_RETAIN_PATH_COSTS_H
#define LEAKMON_RETAIN_PATH_COSTS_H

#include "heap/retain/classes.h"
#include "heap/retain/root_groups.h"
#include "report/analyze/retention.h"

#define PATH_COST_PASSING 24

/* A step between a named field and a word at the start of a block: paths this close are alike. */
#define PATH_COST_STEP 6

struct path_costs {
	uint8_t *edges, *groups; /* owned */
	struct retention_costs retention;
};

/* All that is given must stay as long as the costs are used. 0 or -ENOMEM; path_costs_free() in
 * either case. */
int path_costs_find(const struct heap_graph *graph, const struct root_groups *groups,
		    const struct classes *classes, struct path_costs *costs);
void path_costs_free(struct path_costs *costs);

#endif
