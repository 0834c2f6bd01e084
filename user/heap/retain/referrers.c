// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/referrers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SAMPLES_MAX 2000
#define STEPS_MAX (1u << 20) /* over all samples: chains can be millions long */
#define NODES_MAX (1u << 16)
#define DEPTH_MAX 24
#define ROWS_MAX 60
#define SHARE_MIN 100 /* a branch with less than one part in this many is left out */

struct node {
	struct retained_referrer row;
	uint32_t parent; /* plus 1; 0: none */
};

struct tree {
	const struct path_maker *maker;
	VEC(struct node) nodes;
	struct hash index;	/* parents and elements -> nodes plus 1 */
	VEC(uint32_t) sequence; /* classes from a block up */
	uint64_t steps;
};

/*
 * Collects the classes from a block up to its root, whose number it returns. Memory that belongs to
 * an object counts as that object.
 */
static int climb(struct tree *tree, uint32_t block, uint32_t *group)
{
	const struct path_maker *maker = tree->maker;
	const struct retention *retention = maker->retention;
	uint32_t node = block;

	tree->sequence.count = 0;
	while (node < retention->blocks) {
		uint32_t parent = retention->parents[node], class = maker->classes->of_blocks[node];
		uint32_t *added;

		if (heap_graph_counts(maker->graph, node) || parent >= retention->blocks ||
		    maker->classes->of_blocks[parent] != class) {
			added = vec_push(&tree->sequence);
			if (!added)
				return -ENOMEM;
			*added = class;
		}
		tree->steps++;
		node = parent;
	}
	*group = node - retention->blocks;
	return 0;
}

/* Returns how often the `period` classes from `at` on are repeated in sequence. */
static size_t repeats(const struct tree *tree, size_t at, size_t period)
{
	const uint32_t *sequence = tree->sequence.items;
	size_t end = at + period;

	if (end > tree->sequence.count)
		return 0;
	while (end < tree->sequence.count && sequence[end] == sequence[end - period])
		end++;
	return (end - at) / period;
}

/* Takes the shortest repeated turn of classes, else one class. */
static size_t take_element(const struct tree *tree, size_t at, struct retained_referrer *row)
{
	size_t period = 1, times = 1;

	for (size_t i = 1; i <= REFERRER_PERIOD_MAX && times < 2; i++) {
		period = i;
		times = repeats(tree, at, i);
	}
	if (times < 2)
		period = times = 1;
	*row = (struct retained_referrer){
		.root = RESULT_NONE, .period = (uint32_t)period, .least = times, .most = times};
	memcpy(row->classes, tree->sequence.items + at, period * sizeof(*row->classes));
	return at + period * times;
}

static uint64_t element_hash(uint32_t parent, const struct retained_referrer *row)
{
	uint64_t hash = hash_mix((uint64_t)parent << 32 | row->root);

	for (uint32_t i = 0; i < row->period; i++)
		hash = hash_mix(hash ^ ((uint64_t)row->classes[i] + 1));
	return hash_mix(hash + row->period);
}

/*
 * Counts one block more in the node below `parent` with such an element. Returns it; 0: out of
 * memory.
 */
static uint32_t count_element(struct tree *tree, uint32_t parent,
			      const struct retained_referrer *row, uint64_t bytes)
{
	uint64_t *place;
	struct node *node;

	if (tree->nodes.count >= NODES_MAX && !hash_get(&tree->index, element_hash(parent, row)))
		return parent;
	place = hash_put(&tree->index, element_hash(parent, row), NULL);
	if (!place)
		return 0;
	if (!*place) {
		node = vec_push(&tree->nodes);
		if (!node)
			return 0;
		*node = (struct node){*row, parent};
		node->row.depth = parent ? tree->nodes.items[parent - 1].row.depth + 1 : 0;
		*place = tree->nodes.count;
	}
	node = &tree->nodes.items[*place - 1];
	node->row.blocks++;
	node->row.bytes += bytes;
	node->row.least = MIN(node->row.least, row->least);
	node->row.most = MAX(node->row.most, row->most);
	return (uint32_t)*place;
}

static int count_block(struct tree *tree, uint32_t block)
{
	uint64_t bytes = tree->maker->graph->sizes[block];
	struct retained_referrer row;
	uint32_t group, at = 0;
	size_t place = 0;
	int error = climb(tree, block, &group);

	if (error)
		return error;
	for (size_t i = 0; place < tree->sequence.count && i < DEPTH_MAX; i++) {
		place = take_element(tree, place, &row);
		at = count_element(tree, at, &row, bytes);
		if (!at)
			return -ENOMEM;
	}
	row = (struct retained_referrer){.root = group, .least = 1, .most = 1};
	return count_element(tree, at, &row, bytes) ? 0 : -ENOMEM;
}

static int count_blocks(struct tree *tree, uint32_t class, struct referrer_tree *made)
{
	const struct path_maker *maker = tree->maker;
	const struct block_class *wanted = &maker->classes->list.items[class];
	uint64_t held =
		wanted->verdicts[VERDICT_HELD].blocks + wanted->verdicts[VERDICT_UNTRACKED].blocks;
	uint64_t every = MAX((held + SAMPLES_MAX - 1) / SAMPLES_MAX, 1), seen = 0;
	int error = 0;

	for (uint32_t i = 0; !error && i < maker->graph->blocks && tree->steps < STEPS_MAX; i++) {
		if (maker->classes->of_blocks[i] != class || !heap_graph_counts(maker->graph, i) ||
		    maker->retention->parents[i] == GRAPH_NONE || seen++ % every != 0)
			continue;
		error = count_block(tree, i);
		made->sampled++;
	}
	made->held = held;
	return error ? error : made->sampled ? 0 : -ENOENT;
}

/* Rows in display order. */

static int compare_nodes(const void *left_pointer, const void *right_pointer)
{
	const struct node *left = left_pointer, *right = right_pointer;

	if (left->row.blocks != right->row.blocks)
		return left->row.blocks < right->row.blocks ? 1 : -1;
	return left->row.bytes < right->row.bytes ? 1 : left->row.bytes > right->row.bytes ? -1 : 0;
}

/* Adds the nodes below a node, largest first. */
static int show_below(const struct tree *tree, uint32_t parent, struct referrer_tree *made)
{
	VEC(struct node) below = {0};
	int error = 0;

	for (size_t i = 0; !error && i < tree->nodes.count; i++) {
		const struct node *node = &tree->nodes.items[i];
		struct node *added;

		if (node->parent != parent || node->row.blocks * SHARE_MIN < made->sampled)
			continue;
		added = vec_push(&below);
		if (!added)
			error = -ENOMEM;
		else
			*added = (struct node){node->row, (uint32_t)i + 1};
	}
	if (below.count)
		qsort(below.items, below.count, sizeof(*below.items), compare_nodes);
	for (size_t i = 0; !error && i < below.count && made->rows.count < ROWS_MAX; i++) {
		struct retained_referrer *row = vec_push(&made->rows);

		if (row)
			*row = below.items[i].row;
		error = row ? show_below(tree, below.items[i].parent, made) : -ENOMEM;
	}
	vec_free(&below);
	return error;
}

int referrers_find(const struct path_maker *maker, uint32_t class, struct referrer_tree *tree)
{
	struct tree found = {.maker = maker};
	struct referrer_tree made = {0};
	int error = count_blocks(&found, class, &made);

	if (!error)
		error = show_below(&found, 0, &made);
	vec_free(&found.nodes);
	vec_free(&found.sequence);
	hash_free(&found.index);
	if (error)
		vec_free(&made.rows);
	else
		*tree = made;
	return error;
}
