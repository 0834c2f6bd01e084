// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/retention_roots.h"

#include <stdlib.h>

#define UNKNOWN (ROOT_NONE - 1)

/* The first node on the way up that is known, or that has no parent. */
static uint32_t climb(const struct retention *retention, const uint32_t *roots, uint32_t node)
{
	while (node < retention->blocks && roots[node] == UNKNOWN &&
	       retention->parents[node] != GRAPH_NONE)
		node = retention->parents[node];
	return node;
}

static uint32_t root_at(const struct retention *retention, const uint32_t *roots, uint32_t node)
{
	if (node >= retention->blocks)
		return node - retention->blocks;
	return roots[node] == UNKNOWN ? ROOT_NONE : roots[node];
}

uint32_t *retention_roots(const struct retention *retention)
{
	uint32_t *roots = malloc(((size_t)retention->blocks + 1) * sizeof(*roots));

	if (!roots)
		return NULL;
	for (uint32_t i = 0; i < retention->blocks; i++)
		roots[i] = UNKNOWN;
	for (uint32_t i = 0; i < retention->blocks; i++) {
		uint32_t end = climb(retention, roots, i);
		uint32_t root = root_at(retention, roots, end), node = i;

		/* Every block on the way has the same one: each is climbed from only once. */
		while (node < retention->blocks && roots[node] == UNKNOWN) {
			roots[node] = root;
			if (retention->parents[node] != GRAPH_NONE)
				node = retention->parents[node];
		}
	}
	return roots;
}
