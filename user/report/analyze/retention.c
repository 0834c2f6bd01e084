// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/analyze/retention.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/analyze/graph.h"

#define UNKNOWN (ROOT_NONE - 1)

/* Returns the first node on the way up that is known, or has no parent. */
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

		/* All blocks on the way have the same root: each is climbed from only once. */
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
	const struct retention_nodes *nodes;
	struct retention *result;
	uint32_t *queue; /* with room for all nodes; during the computation of verdicts */
};

/* Consecutive groups. */
struct span {
	uint32_t from, count; /* nodes */
};

enum span_kind { SPAN_LASTING, SPAN_PASSING, SPAN_THROUGH, SPAN_WEAK, SPAN_STALE, SPAN_MAX_ };

/* Strong groups that are not lasting, including staying ones, are passing. */
static void spans_of(const struct retention_nodes *nodes, struct span spans[SPAN_MAX_])
{
	const uint32_t counts[] = {
		[SPAN_LASTING] = nodes->lasting,
		[SPAN_PASSING] = nodes->strong - nodes->lasting,
		[SPAN_THROUGH] = nodes->through,
		[SPAN_WEAK] = nodes->weak - nodes->through - nodes->stale,
		[SPAN_STALE] = nodes->stale,
	};
	uint32_t at = nodes->blocks;

	_Static_assert(ARRAY_SIZE(counts) == SPAN_MAX_, "a count for every span");
	for (size_t i = 0; i < SPAN_MAX_; i++) {
		spans[i] = (struct span){at, counts[i]};
		at += counts[i];
	}
}

static void mark(struct computing *computing, size_t count, enum span_kind kind)
{
	struct retention *result = computing->result;

	for (size_t i = 0; i < count; i++) {
		uint32_t node = computing->queue[i];

		if (node >= result->blocks)
			continue;
		result->verdicts[node] = kind <= SPAN_PASSING ? VERDICT_HELD : VERDICT_UNTRACKED;
		if (kind == SPAN_PASSING)
			result->passing[node / 64] |= 1ull << node % 64;
		if (kind == SPAN_THROUGH) {
			result->through.blocks++;
			result->through.bytes += computing->sizes[node];
		}
	}
}

/* Walks the groups' reach, one kind after the other, each to its end. */
static int find_verdicts(struct computing *computing, const struct span spans[SPAN_MAX_])
{
	struct retention *result = computing->result;
	uint32_t most = MAX(result->strong, result->weak);
	_cleanup_free_ uint32_t *starts = malloc(((size_t)most + 1) * sizeof(*starts));
	_cleanup_free_ uint32_t *queue =
		malloc(((size_t)computing->graph->nodes + 1) * sizeof(*queue));

	if (!starts || !queue)
		return -ENOMEM;
	computing->queue = queue;
	for (enum span_kind kind = 0; kind < SPAN_MAX_; kind++) {
		for (uint32_t i = 0; i < spans[kind].count; i++)
			starts[i] = spans[kind].from + i;
		mark(computing,
		     graph_reach(computing->graph, starts, spans[kind].count, result->parents,
				 result->distances, computing->queue),
		     kind);
	}
	return 0;
}

static void forget_ways(struct computing *computing)
{
	size_t nodes = computing->graph->nodes;

	memset(computing->result->parents, 0xff, nodes * sizeof(uint32_t));
	memset(computing->result->distances, 0, nodes * sizeof(uint32_t));
}

/* Strong groups compete for the cheapest paths; weak ones follow. */
static int find_paths(struct computing *computing, const struct span spans[SPAN_MAX_])
{
	struct retention *result = computing->result;
	const struct retention_costs *costs = computing->nodes->costs;
	struct graph_search search = {.graph = computing->graph,
				      .costs = costs ? &costs->graph : NULL,
				      .parents = result->parents,
				      .distances = result->distances,
				      .without = GRAPH_NONE};
	int error;

	forget_ways(computing);
	error = graph_search_begin(&search);
	if (!error)
		error = graph_search_from(&search, result->blocks, result->strong,
					  costs ? costs->groups : NULL);
	for (enum span_kind kind = SPAN_THROUGH; !error && kind < SPAN_MAX_; kind++)
		error = graph_search_from(
			&search, spans[kind].from, spans[kind].count,
			costs ? costs->groups + (spans[kind].from - result->blocks) : NULL);
	result->prices = TAKE_PTR(search.reached_at);
	graph_search_end(&search);
	return error;
}

