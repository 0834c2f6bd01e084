/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cheapest paths from roots to blocks (path_costs.h), and the pattern that most blocks of a class
 * share: the same root, and step by step the same field and the same class. Equal steps in a row
 * count as one, and so do up to 8 steps that take turns, so that the blocks of one list share a
 * pattern; and where many pointers stand beside each other (PATH_WIDE and more) it is no matter
 * which one it is, so that those of one table do, too.
 *
 * A path that is returned has at most 16 steps: its ends are what people look for.
 */
#ifndef LEAKMON_RETAIN_PATHS_H
#define LEAKMON_RETAIN_PATHS_H

#include "heap/retain/classes.h"
#include "heap/retain/root_groups.h"

/* From the block before (first: the root) through its word at `offset` to a block. */
struct path_step {
	uint64_t offset; /* STEP_NOWHERE: a runtime says that it refers to it */
	uint32_t label;	 /* then: what that calls the reference, or 0 */
	uint32_t width;	 /* how many pointers there are where this one stands */
	uint32_t class, block;
	uint32_t repeated; /* how many such steps follow each other: 1 and more */
	/* With this step begin `turn` steps, 2 to 8, that follow each other `turns` times; the last
	 * time is named. 0: they do not. */
	uint32_t turn, turns;
	uint32_t skipped; /* so many steps before this one are left out; each counts */
	/* `repeated` steps from one block of the class to another go by a few fields in any order,
	 * as in a tree: so many, 2 and more, and which ones; `offset` and `label` say nothing then.
	 * 0: by one. */
	uint32_t branches, top; /* top: the block that they begin at */
	struct path_field {
		uint64_t offset;
		uint32_t label;
	} fields[PATH_BRANCHES_MAX];
};

#define PATH_TURN_MAX 8
#define PATH_END_MAX 8 /* steps of either end that are kept */

struct path {
	uint32_t group;
	VEC(struct path_step) steps;
	struct referrer_tree referrers; /* of a class: see referrers.h */
	uint64_t sharing, sampled; /* so many of the blocks looked at share it; 1, 1: one block's */
	/* Where it ends in a run of one class: the length of that run, beyond the block, too. Not
	 * exact: it branches there, and one branch was followed, or it is a ring. 0: no run. */
	uint64_t chain;
	bool chain_exact;
	bool tree; /* chain: how many blocks the tree has that the last step goes down in */
	struct retained_pile pile; /* classes and root by their numbers here */
	/* The nearest object on the path that refers weakly to garbage holds the block until a
	 * collection finds that: the garbage's class, plus 1. 0: there is none. */
	uint32_t awaited;
};

struct path_maker {
	const struct heap_graph *graph;
	const struct root_groups *groups;
	const struct classes *classes;
	const struct retention *retention;
	const struct retention_costs *costs; /* of which the paths are made; NULL: equal ones */
};

/* The path to one block. 0; -ENOENT: nothing holds it; -ENOMEM. */
int path_find(const struct path_maker *maker, uint32_t block, struct path *path);

/*
 * The cheapest path to a block from another root than its path begins at, if it costs a plain step
 * more at most. 0; -ENOENT: there is none, or the graph is so large that searching takes too long;
 * -ENOMEM.
 */
int path_find_other(const struct path_maker *maker, uint32_t block, struct path *path);

/*
 * The most frequent pattern among up to 300 blocks that are held, of those for which class is
 * `class`. 0; -ENOENT: none of them is held; -ENOMEM. *path is untouched on failure.
 */
int path_find_typical(const struct path_maker *maker, uint32_t class, struct path *path);
void path_free(struct path *path);

#endif
