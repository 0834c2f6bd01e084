// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/retention.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dominators.h"
#include "analyze/leak_roots.h"
#include "base/cleanup.h"

struct computing {
	const struct graph *graph;
	const uint64_t *sizes;
	struct retention *result;
};

static void mark(struct retention *retention, const uint32_t *nodes, size_t count,
		 enum verdict verdict)
{
	for (size_t i = 0; i < count; i++) {
		if (nodes[i] < retention->blocks)
			retention->verdicts[nodes[i]] = (uint8_t)verdict;
	}
}

/* Breadth first from the groups [from, from + count); *total, unless NULL, gets what they reach. */
static int reach(struct computing *computing, uint32_t from, uint32_t count, enum verdict verdict,
		 struct retention_total *total)
{
	struct retention *result = computing->result;
	_cleanup_free_ uint32_t *starts = malloc(((size_t)count + 1) * sizeof(uint32_t));
	_cleanup_free_ uint32_t *queue =
		malloc(((size_t)computing->graph->nodes + 1) * sizeof(uint32_t));
	size_t reached;

	if (!starts || !queue)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		starts[i] = from + i;
	reached = graph_reach(computing->graph, starts, count, result->parents, result->distances,
			      queue);
	mark(result, queue, reached, verdict);
	for (size_t i = 0; total && i < reached; i++) {
		total->blocks += queue[i] < result->blocks;
		total->bytes += queue[i] < result->blocks ? computing->sizes[queue[i]] : 0;
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
	int err;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < result->blocks; i++) {
		result->owners[i] = result->verdicts[i] == VERDICT_LOST ? GRAPH_NONE : 0;
		if (result->verdicts[i] == VERDICT_LOST)
			list[at++] = i;
	}
	err = leak_roots_find(computing->graph, list, lost, result->owners);
	for (uint32_t i = 0; !err && i < lost; i++) {
		struct retention_total *total =
			result->owners[list[i]] == list[i] ? &result->direct : &result->indirect;

		total->blocks++;
		total->bytes += computing->sizes[list[i]];
	}
	return err;
}

/* The verdict that a node stands for: a group, that of what it holds first. */
static uint8_t side_of(const struct retention *retention, uint32_t node)
{
	if (node < retention->blocks)
		return retention->verdicts[node];
	return node < retention->blocks + retention->strong ? VERDICT_HELD : VERDICT_UNTRACKED;
}

/* What leads from a weak root or what it holds to what is held anyway does not count. */
static int is_one_sided(const void *context, uint32_t source, uint32_t target)
{
	const struct retention *retention = context;

	if (source == retention->blocks + retention->strong + retention->weak)
		return 1;
	return side_of(retention, source) == side_of(retention, target);
}

static int take_retained(struct computing *computing, const struct dominators *dominators)
{
	struct retention *result = computing->result;
	_cleanup_free_ uint64_t *blocks = dominators_sum(dominators, NULL, result->blocks);
	_cleanup_free_ uint64_t *bytes =
		dominators_sum(dominators, computing->sizes, result->blocks);

	if (!blocks || !bytes)
		return -ENOMEM;
	for (uint32_t i = 0; i < result->strong + result->weak; i++) {
		uint32_t number = dominators->numbers[result->blocks + i];

		result->retained[i] = bytes[number];
		result->retained_blocks[i] = blocks[number];
	}
	return 0;
}

static int find_retained(struct computing *computing)
{
	struct retention *result = computing->result;
	_cleanup_(dominators_free) struct dominators dominators = {0};
	int err = dominators_find(computing->graph, computing->graph->nodes - 1, is_one_sided,
				  result, &dominators);

	return err ? err : take_retained(computing, &dominators);
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
	if (!retention->verdicts || !retention->parents || !retention->distances ||
	    !retention->owners || !retention->retained || !retention->retained_blocks)
		return -ENOMEM;
	memset(retention->verdicts, VERDICT_LOST, retention->blocks);
	memset(retention->parents, 0xff, nodes * sizeof(uint32_t));
	return 0;
}

static int compute(struct computing *computing, uint32_t through)
{
	struct retention *result = computing->result;
	uint32_t weak = result->blocks + result->strong;
	int err = allocate(result);

	if (!err)
		err = reach(computing, result->blocks, result->strong, VERDICT_HELD, NULL);
	if (!err)
		err = reach(computing, weak, through, VERDICT_UNTRACKED, &result->through);
	if (!err)
		err = reach(computing, weak + through, result->weak - through, VERDICT_UNTRACKED,
			    NULL);
	if (err)
		return err;
	sum_up(computing);
	err = find_owners(computing);
	return err ? err : find_retained(computing);
}

int retention_compute(const struct graph *graph, const uint64_t *sizes,
		      const struct retention_nodes *nodes, struct retention *retention)
{
	_cleanup_(retention_free) struct retention made = {
		.blocks = nodes->blocks, .strong = nodes->strong, .weak = nodes->weak};
	struct computing computing = {graph, sizes, &made};
	int err = compute(&computing, nodes->through);

	if (err)
		return err;
	*retention = made;
	made = (struct retention){0};
	return 0;
}

/* Everything lost below the doubtful ones. */
static int spread(const struct graph *graph, const uint32_t *doubtful, uint32_t count,
		  struct retention *retention)
{
	size_t lost = retention->totals[VERDICT_LOST].blocks, depth = 0;
	_cleanup_free_ uint32_t *stack = malloc((lost + 1) * sizeof(*stack));

	if (!stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		retention->verdicts[doubtful[i]] = VERDICT_UNTRACKED;
		stack[depth++] = doubtful[i];
	}
	while (depth) {
		uint32_t node = stack[--depth];

		for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++) {
			uint32_t target = graph->targets[i];

			if (retention->verdicts[target] != VERDICT_LOST)
				continue;
			retention->verdicts[target] = VERDICT_UNTRACKED;
			stack[depth++] = target;
		}
	}
	return 0;
}

int retention_take_back(const struct graph *graph, const uint64_t *sizes, const uint32_t *doubtful,
			uint32_t count, struct retention *retention)
{
	struct computing computing = {graph, sizes, retention};
	int err = spread(graph, doubtful, count, retention);

	if (err)
		return err;
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
	free(retention->retained_blocks);
	*retention = (struct retention){0};
}
