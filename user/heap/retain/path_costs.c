// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/path_costs.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/retain/pool_kinds.h"

enum step_cost {
	STEP_NAMED,
	STEP_REFERENCE,
	STEP_WORD,
	STEP_INSIDE,
	STEP_NUMBER,
	STEP_INTO_OBJECTS,
	STEP_NAMESPACE,
	STEP_CLASS,
	STEP_POOL,
	STEP_MAX_
};

/* A quarter of the plainest step each. */
static const uint8_t step_costs[] = {
	/* The runtime says so, and has a name for it. */
	[STEP_NAMED] = 4,
	/* The runtime says so. */
	[STEP_REFERENCE] = 5,
	/* One word in 2^40 is the address of a block by chance, but words are left over. */
	[STEP_WORD] = PATH_COST_STEP,
	/* So many more values point into a block as it has bytes: a number does so more easily. */
	[STEP_INSIDE] = 9,
	/* A runtime that knows this object's references does not call it one: bytecode, a hash.
	 * Ten steps that it does call so are plainer. */
	[STEP_NUMBER] = 60,
	/* Tables of a runtime lead to every object that it has, whoever holds that; stacks have
	 * words of objects left over. Any path from what the language names is plainer. */
	[STEP_INTO_OBJECTS] = 250,
	/* The variable is a root by its name: a way through all of its module says less. */
	[STEP_NAMESPACE] = 40,
	/* Every object leads to its class, and that to all that is static. */
	[STEP_CLASS] = 40,
	/* What hands memory out leads to all of it: whoever points into it uses a part. */
	[STEP_POOL] = 40,
};
_Static_assert(ARRAY_SIZE(step_costs) == STEP_MAX_, "a cost for every step");

/* People draw a chain as one step; of two chains the shorter one is plainer. */
#define CHAIN_COST 2

enum group_cost {
	GROUP_NAMED,
	GROUP_STAYING,
	GROUP_OFFSET,
	GROUP_LOCAL,
	GROUP_STORAGE,
	GROUP_MANAGED_STACK,
	GROUP_PRESERVED,
	GROUP_FRAME,
	GROUP_SCRATCH,
	GROUP_UNKNOWN_FRAME,
	GROUP_ALLOCATOR,
	GROUP_COST_MAX_
};

static const uint8_t group_costs[] = {
	/* A variable, an epoll instance: people know where to look. */
	[GROUP_NAMED] = 0,
	/* As good as a global, which says more where it is a step farther: main() may have that
	 * step in a register. */
	[GROUP_STAYING] = 8,
	/* A variable without a name. */
	[GROUP_OFFSET] = 4,
	/* A thread's variable: where a global leads there as plainly, it is the better answer. */
	[GROUP_LOCAL] = 2,
	/* The thread library's own, or variables that nobody can tell apart. */
	[GROUP_STORAGE] = 12,
	/* What a method works with just now. */
	[GROUP_MANAGED_STACK] = 12,
	/* A register that calls preserve: a variable of a frame that waits for one. */
	[GROUP_PRESERVED] = 18,
	/* A function that will return: its frames have words of calls before, too. */
	[GROUP_FRAME] = PATH_COST_PASSING,
	/* A register that any call may change; a worker thread or goroutine of a runtime. */
	[GROUP_SCRATCH] = 28,
	/* Likewise a word of a stack of which nobody knows what function it is of. */
	[GROUP_UNKNOWN_FRAME] = 32,
	/* It leads to all that it ever handed out. */
	[GROUP_ALLOCATOR] = 60,
};
_Static_assert(ARRAY_SIZE(group_costs) == GROUP_COST_MAX_, "a cost for every group");

static enum group_cost stack_cost(const struct root_group *group)
{
	if (!group->name)
		return GROUP_UNKNOWN_FRAME;
	return group->stays ? GROUP_STAYING : GROUP_FRAME;
}

static enum group_cost group_cost(const struct root_group *group)
{
	if (root_group_is_allocator(group))
		return GROUP_ALLOCATOR;
	switch (group->kind) {
	case ROOT_GLOBAL:
		return group->name ? GROUP_NAMED : GROUP_OFFSET;
	case ROOT_THREAD_LOCAL:
		return group->name && group->module ? GROUP_LOCAL : GROUP_STORAGE;
	case ROOT_STACK:
		return stack_cost(group);
	case ROOT_REGISTER:
		return group->stays ? GROUP_PRESERVED : GROUP_SCRATCH;
	case ROOT_RUNTIME:
		return group->rank == MANAGED_PASSING  ? GROUP_MANAGED_STACK
		       : group->rank == MANAGED_WORKER ? GROUP_SCRATCH
						       : GROUP_NAMED;
	default:
		return GROUP_NAMED;
	}
}

struct pricing {
	const struct heap_graph *graph;
	const struct root_groups *groups;
	uint64_t *namespaces; /* a bit per block */
	struct path_costs *costs;
};

static const struct managed_class *class_of(const struct heap_graph *graph, uint32_t block)
{
	uint32_t what = heap_graph_what(graph, block);

	return node_has_class(what) ? &graph->managed.classes.items[what & NODE_CLASS] : NULL;
}

