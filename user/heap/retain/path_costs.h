/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The costs of a path's steps and roots: the cheapest path to a block is the one that a person
 * would draw. It has the fewest steps, weighted by their certainty: a reference that a runtime
 * names is certain, a word that points into the middle of a block may be a number.
 *
 * Steps that cost PATH_COST_PASSING or more are passing: they hold nothing that another step leads
 * to (struct retention_costs). All weights, each with its reason, are in path_costs.c.
 */
#ifndef LEAKMON_RETAIN_PATH_COSTS_H
#define LEAKMON_RETAIN_PATH_COSTS_H

#include "heap/retain/classes.h"
#include "heap/retain/root_groups.h"
#include "report/analyze/retention.h"

#define PATH_COST_PASSING 24

/*
 * The difference between a named field and a word at the start of a block: paths this close are
 * equivalent.
 */
#define PATH_COST_STEP 6

struct path_costs {
	uint8_t *edges, *groups; /* owned */
	struct retention_costs retention;
};

/*
 * Computes the costs. All arguments must outlive their use. Returns 0 or -ENOMEM; path_costs_free()
 * in either case.
 */
int path_costs_find(const struct heap_graph *graph, const struct root_groups *groups,
		    const struct classes *classes, struct path_costs *costs);
void path_costs_free(struct path_costs *costs);

#endif