static int count_led(struct computing *computing)
{
	struct retention *result = computing->result;
	_cleanup_free_ uint32_t *roots = retention_roots(result);

	if (!roots)
		return -ENOMEM;
	for (uint32_t i = 0; i < result->blocks; i++) {
		if (roots[i] == ROOT_NONE)
			continue;
		result->led[roots[i]].blocks++;
		result->led[roots[i]].bytes += computing->sizes[i];
	}
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

	if (!result->owners)
		result->owners = malloc(((size_t)result->blocks + 1) * sizeof(uint32_t));
	if (!list || !result->owners)
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
 * A group retains the blocks that no other group reaches: groups have no predecessors, so a group
 * dominates the nodes all of whose paths come from it. Dominance is found round by round: a node
 * reached in a round has its holder there; references found in later rounds are only passing.
 */
#define SEVERAL (GRAPH_NONE - 1)

/* The groups of a round, and the steps that count in it. */
struct round {
	uint32_t from, count; /* nodes */
	bool firm;	      /* only firm steps */
	bool again;	      /* continues the previous round's groups, with all steps */
};

#define ROUNDS 6

/* The holders of nodes found so far. */
struct labelling {
	const struct computing *computing;
	uint32_t *labels; /* of nodes: a group; SEVERAL; GRAPH_NONE: none so far */
	uint8_t *rounds;  /* of nodes: the round that reached it, plus 1; 0: none */
	VEC(uint32_t) stack;
	uint8_t round;
};

static int label(struct labelling *labelling, uint32_t node, uint32_t group)
{
	uint32_t *open;

	if (!labelling->rounds[node]) {
		labelling->rounds[node] = labelling->round;
		labelling->labels[node] = group;
	} else if (labelling->rounds[node] == labelling->round &&
		   labelling->labels[node] != group && labelling->labels[node] != SEVERAL) {
		labelling->labels[node] = SEVERAL;
	} else {
		return 0;
	}
	open = vec_push(&labelling->stack);
	if (!open)
		return -ENOMEM;
	*open = node;
	return 0;
}

static int label_targets(struct labelling *labelling, uint32_t node, bool firm)
{
	const struct graph *graph = labelling->computing->graph;
	const struct retention_costs *costs = labelling->computing->nodes->costs;
	int error = 0;

	for (uint32_t i = graph->first[node]; !error && i < graph->first[node + 1]; i++) {
		if (firm && costs->graph.edges[i] >= costs->graph.passing)
			continue;
		error = label(labelling, graph->targets[i], labelling->labels[node]);
	}
	return error;
}

static int label_all(struct labelling *labelling, bool firm)
{
	int error = 0;

	while (!error && labelling->stack.count)
		error = label_targets(labelling, labelling->stack.items[--labelling->stack.count],
				      firm);
	return error;
}

static int run_round(struct labelling *labelling, const struct round *round)
{
	uint32_t nodes = round->again ? labelling->computing->graph->nodes : 0;
	int error = 0;

	labelling->round++;
	for (uint32_t node = 0; !error && node < nodes; node++) {
		if (labelling->rounds[node] && labelling->rounds[node] < labelling->round)
			error = label_targets(labelling, node, round->firm);
		if (!error)
			error = label_all(labelling, round->firm);
	}
	for (uint32_t i = round->from; !error && !round->again && i < round->from + round->count;
	     i++)
		error = label(labelling, i, i);
	return error ? error : label_all(labelling, round->firm);
}

static size_t list_rounds(const struct retention_nodes *nodes, struct round rounds[ROUNDS])
{
	uint32_t strong = nodes->blocks, weak = strong + nodes->strong;
	uint32_t stay = nodes->lasting + nodes->staying;
	size_t count = 0;

	if (nodes->costs)
		rounds[count++] = (struct round){.from = strong, .count = stay, .firm = true};
	rounds[count++] = (struct round){.from = strong, .count = stay, .again = nodes->costs};
	rounds[count++] = (struct round){.from = strong + stay, .count = nodes->strong - stay};
	rounds[count++] = (struct round){.from = weak, .count = nodes->through};
	rounds[count++] = (struct round){.from = weak + nodes->through,
					 .count = nodes->weak - nodes->through - nodes->stale};
	rounds[count++] =
		(struct round){.from = weak + nodes->weak - nodes->stale, .count = nodes->stale};
	return count;
}

static int find_retained(struct computing *computing)
{
	struct retention *result = computing->result;
	size_t nodes = computing->graph->nodes;
	_cleanup_free_ uint32_t *labels = malloc((nodes + 1) * sizeof(*labels));
	_cleanup_free_ uint8_t *reached = calloc(nodes + 1, 1);
	struct labelling labelling = {.computing = computing, .labels = labels, .rounds = reached};
	struct round rounds[ROUNDS];
	size_t count = list_rounds(computing->nodes, rounds);
	int error = 0;

	if (!labels || !reached)
		return -ENOMEM;
	memset(labels, 0xff, nodes * sizeof(*labels));
	for (size_t i = 0; !error && i < count; i++)
		error = run_round(&labelling, &rounds[i]);
	vec_free(&labelling.stack);
	for (uint32_t i = 0; !error && i < result->blocks; i++) {
		if (labels[i] >= SEVERAL)
			continue;
		result->retained[labels[i] - result->blocks] += computing->sizes[i];
		result->retained_blocks[labels[i] - result->blocks]++;
	}
	return error;
}

static int allocate(struct retention *retention)
{
	size_t groups = (size_t)retention->strong + retention->weak;
	size_t nodes = retention->blocks + groups + 1;

	retention->verdicts = malloc((size_t)retention->blocks + 1);
	retention->passing = calloc((size_t)retention->blocks / 64 + 1, sizeof(uint64_t));
	retention->parents = malloc(nodes * sizeof(uint32_t));
	retention->distances = calloc(nodes, sizeof(uint32_t));
	retention->retained = calloc(groups + 1, sizeof(uint64_t));
	retention->retained_blocks = calloc(groups + 1, sizeof(uint64_t));
	retention->led = calloc(groups + 1, sizeof(*retention->led));
	if (!retention->led || !retention->verdicts || !retention->passing || !retention->parents ||
	    !retention->distances || !retention->retained || !retention->retained_blocks)
		return -ENOMEM;
	memset(retention->verdicts, VERDICT_LOST, retention->blocks);
	memset(retention->parents, 0xff, nodes * sizeof(uint32_t));
	return 0;
}

/*
 * Large arrays are allocated late and freed early: for a hundred million blocks each array by node
 * takes 400 MB.
 */
static int compute(struct computing *computing)
{
	struct span spans[SPAN_MAX_];
	int error = allocate(computing->result);

	if (error)
		return error;
	spans_of(computing->nodes, spans);
	error = find_verdicts(computing, spans);
	if (!error)
		error = find_paths(computing, spans);
	if (!error)
		error = count_led(computing);
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
	struct computing computing = {
		.graph = graph, .sizes = sizes, .nodes = nodes, .result = &made};
	int error = compute(&computing);

	if (error)
		return error;
	*retention = made;
	made = (struct retention){0};
	return 0;
}

/* The retraction of verdicts on blocks, and on those lost or stale below them. */
struct taking {
	const struct graph *graph;
	const uint64_t *sizes;
	struct retention *retention;
	uint32_t *roots; /* of blocks; NULL: no stale groups */
	uint32_t *stack;
	size_t depth;
};

/* Returns the stale group that leads to a block; ROOT_NONE: none. */
static uint32_t stale_root(const struct taking *taking, uint32_t block)
{
	const struct retention *retention = taking->retention;
	uint32_t root = taking->roots ? taking->roots[block] : ROOT_NONE;

	return root != ROOT_NONE && root >= retention->strong + retention->weak - retention->stale
		       ? root
		       : ROOT_NONE;
}

/* Removes a block from the amounts of its group. */
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

/* Each block is pushed once. */
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

int retention_search_without(const struct graph *graph, const struct retention *retention,
			     const struct retention_costs *costs, uint32_t without,
			     struct retention *other)
{
	size_t bytes = (size_t)graph->nodes * sizeof(uint32_t);
	struct graph_search search = {.graph = graph,
				      .costs = &costs->graph,
				      .parents = malloc(bytes),
				      .without = without};
	int error = search.parents ? 0 : -ENOMEM;

	if (!error) {
		memset(search.parents, 0xff, bytes);
		error = graph_search_begin(&search);
	}
	if (!error)
		error = graph_search_from(&search, retention->blocks, retention->strong,
					  costs->groups);
	*other = (struct retention){.blocks = retention->blocks,
				    .strong = retention->strong,
				    .weak = retention->weak,
				    .parents = search.parents,
				    .prices = TAKE_PTR(search.reached_at)};
	graph_search_end(&search);
	if (error)
		retention_search_free(other);
	return error;
}

void retention_search_free(struct retention *other)
{
	free(other->parents);
	free(other->prices);
	*other = (struct retention){0};
}

void retention_free(struct retention *retention)
{
	free(retention->verdicts);
	free(retention->passing);
	free(retention->parents);
	free(retention->distances);
	free(retention->prices);
	free(retention->owners);
	free(retention->retained);
	free(retention->led);
	free(retention->retained_blocks);
	*retention = (struct retention){0};
}
