/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Computes holders of blocks: verdicts, retained sizes, cheapest paths. Pure computation.
 *
 * Nodes 0 to blocks - 1 of the graph are blocks; the others are groups of roots, strong ones (known
 * to be in use) before weak ones (memory of unknown use). A block reachable from strong roots is
 * held; one reachable only from weak roots may be held; the rest is lost.
 *
 * The path to a block is the cheapest one from a strong root, if any: the costs of steps and roots
 * express their certainty and simplicity (struct retention_costs). A group leads to the blocks
 * whose paths begin at it, so each held block counts for one group; among weak groups, one that a
 * strong root leads to is preferred, and a stale one is used only if there is no other.
 *
 * A group retains the blocks that would be lost without it. A passing reference is no second
 * holder: a group that may be gone in a moment, beside a lasting one; a step that costs as much as
 * graph_costs.passing, beside a cheaper one; a weak group beside a strong one.
 */
#ifndef LEAKMON_ANALYZE_RETENTION_H
#define LEAKMON_ANALYZE_RETENTION_H

#include <stdbool.h>

#include "report/analyze/graph.h"
#include "report/retain_result.h"

struct retention {
	uint32_t blocks, strong, weak; /* numbers of nodes, in this order */
	uint32_t stale;		       /* the last ones of the weak */
	uint8_t *verdicts;	       /* of blocks: enum verdict */
	uint64_t *passing;	       /* a bit per block: held, but by no lasting group */
	/* of nodes: predecessor on the path from a root; itself: a root */
	uint32_t *parents;
	uint32_t *distances; /* of held nodes: steps from a root on that path */
	uint32_t *prices;    /* of held blocks: cost of that path */
	/* of lost blocks: the direct leak with which they are lost */
	uint32_t *owners;
	uint64_t *retained;	     /* of groups, strong then weak */
	uint64_t *retained_blocks;   /* as `retained`, in blocks */
	struct retention_total *led; /* of groups: the blocks that each leads to */
	struct retention_total totals[VERDICT_MAX_];
	struct retention_total direct, indirect; /* of the lost */
	/* of the untracked: blocks that a strong root leads to after all */
	struct retention_total through;
};

/* Prices of paths; borrowed. */
struct retention_costs {
	struct graph_costs graph;
	const uint8_t *groups; /* of each group, strong then weak: extra cost of a path from it */
};

/*
 * Nodes of a graph, in this order. The strong ones begin with `lasting` ones, followed by `staying`
 * ones: stacks that count as lasting for paths and retained sizes. The weak ones begin with
 * `through` ones, which a strong root leads to, and end with `stale` ones.
 */
struct retention_nodes {
	uint32_t blocks, strong, weak, lasting, staying, through, stale;
	const struct retention_costs *costs; /* NULL: every step costs one */
};

/*
 * Computes the retention. sizes: of blocks. The graph has blocks + strong + weak + 1 nodes: the
 * last one leads to all groups. Returns 0 or -ENOMEM, then *retention is untouched.
 */
int retention_compute(const struct graph *graph, const uint64_t *sizes,
		      const struct retention_nodes *nodes, struct retention *retention);

/*
 * Retracts verdicts on blocks that may be held after all, although they are lost, or only stale
 * groups lead to them: they, and blocks lost or stale only with them, become untracked, and no
 * group leads to them. Other doubtful blocks stay unchanged. Returns 0 or -ENOMEM.
 */
int retention_take_back(const struct graph *graph, const uint64_t *sizes, const uint32_t *doubtful,
			uint32_t count, struct retention *retention);
void retention_free(struct retention *retention);

/* Returns whether a block is held, but by no lasting group: only from stacks and registers. */
static inline bool retention_is_passing(const struct retention *retention, uint32_t block)
{
	return retention->passing[block / 64] >> block % 64 & 1;
}

/*
 * Finds paths from strong groups other than `without` (a node): fills parents and prices, of all
 * nodes, which the caller frees. Returns 0 or -ENOMEM, then they are NULL.
 */
int retention_search_without(const struct graph *graph, const struct retention *retention,
			     const struct retention_costs *costs, uint32_t without,
			     struct retention *other);
void retention_search_free(struct retention *other);

#define ROOT_NONE UINT32_MAX

/*
 * Returns the root group at which each block's path begins, by block; ROOT_NONE: none. The caller
 * frees the array; NULL: out of memory.
 */
uint32_t *retention_roots(const struct retention *retention);

#endif
