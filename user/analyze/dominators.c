// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/dominators.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Everything by depth-first number, but for `numbers` and `cursors`. */
struct finder {
	const struct graph *graph;
	graph_edge_filter *filter;
	const void *context;
	uint32_t *vertices, *numbers, *parents;
	uint32_t *before_first, *before; /* edges turned round */
	uint32_t *ancestors, *labels, *semi;
	uint32_t count;
};

static bool has_edge(const struct finder *finder, uint32_t source, uint32_t target)
{
	return !finder->filter || finder->filter(finder->context, source, target);
}

/* The next node of an unfinished one, or GRAPH_NONE. */
static uint32_t next_unseen(const struct finder *finder, uint32_t *cursor, uint32_t node)
{
	const struct graph *graph = finder->graph;

	for (; *cursor < graph->first[node + 1]; (*cursor)++) {
		uint32_t target = graph->targets[*cursor];

		if (finder->numbers[target] == GRAPH_NONE && has_edge(finder, node, target)) {
			(*cursor)++;
			return target;
		}
	}
	return GRAPH_NONE;
}

static void number(struct finder *finder, uint32_t node, uint32_t parent, uint32_t *cursors)
{
	finder->numbers[node] = finder->count;
	finder->vertices[finder->count] = node;
	finder->parents[finder->count] = parent;
	cursors[finder->count++] = finder->graph->first[node];
}

/* Depth first, without recursion: lists of blocks are millions long. */
static void number_all(struct finder *finder, uint32_t root, uint32_t *cursors)
{
	uint32_t at = 0;

	number(finder, root, 0, cursors);
	for (;;) {
		uint32_t next = next_unseen(finder, &cursors[at], finder->vertices[at]);

		if (next != GRAPH_NONE) {
			number(finder, next, at, cursors);
			at = finder->count - 1;
		} else if (at) {
			at = finder->parents[at];
		} else {
			return;
		}
	}
}

/* Calls for each edge between numbered nodes; twice, to count and to fill. */
static void each_edge(struct finder *finder, bool fill)
{
	const struct graph *graph = finder->graph;

	for (uint32_t i = 0; i < finder->count; i++) {
		uint32_t node = finder->vertices[i];

		for (uint32_t j = graph->first[node]; j < graph->first[node + 1]; j++) {
			uint32_t target = finder->numbers[graph->targets[j]];

			if (target == GRAPH_NONE || target == i ||
			    !has_edge(finder, node, graph->targets[j]))
				continue;
			if (fill)
				finder->before[--finder->before_first[target]] = i;
			else
				finder->before_first[target]++;
		}
	}
}

static int turn_round(struct finder *finder)
{
	uint64_t sum = 0;

	finder->before_first = calloc((size_t)finder->count + 1, sizeof(uint32_t));
	if (!finder->before_first)
		return -ENOMEM;
	each_edge(finder, false);
	for (uint32_t i = 0; i < finder->count; i++) {
		sum += finder->before_first[i];
		finder->before_first[i] = (uint32_t)sum;
	}
	finder->before_first[finder->count] = (uint32_t)sum;
	finder->before = malloc((sum + 1) * sizeof(uint32_t));
	if (!finder->before)
		return -ENOMEM;
	each_edge(finder, true);
	return 0;
}

/*
 * The smallest semidominator on the path from node up to the last linked one, of which `linked` is
 * the lowest number. The path is compressed on the way; `semi` below `linked` serves as stack.
 */
static uint32_t evaluate(struct finder *finder, uint32_t node, uint32_t linked, uint32_t *stack)
{
	uint32_t *ancestors = finder->ancestors, *labels = finder->labels;
	uint32_t depth = 0, above;

	if (ancestors[node] < linked)
		return labels[node];
	for (above = node; ancestors[above] >= linked; above = ancestors[above])
		stack[depth++] = above;
	while (depth) {
		uint32_t below = stack[--depth];

		ancestors[below] = ancestors[above];
		labels[below] = MIN(labels[below], labels[above]);
		above = below;
	}
	return labels[node];
}

