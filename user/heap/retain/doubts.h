/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words that may be numbers. A program that is not position-independent has malloc's heap below 4
 * GiB: a hash, a flag, a length of 32 bits can equal an address in a block, and one such word would
 * hold a whole lost structure.
 *
 * A word below 4 GiB that does not point to the start of a block, or that is a variable and a
 * multiple of 64 KiB, is in doubt if the blocks of that size take a megabyte and hardly another
 * word points to that offset in one of them, as links between structures do; or if it is neither
 * aligned, nor on a stack, nor the start with a tag. Registers are exempt.
 *
 * A word of a runtime's memory that the runtime does not describe is also in doubt if it points
 * inside a malloc block.
 *
 * Blocks that other words lead to are held by these alone. If there are none, a word of a runtime
 * stays an edge with EDGE_DOUBTFUL; a number becomes a root that proves nothing (NUMBER_WORD).
 */
#ifndef LEAKMON_RETAIN_DOUBTS_H
#define LEAKMON_RETAIN_DOUBTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

struct heap_graph;
struct heap_image;

enum doubt_source { DOUBT_BLOCK, DOUBT_VARIABLE, DOUBT_STACK };

struct doubt {
	uint32_t index; /* of an edge, or of a word in graph->roots */
	uint32_t place; /* offset in the target, in bytes */
	bool is_root;
	bool is_aligned; /* or the start with a tag, or on a stack, where cursors are */
};

struct doubts {
	VEC(struct doubt) list;	   /* in order of their words */
	struct hash counts, known; /* words by size of block and offset; words counted */
	bool managed;		   /* some edges have EDGE_DOUBTFUL */
};

/*
 * Records a word, of the next edge or root, that holds `value`, which points into a block, if it
 * may be a number. Returns 0 or -ENOMEM.
 */
int doubts_add(struct doubts *doubts, const struct heap_graph *graph, uint32_t target,
	       uint64_t value, uint32_t index, enum doubt_source source);

/* Decides, once all words are known. Returns 0 or -ENOMEM. */
int doubts_settle(const struct doubts *doubts, const struct heap_image *heap_image,
		  struct heap_graph *graph);
void doubts_free(struct doubts *doubts);

#endif
