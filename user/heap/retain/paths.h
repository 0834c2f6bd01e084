/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cheapest paths from roots to blocks (path_costs.h), and the pattern that most blocks of a class
 * share: the same root, and step by step the same field and the same class. Consecutive equal steps
 * count as one, and so do up to 8 alternating steps, so that the blocks of one list share a
 * pattern; and among many adjacent pointers (PATH_WIDE and more) their positions are not
 * distinguished, so that those of one table do, too.
 *
 * A returned path has at most 16 steps: its ends are of interest.
 */
#ifndef LEAKMON_RETAIN_PATHS_H
#define LEAKMON_RETAIN_PATHS_H

#include "heap/retain/classes.h"
#include "heap/retain/root_groups.h"

/* From the previous block (first: the root) through its word at `offset` to a block. */
struct path_step {
	uint64_t offset; /* STEP_NOWHERE: reported by a runtime without a word */
	uint32_t label;	 /* then: the runtime's name of the reference, or 0 */
	uint32_t width;	 /* number of adjacent pointers, including this one */
	uint32_t class, block;
	uint32_t repeated; /* number of consecutive such steps: 1 and more */
	/*
	 * `turn` steps, 2 to 8, beginning with this one, are repeated `turns` times; the last turn
	 * is shown. 0: not repeated.
	 */
	uint32_t turn, turns;
	uint32_t skipped; /* number of steps left out before this one; each counts */
	/*
	 * `repeated` steps from one block of the class to another use a few fields in any order, as
	 * in a tree: the number of fields, 2 and more, and the fields; `offset` and `label` are
	 * then meaningless. 0: one field.
	 */
	uint32_t branches, top; /* top: the block where they begin */
	struct path_field {
		uint64_t offset;
		uint32_t label;
	} fields[PATH_BRANCHES_MAX];
};

#define PATH_TURN_MAX 8
#define PATH_END_MAX 8 /* steps kept at either end */

struct path {
	uint32_t group;
	VEC(struct path_step) steps;
	struct referrer_tree referrers; /* of a class: see referrers.h */
	/* number of sampled blocks with this pattern, and of samples; 1, 1: one block's */
	uint64_t sharing, sampled;
	/*
	 * If it ends in a run of one class: the length of that run, including blocks beyond this
	 * one. Not exact: it branches, and one branch was followed, or it is a ring. 0: no run.
	 */
	uint64_t chain;
	bool chain_exact;
	bool tree; /* chain: number of blocks in the tree that the last step descends */
	struct retained_pile pile; /* classes and root by their numbers here */
	/*
	 * The nearest object on the path that refers weakly to garbage holds the block until a
	 * collection finds that garbage: the garbage's class, plus 1. 0: none.
	 */
	uint32_t awaited;
};

struct path_maker {
	const struct heap_graph *graph;
	const struct root_groups *groups;
	const struct classes *classes;
	const struct retention *retention;
	const struct retention_costs *costs; /* by which paths are chosen; NULL: equal costs */
};

/* Finds the path to one block. Returns 0; -ENOENT: nothing holds it; -ENOMEM. */
int path_find(const struct path_maker *maker, uint32_t block, struct path *path);

/*
 * Finds the cheapest path to a block from another root than its own path's, if it costs at most a
 * simple step more. Returns 0; -ENOENT: none, or the graph is too large to search in time; -ENOMEM.
 */
int path_find_other(const struct path_maker *maker, uint32_t block, struct path *path);

/*
 * Finds the most frequent pattern among up to 300 held blocks of class `class`. Returns 0; -ENOENT:
 * none of them is held; -ENOMEM. *path is untouched on failure.
 */
int path_find_typical(const struct path_maker *maker, uint32_t class, struct path *path);
void path_free(struct path *path);

#endif