static void find_semidominators(struct finder *finder, uint32_t *stack)
{
	for (uint32_t i = finder->count - 1; i > 0; i--) {
		uint32_t semi = finder->parents[i];

		for (uint32_t j = finder->before_first[i]; j < finder->before_first[i + 1]; j++) {
			uint32_t other = finder->before[j];
			uint32_t candidate =
				other < i ? other : evaluate(finder, other, i + 1, stack);

			semi = MIN(semi, candidate);
		}
		finder->semi[i] = finder->labels[i] = semi;
	}
}

/* The nearest common ancestor of parent and semidominator, in the tree as far as it is known. */
static void find_parents(struct finder *finder)
{
	for (uint32_t i = 1; i < finder->count; i++) {
		while (finder->parents[i] > finder->semi[i])
			finder->parents[i] = finder->parents[finder->parents[i]];
	}
}

static int number_and_turn(struct finder *finder, uint32_t root)
{
	size_t nodes = (size_t)finder->graph->nodes + 1;
	_cleanup_free_ uint32_t *cursors = malloc(nodes * sizeof(uint32_t));

	finder->vertices = malloc(nodes * sizeof(uint32_t));
	finder->numbers = malloc(nodes * sizeof(uint32_t));
	finder->parents = malloc(nodes * sizeof(uint32_t));
	if (!cursors || !finder->vertices || !finder->numbers || !finder->parents)
		return -ENOMEM;
	memset(finder->numbers, 0xff, nodes * sizeof(uint32_t));
	number_all(finder, root, cursors);
	return turn_round(finder);
}

static int find(struct finder *finder, uint32_t root)
{
	_cleanup_free_ uint32_t *stack = NULL;
	size_t size;
	int err = number_and_turn(finder, root);

	if (err)
		return err;
	size = ((size_t)finder->count + 1) * sizeof(uint32_t);
	stack = malloc(size);
	finder->ancestors = malloc(size);
	finder->labels = malloc(size);
	finder->semi = malloc(size);
	if (!stack || !finder->ancestors || !finder->labels || !finder->semi)
		return -ENOMEM;
	memcpy(finder->ancestors, finder->parents, size - sizeof(uint32_t));
	find_semidominators(finder, stack);
	find_parents(finder);
	return 0;
}

int dominators_find(const struct graph *graph, uint32_t root, graph_edge_filter *filter,
		    const void *context, struct dominators *dominators)
{
	struct finder finder = {.graph = graph, .filter = filter, .context = context};
	int err = find(&finder, root);

	free(finder.before_first);
	free(finder.before);
	free(finder.ancestors);
	free(finder.labels);
	free(finder.semi);
	if (err) {
		free(finder.vertices);
		free(finder.numbers);
		free(finder.parents);
		return err;
	}
	*dominators =
		(struct dominators){finder.count, finder.vertices, finder.numbers, finder.parents};
	return 0;
}

uint64_t *dominators_sum(const struct dominators *dominators, const uint64_t *weights,
			 uint32_t weight_count)
{
	uint64_t *sums = malloc(((size_t)dominators->count + 1) * sizeof(*sums));

	if (!sums)
		return NULL;
	for (uint32_t i = 0; i < dominators->count; i++) {
		uint32_t node = dominators->vertices[i];

		sums[i] = node >= weight_count ? 0 : weights ? weights[node] : 1;
	}
	/* A dominator has a lower number than what it dominates. */
	for (uint32_t i = dominators->count; i-- > 1;)
		sums[dominators->parents[i]] += sums[i];
	return sums;
}

void dominators_free(struct dominators *dominators)
{
	free(dominators->vertices);
	free(dominators->numbers);
	free(dominators->parents);
	*dominators = (struct dominators){0};
}
