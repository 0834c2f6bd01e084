// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/analyze/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

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

/* Cheapest paths: Dial's algorithm, with a queue for each cost up to one step away. */

#define QUEUE_KEPT 4096 /* longer ones are freed rather than kept */

struct queue {
	VEC(uint32_t) nodes;
	size_t taken;
};

struct queues {
	struct queue of_cost[GRAPH_COST_MAX]; /* by the cost modulo their number */
	size_t waiting;
};

/* A step that is looked at. */
struct graph_step {
	uint32_t from, edge, to;
};

#define CHAIN_GROWTH 16 /* a chain costs more for each factor of this in length */

/* Returns the number of edges of the chain that the step belongs to; 0: none. */
static uint32_t run_with(const struct graph_search *search, const struct graph_step *step)
{
	const struct graph_costs *costs = search->costs;
	uint32_t before = search->entered[step->from];

	if (!costs || step->from >= costs->placed || step->to >= costs->placed ||
	    before == GRAPH_NONE || search->parents[step->from] >= costs->placed ||
	    costs->places[before] != costs->places[step->edge] ||
	    costs->kinds[step->from] != costs->kinds[step->to] ||
	    (costs->passing && costs->edges[step->edge] >= costs->passing))
		return 0;
	return search->runs[step->from] + 1;
}

static uint32_t cost_of(const struct graph_search *search, const struct graph_step *step,
			uint32_t run)
{
	const struct graph_costs *costs = search->costs;

	if (!run)
		return costs && costs->edges ? costs->edges[step->edge] : 1;
	while (run > 1 && run % CHAIN_GROWTH == 0)
		run /= CHAIN_GROWTH;
	return run == 1 && search->runs[step->from] ? costs->chain : 0;
}

static int put(struct queues *queues, uint32_t node, uint32_t cost)
{
	uint32_t *added = vec_push(&queues->of_cost[cost % GRAPH_COST_MAX].nodes);

	if (!added)
		return -ENOMEM;
	*added = node;
	queues->waiting++;
	return 0;
}

static int take_step(struct graph_search *search, struct queues *queues,
		     const struct graph_step *step)
{
	uint32_t run = run_with(search, step);
	uint32_t cost = search->reached_at[step->from] + cost_of(search, step, run);

	if (cost >= search->reached_at[step->to])
		return 0;
	search->reached_at[step->to] = cost;
	search->parents[step->to] = step->from;
	if (search->distances)
		search->distances[step->to] = search->distances[step->from] + 1;
	search->entered[step->to] = step->edge;
	search->runs[step->to] = run;
	return put(queues, step->to, cost);
}

static int leave_node(struct graph_search *search, struct queues *queues, uint32_t node)
{
	const struct graph *graph = search->graph;
	int error = 0;

	for (uint32_t i = graph->first[node]; !error && i < graph->first[node + 1]; i++)
		error = take_step(search, queues, &(struct graph_step){node, i, graph->targets[i]});
	return error;
}

/* Nodes for which a cheaper path was found meanwhile also wait in an earlier queue. */
static int empty_queue(struct graph_search *search, struct queues *queues, uint32_t cost)
{
	struct queue *queue = &queues->of_cost[cost % GRAPH_COST_MAX];
	int error = 0;

	while (!error && queue->taken < queue->nodes.count) {
		uint32_t node = queue->nodes.items[queue->taken++];

		queues->waiting--;
		if (search->reached_at[node] == cost)
			error = leave_node(search, queues, node);
	}
	queue->taken = 0;
	if (queue->nodes.count > QUEUE_KEPT)
		vec_free(&queue->nodes);
	queue->nodes.count = 0;
	return error;
}

int graph_search_begin(struct graph_search *search)
{
	size_t bytes = ((size_t)search->graph->nodes + 1) * sizeof(uint32_t);

	search->reached_at = malloc(bytes);
	search->entered = malloc(bytes);
	search->runs = malloc(bytes);
	if (!search->reached_at || !search->entered || !search->runs)
		return -ENOMEM;
	memset(search->reached_at, 0xff, bytes);
	return 0;
}

int graph_search_from(struct graph_search *search, uint32_t start, uint32_t count,
		      const uint8_t *starts)
{
	struct queues queues = {0};
	uint32_t cost = search->base;
	int error = 0;

	for (uint32_t i = start; !error && i < start + count; i++) {
		if (i == search->without)
			continue;
		search->parents[i] = i;
		if (search->distances)
			search->distances[i] = 0;
		search->entered[i] = GRAPH_NONE;
		search->runs[i] = 0;
		search->reached_at[i] = cost + (starts ? starts[i - start] : 0);
		error = put(&queues, i, search->reached_at[i]);
	}
	for (; !error && queues.waiting; cost++)
		error = empty_queue(search, &queues, cost);
	search->base = cost;
	for (size_t i = 0; i < GRAPH_COST_MAX; i++)
		vec_free(&queues.of_cost[i].nodes);
	return error;
}

void graph_search_end(struct graph_search *search)
{
	free(search->reached_at);
	free(search->entered);
	free(search->runs);
}

/* Leaks: direct ones, and the blocks lost with them. */

/* Marks of owners while nodes are sorted; no node has these numbers. */
#define OPEN (GRAPH_NONE - 1)
#define FINISHED (GRAPH_NONE - 2)

struct step {
	uint32_t node, cursor;
};

struct sorter {
	const struct graph *graph;
	uint32_t *owners;
	struct step *stack;
	uint32_t *finished; /* nodes, in the order in which the walk finished them */
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

/* Assigns everything below `start` without an owner to it. */
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
	/* The node finished last is reached from no other cycle or block without an owner. */
	for (uint32_t i = count; i-- > 0;) {
		if (owners[finished[i]] == FINISHED)
			own_from(&sorter, finished[i]);
	}
	return 0;
}