/* Names of references that runtimes make themselves begin so. */
static bool is_class_link(const struct pricing *pricing, uint32_t from, uint32_t place, uint32_t to)
{
	const struct managed_class *source = class_of(pricing->graph, from);
	const struct managed_class *target = class_of(pricing->graph, to);
	uint32_t label = place & EDGE_LABELLED ? place & ~EDGE_LABELLED : 0;
	const char *name = heap_sink_label_name(&pricing->graph->managed, label);

	if (!source || !target || source->describes || !target->describes)
		return false;
	return label_kind(label) == LABEL_NONE || (name && !strncmp(name, "<class", 6));
}

static enum step_cost word_cost(const struct pricing *pricing, uint32_t place, uint32_t to)
{
	if (place & EDGE_INSIDE)
		return STEP_INSIDE;
	return heap_graph_is_pool(pricing->graph, to) ? STEP_POOL : STEP_WORD;
}

static enum step_cost step_cost(const struct pricing *pricing, uint32_t from, uint32_t edge)
{
	uint32_t place = pricing->graph->places[edge], to = pricing->graph->graph.targets[edge];
	const struct managed_class *source = class_of(pricing->graph, from);
	const struct managed_class *target = class_of(pricing->graph, to);

	if (pricing->namespaces[from / 64] >> from % 64 & 1)
		return STEP_NAMESPACE;
	if (is_class_link(pricing, from, place, to))
		return STEP_CLASS;
	if (place & EDGE_LABELLED)
		return label_kind(place & ~EDGE_LABELLED) == LABEL_NONE ? STEP_REFERENCE
									: STEP_NAMED;
	if (place & EDGE_DOUBTFUL)
		return STEP_NUMBER;
	if (pool_kinds_is_link(pricing->graph, from, edge))
		return STEP_POOL;
	if (source)
		return place & EDGE_INSIDE ? STEP_NUMBER : word_cost(pricing, place, to);
	return target ? STEP_INTO_OBJECTS : word_cost(pricing, place, to);
}

static void price_blocks(const struct pricing *pricing)
{
	const struct graph *edges = &pricing->graph->graph;

	for (uint32_t i = 0; i < pricing->graph->blocks; i++) {
		for (uint32_t j = edges->first[i]; j < edges->first[i + 1]; j++)
			pricing->costs->edges[j] = step_costs[step_cost(pricing, i, j)];
	}
}

static enum step_cost root_cost(const struct pricing *pricing, const struct root_word *word,
				const struct root_group *group)
{
	const struct managed_class *target = class_of(pricing->graph, word->target);

	if (group->kind == ROOT_RUNTIME)
		return STEP_NAMED;
	if (target && !(target->in_variables && group->kind == ROOT_GLOBAL))
		return STEP_INTO_OBJECTS;
	return word_cost(pricing, word->inside ? EDGE_INSIDE : 0, word->target);
}

/* Edges of groups stand in the order of their words. */
static int price_groups(const struct pricing *pricing)
{
	const struct heap_graph *graph = pricing->graph;
	const struct root_groups *groups = pricing->groups;
	size_t count = groups->list.count;
	_cleanup_free_ uint32_t *cursors = malloc((count + 1) * sizeof(*cursors));

	if (!cursors)
		return -ENOMEM;
	memcpy(cursors, graph->graph.first + graph->blocks, count * sizeof(*cursors));
	for (size_t i = 0; i < graph->roots.count; i++) {
		uint32_t group = groups->word_groups[i];

		pricing->costs->edges[cursors[group]++] = step_costs[root_cost(
			pricing, &graph->roots.items[i], &groups->list.items[group])];
	}
	for (size_t i = 0; i < count; i++)
		pricing->costs->groups[i] = group_costs[group_cost(&groups->list.items[i])];
	return 0;
}

int path_costs_find(const struct heap_graph *graph, const struct root_groups *groups,
		    const struct classes *classes, struct path_costs *costs)
{
	_cleanup_free_ uint64_t *namespaces =
		calloc((size_t)graph->blocks / 64 + 1, sizeof(*namespaces));
	const struct pricing pricing = {graph, groups, namespaces, costs};

	*costs = (struct path_costs){
		.edges = calloc(graph->graph.first[graph->graph.nodes] + 1ull, 1),
		.groups = calloc(groups->list.count + 1, 1)};
	if (!namespaces || !costs->edges || !costs->groups)
		return -ENOMEM;
	for (size_t i = 0; i < graph->managed.namespaces.count; i++) {
		uint32_t node = graph->managed.namespaces.items[i];

		namespaces[node / 64] |= 1ull << node % 64;
	}
	price_blocks(&pricing);
	costs->retention = (struct retention_costs){.graph = {.edges = costs->edges,
							      .places = graph->places,
							      .kinds = classes->of_blocks,
							      .placed = graph->blocks,
							      .chain = CHAIN_COST,
							      .passing = PATH_COST_PASSING},
						    .groups = costs->groups};
	return price_groups(&pricing);
}

void path_costs_free(struct path_costs *costs)
{
	free(costs->edges);
	free(costs->groups);
	*costs = (struct path_costs){0};
}
