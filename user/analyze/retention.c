// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/retention.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/graph.h"
#include "base/cleanup.h"

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

struct computing {
	const struct graph *graph;
	const uint64_t *sizes;
	struct retention *result;
	uint32_t *order; /* the nodes that are reached, in the order that they are */
	size_t ordered;
};

static void mark(struct retention *retention, const uint32_t *nodes, size_t count,
		 enum verdict verdict)
{
	for (size_t i = 0; i < count; i++) {
		if (nodes[i] < retention->blocks)
			retention->verdicts[nodes[i]] = (uint8_t)verdict;
	}
}

/*
 * Breadth first from the groups [from, from + count): what they reach is added to `order`; *total,
 * unless NULL, gets how much it is.
 */
static int reach(struct computing *computing, uint32_t from, uint32_t count, enum verdict verdict,
		 struct retention_total *total)
{
	struct retention *result = computing->result;
	_cleanup_free_ uint32_t *starts = malloc(((size_t)count + 1) * sizeof(uint32_t));
	uint32_t *reached = computing->order + computing->ordered;
	size_t found;

	if (!starts)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		starts[i] = from + i;
	found = graph_reach(computing->graph, starts, count, result->parents, result->distances,
			    reached);
	mark(result, reached, found, verdict);
	for (size_t i = 0; total && i < found; i++) {
		total->blocks += reached[i] < result->blocks;
		total->bytes += reached[i] < result->blocks ? computing->sizes[reached[i]] : 0;
	}
	computing->ordered += found;
	return 0;
}

static void sum_up(struct computing *computing)
{
	struct retention *result = computing->result;

	for (uint32_t i = 0; i < result->blocks; i++) {
		struct retention_total *total = &result->totals[result->verdicts[i]];

		total->blocks++;
		total->bytes += computing->sizes[i];
	}
}

static int find_owners(struct computing *computing)
{
	struct retention *result = computing->result;
	uint32_t lost = (uint32_t)result->totals[VERDICT_LOST].blocks, at = 0;
	_cleanup_free_ uint32_t *list = calloc((size_t)lost + 1, sizeof(uint32_t));
	int error;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < result->blocks; i++) {
		result->owners[i] = result->verdicts[i] == VERDICT_LOST ? GRAPH_NONE : 0;
		if (result->verdicts[i] == VERDICT_LOST)
			list[at++] = i;
	}
	error = leak_roots_find(computing->graph, list, lost, result->owners);
	for (uint32_t i = 0; !error && i < lost; i++) {
		struct retention_total *total =
			result->owners[list[i]] == list[i] ? &result->direct : &result->indirect;

		total->blocks++;
		total->bytes += computing->sizes[list[i]];
	}
	return error;
}

/*
 * A group retains what no other group reaches: groups are reached by nothing, so what a group
 * dominates is what all its paths come from.
 */
#define SEVERAL (GRAPH_NONE - 1)

/* The verdict that a node stands for: a group, that of what it holds first. */
static uint8_t side_of(const struct retention *retention, uint32_t node)
{
	if (node < retention->blocks)
		return retention->verdicts[node];
	return node < retention->blocks + retention->strong ? VERDICT_HELD : VERDICT_UNTRACKED;
}

/* Each node's group by its shortest path. */
static void name_first(struct computing *computing, uint32_t *groups)
{
	struct retention *result = computing->result;

	for (size_t i = 0; i < computing->ordered; i++) {
		uint32_t node = computing->order[i], parent = result->parents[node];
		struct retention_total *led;

		groups[node] = parent == node ? node : groups[parent];
		if (node >= result->blocks)
			continue;
		led = &result->led[groups[node] - result->blocks];
		led->blocks++;
		led->bytes += computing->sizes[node];
	}
}

/* Marks nodes that another group reaches, too, and puts them on the stack. */
static size_t find_shared(const struct computing *computing, uint32_t *groups, uint32_t *stack)
{
	const struct graph *graph = computing->graph;
	const struct retention *retention = computing->result;
	size_t depth = 0;

	for (uint32_t node = 0; node + 1 < graph->nodes; node++) {
		uint32_t group = groups[node];

		for (uint32_t i = graph->first[node];
		     group != GRAPH_NONE && i < graph->first[node + 1]; i++) {
			uint32_t target = graph->targets[i];

			/* Paths from the weak side to blocks that are held anyway do not count. */
			if (groups[target] == group || groups[target] == SEVERAL ||
			    side_of(retention, target) != side_of(retention, node))
				continue;
			groups[target] = SEVERAL;
			stack[depth++] = target;
		}
	}
	return depth;
}

