/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns a heap image into blocks and references to them: defines what counts as a pointer.
 *
 * A word at an 8-aligned address that holds an address inside [start, start + size) of a block
 * points to it; one past the end does not, nor does a block to itself. A word outside all blocks is
 * a root, unless it is in unused memory or malloc's own. So is a word in a thread's block of
 * thread-locals, even if ld.so allocated that block. Data that the loader made read-only before its
 * module ran holds nothing.
 *
 * Words that may be numbers are resolved last: see doubts.h.
 */
#ifndef LEAKMON_RETAIN_HEAP_GRAPH_H
#define LEAKMON_RETAIN_HEAP_GRAPH_H

#include "report/analyze/block_index.h"
#include "report/analyze/graph.h"
#include "base/hash.h"
#include "base/progress.h"
#include "heap/allocators/heap_image.h"
#include "heap/allocators/thread_blocks.h"
#include "heap/runtime/heap_sink.h"
#include "heap/retain/untracked.h"

/* A block watched since its allocation. */
struct tracked_block {
	uint64_t address, size;
	uint32_t site; /* the caller's numbering, from 1; 0: unknown */
};

/* The target of a block's first word (of the second if an array's length precedes it). */
struct type_word {
	uint64_t address;
	bool second;
};

struct root_word {
	uint64_t address; /* of the word; in a register: its number */
	uint32_t target;
	uint32_t thread : 31; /* of a register, plus 1; 0: in memory; or NUMBER_WORD */
	uint32_t inside : 1;  /* it does not point to the target's start */
};

/* root_word.thread of a word that may be a number. */
#define NUMBER_WORD ((uint32_t)INT32_MAX - 2)
#define TYPE_NONE UINT32_MAX
#define EDGE_LABELLED (1u << 31)
/* Without a label: the word may be a number, and no known reference leads to that block. */
#define EDGE_DOUBTFUL (1u << 30)
/* Without a label: the word does not point to its target's start. */
#define EDGE_INSIDE (1u << 29)
#define EDGE_PLACE (EDGE_INSIDE - 1)
#define REGISTER_VECTORS 64 /* from here on: words of the vector registers */

struct heap_graph {
	uint32_t blocks;	  /* nodes 0 to blocks - 1, by ascending address */
	uint64_t *starts, *sizes; /* requested sizes if known, else usable ones */
	uint32_t *sites;	  /* 0: not tracked; NULL: none is */
	uint32_t *types;	  /* in type_words, or TYPE_NONE; NULL once classes are known */
	struct block_index index;
	struct graph graph; /* blocks only, until root_groups_add() */
	/*
	 * per edge: its word's index in its source, possibly with EDGE_DOUBTFUL, EDGE_INSIDE; or
	 * EDGE_LABELLED and a label of the runtime
	 */
	uint32_t *places;
	/* per block: number of its words that point into itself, see heap_graph_is_pool() */
	uint8_t *own_words;
	uint32_t pool_libraries; /* see pool_kinds_loaded() */
	/*
	 * Classes of nodes, labels and roots, from runtimes; its whats are NULL without runtimes.
	 */
	struct heap_sink managed;
	VEC(struct type_word) type_words;
	VEC(struct root_word) roots; /* those in memory first, by ascending address */
	size_t memory_roots;
	struct untracked untracked;	      /* references through memory without known blocks */
	size_t census_blocks, tracked_blocks; /* a block known from both counts in both */
	size_t unwalked_blocks;		      /* tracked, but in no heap */
};

/* Sources of a graph; all borrowed. */
struct graph_sources {
	const struct heap_image *heap_image;
	const struct data_modules *modules;
	const struct thread_blocks *locals;
	const struct tracked_block *tracked; /* sorted by address; may be NULL */
	size_t tracked_count;
	/* Finds objects of runtimes, as runtime_walk_heaps() does; NULL: none are looked for. */
	int (*walk)(const struct maps *maps, const struct heap_image *kept,
		    const struct data_modules *modules, struct heap_sink *sink);
	struct intern *strings;	   /* for their names */
	struct progress *progress; /* NULL: not shown */
	double from, to;	   /* range within the whole work, 0 to 1 */
};

/* Builds the graph. *graph is untouched on failure. Returns 0 or -ENOMEM. */
int heap_graph_build(const struct graph_sources *sources, struct heap_graph *graph);
void heap_graph_free(struct heap_graph *graph);

/* Returns a node's class in its runtime: a class, NODE_OWN or NODE_PLAIN. */
static inline uint32_t heap_graph_what(const struct heap_graph *graph, uint32_t block)
{
	return graph->managed.whats ? graph->managed.whats[block] : NODE_PLAIN;
}

/*
 * Returns whether it counts as a block of its class, not as memory that belongs to another block.
 */
static inline bool heap_graph_counts(const struct heap_graph *graph, uint32_t block)
{
	uint32_t what = heap_graph_what(graph, block);

	return !node_has_class(what) || !(what & NODE_PART);
}

/*
 * Returns whether a block is a pool, handed out in parts: its head says so (pool_kinds.h), or many
 * of its words point to other places in it. Nearby places do not count: a string points to the
 * characters in itself, an empty list to its own head. The holder of the whole pool is the
 * allocator of the parts.
 */
#define POOL_WORDS 16
static inline bool heap_graph_is_pool(const struct heap_graph *graph, uint32_t block)
{
	return graph->own_words && graph->own_words[block] >= POOL_WORDS;
}

/* Returns the offset of the word of an edge without a label. */
static inline uint64_t edge_offset(uint32_t place)
{
	return (uint64_t)(place & EDGE_PLACE) * 8;
}

/* Returns the name of the register in root_word.address. */
const char *register_name(uint64_t number);

/* The blocks of a heap image: those of its heaps, and tracked ones, in one list. */

/* Fills blocks, starts, sizes, sites and the counts. Returns 0 or -ENOMEM. */
int heap_blocks_list(const struct heap_image *heap_image, const struct tracked_block *tracked,
		     size_t tracked_count, struct heap_graph *graph);

#endif
