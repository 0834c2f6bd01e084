/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holders of blocks: verdicts, retained sizes, cheapest paths. Pure computation.
 *
 * Nodes 0 to blocks - 1 of the graph are blocks; the others are groups of roots, strong ones (known
 * to be in use) before weak ones (memory of which nobody knows what it is). A block that strong
 * roots reach is held; what only weak roots reach may be held; the rest is lost.
 *
 * The path to a block is the cheapest one from a strong root, if any leads there: what steps and
 * roots cost says how certain and how plain they are (struct retention_costs). What a group leads
 * to is what these paths end at, so each block that is held counts for one group; of the weak ones,
 * one that a strong root leads to, if there is any, and a stale one only if there is no other.
 *
 * What a group retains is what would be lost without it. What only passes by is no second holder: a
 * group that may be gone in a moment, beside one that stays; a step that costs as much as
 * graph_costs.passing, beside one that costs less; a weak group beside a strong one.
 */
#ifndef LEAKMON_ANALYZE_RETENTION_H
#define LEAKMON_ANALYZE_RETENTION_H

#include <stdbool.h>

#include "report/analyze/graph.h"
#include "report/retain_result.h"

struct retention {
	uint32_t blocks, strong, weak; /* counts of nodes, in this order */
	uint32_t stale;		       /* of the weak ones, the last ones */
	uint8_t *verdicts;	       /* of blocks: enum verdict */
	uint64_t *passing;	       /* a bit per block: held, but by no group that lasts */
	uint32_t *parents;	       /* of nodes: on the path from a root; itself: a root */
	uint32_t *distances;	       /* of nodes that are held: steps from a root on that path */
	uint32_t *prices;	       /* of blocks that are held: what that path costs */
	uint32_t *owners;	       /* of lost blocks: the direct leak they are lost with */
	uint64_t *retained;	       /* of groups, strong then weak */
	uint64_t *retained_blocks;     /* likewise, in blocks */
	struct retention_total *led;   /* of groups: what each leads to */
	struct retention_total totals[VERDICT_MAX_];
	struct retention_total direct, indirect; /* of the lost */
	struct retention_total
		through; /* of the untracked: what a strong root leads to after all */
};

/* Prices of paths; borrowed. */
struct retention_costs {
	struct graph_costs graph;
	const uint8_t *groups; /* of each group, strong then weak: what a path from it costs more */
};

/* Nodes of a graph, in this order; first among the strong ones come `lasting` ones, behind them
 * `staying` ones, which are as good for a path and what they retain, though they are stacks; first
 * among the weak ones `through` ones, that a strong root leads to; last among them `stale` ones. */
struct retention_nodes {
	uint32_t blocks, strong, weak, lasting, staying, through, stale;
	const struct retention_costs *costs; /* NULL: every step costs one */
};

/*
 * sizes: of blocks. The graph has blocks + strong + weak + 1 nodes: the last one leads to all
 * groups. 0 or -ENOMEM, then *retention is untouched.
 */
int retention_compute(const struct graph *graph, const uint64_t *sizes,
		      const struct retention_nodes *nodes, struct retention *retention);

/*
 * Blocks that may be held after all, though they are lost, or only stale groups lead to them: they,
 * and what is lost or stale only with them, become untracked, and no group leads to them. Others
 * among the doubtful stay as they are. 0 or -ENOMEM.
 */
int retention_take_back(const struct graph *graph, const uint64_t *sizes, const uint32_t *doubtful,
			uint32_t count, struct retention *retention);
void retention_free(struct retention *retention);

/* Whether a block is held, though by no group that lasts: only stacks and registers lead there. */
static inline bool retention_is_passing(const struct retention *retention, uint32_t block)
{
	return retention->passing[block / 64] >> block % 64 & 1;
}

/*
 * Paths from other strong groups than `without` (a node): fills parents and prices, of all nodes,
 * which the caller frees. 0 or -ENOMEM, then they are NULL.
 */
int retention_search_without(const struct graph *graph, const struct retention *retention,
			     const struct retention_costs *costs, uint32_t without,
			     struct retention *other);
void retention_search_free(struct retention *other);

#define ROOT_NONE UINT32_MAX

/*
 * The group of roots that each block's path begins at, by block; ROOT_NONE: nothing holds
 * it. An array that the caller frees, or NULL: out of memory.
 */
uint32_t *retention_roots(const struct retention *retention);

#endif