/* Nodes that shared nodes lead to are shared. */
static void spread_shared(const struct computing *computing, uint32_t *groups, uint32_t *stack,
			  size_t depth)
{
	const struct graph *graph = computing->graph;

	while (depth) {
		uint32_t node = stack[--depth];

		for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++) {
			uint32_t target = graph->targets[i];

			if (groups[target] == SEVERAL ||
			    side_of(computing->result, target) != side_of(computing->result, node))
				continue;
			groups[target] = SEVERAL;
			stack[depth++] = target;
		}
	}
}

static int find_retained(struct computing *computing)
{
	struct retention *result = computing->result;
	size_t nodes = computing->graph->nodes;
	_cleanup_free_ uint32_t *groups = malloc((nodes + 1) * sizeof(*groups));
	_cleanup_free_ uint32_t *stack = malloc((nodes + 1) * sizeof(*stack));

	if (!groups || !stack)
		return -ENOMEM;
	memset(groups, 0xff, nodes * sizeof(*groups));
	name_first(computing, groups);
	spread_shared(computing, groups, stack, find_shared(computing, groups, stack));
	for (uint32_t i = 0; i < result->blocks; i++) {
		if (groups[i] >= SEVERAL)
			continue;
		result->retained[groups[i] - result->blocks] += computing->sizes[i];
		result->retained_blocks[groups[i] - result->blocks]++;
	}
	return 0;
}

static int allocate(struct retention *retention)
{
	size_t groups = (size_t)retention->strong + retention->weak;
	size_t nodes = retention->blocks + groups + 1;

	retention->verdicts = malloc((size_t)retention->blocks + 1);
	retention->parents = malloc(nodes * sizeof(uint32_t));
	retention->distances = calloc(nodes, sizeof(uint32_t));
	retention->owners = malloc(((size_t)retention->blocks + 1) * sizeof(uint32_t));
	retention->retained = calloc(groups + 1, sizeof(uint64_t));
	retention->retained_blocks = calloc(groups + 1, sizeof(uint64_t));
	retention->led = calloc(groups + 1, sizeof(*retention->led));
	if (!retention->led || !retention->verdicts || !retention->parents ||
	    !retention->distances || !retention->owners || !retention->retained ||
	    !retention->retained_blocks)
		return -ENOMEM;
	memset(retention->verdicts, VERDICT_LOST, retention->blocks);
	memset(retention->parents, 0xff, nodes * sizeof(uint32_t));
	return 0;
}

/* One after the other, each to its end. */
static int reach_all(struct computing *computing, const struct retention_nodes *nodes)
{
	uint32_t strong = nodes->blocks, weak = strong + nodes->strong;
	int error = reach(computing, strong, nodes->named, VERDICT_HELD, NULL);

	if (!error)
		error = reach(computing, strong + nodes->named, nodes->lasting - nodes->named,
			      VERDICT_HELD, NULL);
	if (!error)
		error = reach(computing, strong + nodes->lasting, nodes->strong - nodes->lasting,
			      VERDICT_HELD, NULL);
	if (!error)
		error = reach(computing, weak, nodes->through, VERDICT_UNTRACKED,
			      &computing->result->through);
	if (!error)
		error = reach(computing, weak + nodes->through,
			      nodes->weak - nodes->through - nodes->stale, VERDICT_UNTRACKED, NULL);
	if (!error)
		error = reach(computing, weak + nodes->weak - nodes->stale, nodes->stale,
			      VERDICT_UNTRACKED, NULL);
	return error;
}

static int compute(struct computing *computing, const struct retention_nodes *nodes)
{
	_cleanup_free_ uint32_t *order =
		malloc(((size_t)computing->graph->nodes + 1) * sizeof(*order));
	int error = order ? allocate(computing->result) : -ENOMEM;

	computing->order = order;
	if (!error)
		error = reach_all(computing, nodes);
	if (error)
		return error;
	sum_up(computing);
	error = find_owners(computing);
	return error ? error : find_retained(computing);
}

