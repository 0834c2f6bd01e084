// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/graph.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

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

/* Leaks: direct ones, and what was lost with them. */

/* Marks of owners while nodes are put in order; no node has such a number. */
#define OPEN (GRAPH_NONE - 1)
#define FINISHED (GRAPH_NONE - 2)

struct step {
	uint32_t node, cursor;
};

struct sorter {
	const struct graph *graph;
	uint32_t *owners;
	struct step *stack;
	uint32_t *finished; /* nodes, in the order in which the walk left them */
	uint32_t finished_count;
};

static void walk_from(struct sorter *sorter, uint32_t start)
{
	const struct graph *graph = sorter->graph;
	size_t depth = 0;

	sorter->owners[start] = OPEN;
	sorter->stack[depth++] = (struct step){start, graph->first[start]};
	while (depth) {
		struct step *step = &sorter->stack[depth - 1];
		uint32_t target = GRAPH_NONE;

		while (step->cursor < graph->first[step->node + 1]) {
			target = graph->targets[step->cursor++];
			if (sorter->owners[target] == GRAPH_NONE)
				break;
			target = GRAPH_NONE;
		}
		if (target == GRAPH_NONE) {
			sorter->owners[step->node] = FINISHED;
			sorter->finished[sorter->finished_count++] = step->node;
			depth--;
		} else {
			sorter->owners[target] = OPEN;
			sorter->stack[depth++] = (struct step){target, graph->first[target]};
		}
	}
}

/* Gives everything below `start` that has no owner yet to it. */
static void own_from(struct sorter *sorter, uint32_t start)
{
	const struct graph *graph = sorter->graph;
	size_t depth = 0;

	sorter->owners[start] = start;
	sorter->stack[depth++].node = start;
	while (depth) {
		uint32_t node = sorter->stack[--depth].node;

		for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++) {
			uint32_t target = graph->targets[i];

			if (sorter->owners[target] != FINISHED)
				continue;
			sorter->owners[target] = start;
			sorter->stack[depth++].node = target;
		}
	}
}

int leak_roots_find(const struct graph *graph, const uint32_t *lost, uint32_t count,
		    uint32_t *owners)
{
	_cleanup_free_ struct step *stack = calloc((size_t)count + 1, sizeof(*stack));
	_cleanup_free_ uint32_t *finished = calloc((size_t)count + 1, sizeof(*finished));
	struct sorter sorter = {.graph = graph, .stack = stack, .finished = finished};

	if (!stack || !finished)
		return -ENOMEM;
	sorter.owners = owners;
	for (uint32_t i = 0; i < count; i++) {
		if (owners[lost[i]] == GRAPH_NONE)
			walk_from(&sorter, lost[i]);
	}
	/* The node left last is reached from no other ring or block that was not owned before. */
	for (uint32_t i = count; i-- > 0;) {
		if (owners[finished[i]] == FINISHED)
			own_from(&sorter, finished[i]);
	}
	return 0;
}
