// SPDX-License-Identifier: GPL-2.0-or-later
/* Groups of roots become nodes of the graph. */
#include <errno.h>

#include "base/cleanup.h"
#include "retain/root_grouper.h"

enum rank { RANK_LASTING, RANK_STRONG, RANK_THROUGH, RANK_WEAK, RANK_MAX_ };

static enum rank rank_of(const struct root_group *group)
{
	static const enum rank ranks[] = {
		[ROOT_GLOBAL] = RANK_LASTING,  [ROOT_THREAD_LOCAL] = RANK_LASTING,
		[ROOT_KERNEL] = RANK_LASTING,  [ROOT_STACK] = RANK_STRONG,
		[ROOT_REGISTER] = RANK_STRONG, [ROOT_UNTRACKED] = RANK_WEAK,
	};

	_Static_assert(ARRAY_SIZE(ranks) == ROOT_KIND_MAX_, "a rank for every kind");
	return group->holder ? RANK_THROUGH : ranks[group->kind];
}

static void count_ranks(struct root_groups *groups, uint32_t at[RANK_MAX_ + 1])
{
	for (size_t i = 0; i < groups->list.count; i++)
		at[rank_of(&groups->list.items[i]) + 1]++;
	groups->lasting = at[RANK_LASTING + 1];
	groups->strong = groups->lasting + at[RANK_STRONG + 1];
	groups->through = at[RANK_THROUGH + 1];
	groups->weak = groups->through + at[RANK_WEAK + 1];
	for (size_t i = 1; i <= RANK_MAX_; i++)
		at[i] += at[i - 1];
}

/* Puts the groups in order of rank, and what names them to their new places. */
static int order(struct grouper *grouper)
{
	struct root_groups *groups = grouper->groups;
	size_t count = groups->list.count;
	_cleanup_free_ uint32_t *places = calloc(count + 1, sizeof(*places));
	struct root_group *sorted = calloc(count + 1, sizeof(*sorted));
	uint32_t at[RANK_MAX_ + 1] = {0};

	if (!places || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	count_ranks(groups, at);
	for (size_t i = 0; i < count; i++) {
		places[i] = at[rank_of(&groups->list.items[i])]++;
		sorted[places[i]] = groups->list.items[i];
	}
	for (size_t i = 0; i < count; i++) {
		if (sorted[i].holder)
			sorted[i].holder = places[sorted[i].holder - 1] + 1;
	}
	free(groups->list.items);
	groups->list.items = sorted;
	groups->list.capacity = count + 1;
	for (size_t i = 0; i < grouper->graph->roots.count; i++)
		groups->word_groups[i] = places[groups->word_groups[i]];
	return 0;
}

/* Takes out words that are none after all, and counts what is left. */
static void keep_words(struct grouper *grouper)
{
	struct heap_graph *graph = grouper->graph;
	uint32_t *words = grouper->groups->word_groups;
	size_t kept = 0;

	for (size_t i = 0; i < graph->roots.count; i++) {
		if (words[i] == GROUP_NONE)
			continue;
		grouper->groups->list.items[words[i]].words++;
		graph->roots.items[kept] = graph->roots.items[i];
		words[kept++] = words[i];
	}
	graph->roots.count = kept;
}

/* Where each group's edges begin, behind those of the blocks and of the groups before. */
static void place_edges(const struct root_groups *groups, struct graph *graph, uint32_t blocks)
{
	uint32_t edges = graph->first[blocks];

	for (size_t i = 0; i < groups->list.count; i++) {
		edges += (uint32_t)groups->list.items[i].words;
		graph->first[blocks + i + 1] = edges;
	}
	graph->first[blocks + groups->list.count + 1] = edges + (uint32_t)groups->list.count;
}

static int add_nodes(struct heap_graph *heap, const struct root_groups *groups)
{
	struct graph *graph = &heap->graph;
	uint32_t blocks = heap->blocks, count = (uint32_t)groups->list.count;
	uint64_t edges = (uint64_t)graph->first[blocks] + heap->roots.count + count;
	_cleanup_free_ uint32_t *cursors = NULL;
	uint32_t *first, *targets;

	if (edges >= GRAPH_NONE || (uint64_t)blocks + count >= GRAPH_NONE - 16)
		return -ENOMEM;
	first = reallocarray(graph->first, (size_t)blocks + count + 2, sizeof(*first));
	if (first)
		graph->first = first;
	targets = reallocarray(graph->targets, edges + 1, sizeof(*targets));
	if (targets)
		graph->targets = targets;
	cursors = malloc(((size_t)count + 1) * sizeof(*cursors));
	if (!first || !targets || !cursors)
		return -ENOMEM;
	place_edges(groups, graph, blocks);
	memcpy(cursors, first + blocks, count * sizeof(*cursors));
	for (size_t i = 0; i < heap->roots.count; i++)
		targets[cursors[groups->word_groups[i]]++] = heap->roots.items[i].target;
	for (uint32_t i = 0; i < count; i++)
		targets[first[blocks + count] + i] = blocks + i;
	graph->nodes = blocks + count + 1;
	return 0;
}

int root_nodes_add(struct grouper *grouper)
{
	int err;

	keep_words(grouper);
	err = order(grouper);
	return err ? err : add_nodes(grouper->graph, grouper->groups);
}