int retention_compute(const struct graph *graph, const uint64_t *sizes,
		      const struct retention_nodes *nodes, struct retention *retention)
{
	_cleanup_(retention_free) struct retention made = {.blocks = nodes->blocks,
							   .strong = nodes->strong,
							   .weak = nodes->weak,
							   .stale = nodes->stale};
	struct computing computing = {.graph = graph, .sizes = sizes, .result = &made};
	int error = compute(&computing, nodes);

	if (error)
		return error;
	*retention = made;
	made = (struct retention){0};
	return 0;
}

/* Blocks that are taken back, and what is lost or stale below them. */
struct taking {
	const struct graph *graph;
	const uint64_t *sizes;
	struct retention *retention;
	uint32_t *roots; /* of blocks; NULL: there are no stale groups */
	uint32_t *stack;
	size_t depth;
};

/* The stale group that leads to a block; ROOT_NONE: none does. */
static uint32_t stale_root(const struct taking *taking, uint32_t block)
{
	const struct retention *retention = taking->retention;
	uint32_t root = taking->roots ? taking->roots[block] : ROOT_NONE;

	return root != ROOT_NONE && root >= retention->strong + retention->weak - retention->stale
		       ? root
		       : ROOT_NONE;
}

/* A group retains some of the blocks that it leads to. */
static void leave_group(struct taking *taking, uint32_t block, uint32_t group)
{
	struct retention *retention = taking->retention;
	struct retention_total *led = &retention->led[group];

	led->blocks--;
	led->bytes -= taking->sizes[block];
	retention->retained[group] = MIN(retention->retained[group], led->bytes);
	retention->retained_blocks[group] = MIN(retention->retained_blocks[group], led->blocks);
	retention->parents[block] = GRAPH_NONE;
	retention->distances[block] = 0;
	taking->roots[block] = ROOT_NONE;
}

static void take(struct taking *taking, uint32_t block)
{
	uint32_t group = stale_root(taking, block);

	if (group != ROOT_NONE)
		leave_group(taking, block, group);
	else if (taking->retention->verdicts[block] != VERDICT_LOST)
		return;
	taking->retention->verdicts[block] = VERDICT_UNTRACKED;
	taking->stack[taking->depth++] = block;
}

static void take_all(struct taking *taking, const uint32_t *doubtful, uint32_t count)
{
	const struct graph *graph = taking->graph;

	for (uint32_t i = 0; i < count; i++)
		take(taking, doubtful[i]);
	while (taking->depth) {
		uint32_t node = taking->stack[--taking->depth];

		for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++)
			take(taking, graph->targets[i]);
	}
}

/* Each block comes onto the stack once. */
static int spread(const struct graph *graph, const uint64_t *sizes, const uint32_t *doubtful,
		  uint32_t count, struct retention *retention)
{
	uint64_t most =
		retention->stale ? retention->blocks : retention->totals[VERDICT_LOST].blocks;
	_cleanup_free_ uint32_t *roots = retention->stale ? retention_roots(retention) : NULL;
	_cleanup_free_ uint32_t *stack = malloc((most + 1) * sizeof(*stack));
	struct taking taking = {.graph = graph,
				.sizes = sizes,
				.retention = retention,
				.roots = roots,
				.stack = stack};

	if (!stack || (retention->stale && !roots))
		return -ENOMEM;
	take_all(&taking, doubtful, count);
	return 0;
}

int retention_take_back(const struct graph *graph, const uint64_t *sizes, const uint32_t *doubtful,
			uint32_t count, struct retention *retention)
{
	struct computing computing = {.graph = graph, .sizes = sizes, .result = retention};
	int error = spread(graph, sizes, doubtful, count, retention);

	if (error)
		return error;
	memset(retention->totals, 0, sizeof(retention->totals));
	retention->direct = retention->indirect = (struct retention_total){0};
	sum_up(&computing);
	return find_owners(&computing);
}

void retention_free(struct retention *retention)
{
	free(retention->verdicts);
	free(retention->parents);
	free(retention->distances);
	free(retention->owners);
	free(retention->retained);
	free(retention->led);
	free(retention->retained_blocks);
	*retention = (struct retention){0};
}
