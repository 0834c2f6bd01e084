// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/collect/ranges.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct range_node {
	struct range range;
	uint64_t priority; /* never below its children's */
	struct range_node *left, *right;
};

/* xorshift64 (Marsaglia, "Xorshift RNGs", 2003), seeded by the set's address. */
static uint64_t priority_next(struct ranges *ranges)
{
	uint64_t random = ranges->random;

	if (!random)
		random = (uint64_t)(uintptr_t)ranges * 0x9E3779B97F4A7C15ull | 1;
	random ^= random << 13;
	random ^= random >> 7;
	random ^= random << 17;
	return ranges->random = random;
}

/* Everything of `left` lies below everything of `right`. */
static struct range_node *merge(struct range_node *left, struct range_node *right)
{
	if (!left || !right)
		return left ? left : right;
	if (left->priority > right->priority) {
		left->right = merge(left->right, right);
		return left;
	}
	right->left = merge(left, right->left);
	return right;
}

/* Splits off the ranges that start below `address` to *left, the others to *right. */
static void split(struct range_node *node, uint64_t address, struct range_node **left,
		  struct range_node **right)
{
	if (!node) {
		*left = *right = NULL;
	} else if (node->range.start < address) {
		*left = node;
		split(node->right, address, &node->right, right);
	} else {
		*right = node;
		split(node->left, address, left, &node->left);
	}
}

/* Returns the range with `address` inside, not at its start. */
static struct range_node *straddling(struct range_node *node, uint64_t address)
{
	while (node) {
		if (address <= node->range.start)
			node = node->left;
		else if (address >= node->range.end)
			node = node->right;
		else
			return node;
	}
	return NULL;
}

/* Adds a node; cannot fail. */
static void add(struct ranges *ranges, struct range_node *node)
{
	struct range_node *left, *right;

	node->left = node->right = NULL;
	node->priority = priority_next(ranges);
	split(ranges->root, node->range.start, &left, &right);
	ranges->root = merge(merge(left, node), right);
}

int ranges_insert(struct ranges *ranges, uint64_t start, uint64_t end, const struct range_tag *tag)
{
	struct range_node *node;

	if (start >= end)
		return -EINVAL;
	node = malloc(sizeof(*node));
	if (!node)
		return -ENOMEM;
	node->range = (struct range){.start = start, .end = end, .tag = *tag};
	add(ranges, node);
	return 0;
}

/* Cuts the range across `address`, if any, in two; then uses up *spare. */
static void cut_at(struct ranges *ranges, uint64_t address, struct range_node **spare)
{
	struct range_node *node = straddling(ranges->root, address), *rest = *spare;

	if (!node)
		return;
	*spare = NULL;
	rest->range = node->range;
	rest->range.start = address;
	node->range.end = address;
	add(ranges, rest);
}

int ranges_cut(struct ranges *ranges, uint64_t start, uint64_t end, struct ranges *taken)
{
	struct range_node *low, *rest, *middle, *high, *spares[2];

	*taken = (struct ranges){0};
	if (start >= end)
		return 0;
	spares[0] = malloc(sizeof(*spares[0]));
	spares[1] = malloc(sizeof(*spares[1]));
	if (spares[0] && spares[1]) {
		cut_at(ranges, start, &spares[0]);
		cut_at(ranges, end, &spares[1]);
		split(ranges->root, start, &low, &rest);
		split(rest, end, &middle, &high);
		ranges->root = merge(low, high);
		taken->root = middle;
		free(spares[0]);
		free(spares[1]);
		return 0;
	}
	free(spares[0]);
	free(spares[1]);
	return -ENOMEM;
}

void ranges_absorb(struct ranges *to, struct ranges *from)
{
	struct range_node *low, *high;

	while (from->root) {
		struct range_node *node = from->root;

		from->root = merge(node->left, node->right);
		node->left = node->right = NULL;
		split(to->root, node->range.start, &low, &high);
		to->root = merge(merge(low, node), high);
	}
}

static void shift(struct range_node *node, uint64_t distance)
{
	if (!node)
		return;
	node->range.start += distance;
	node->range.end += distance;
	shift(node->left, distance);
	shift(node->right, distance);
}

void ranges_shift(struct ranges *ranges, uint64_t distance)
{
	shift(ranges->root, distance);
}

/* A walk that holds each range back until its neighbour is known. */
struct join {
	struct range held; /* empty: none */
	range_visit visit;
	void *context;
};

static bool tag_equals(const struct range_tag *a, const struct range_tag *b)
{
	return a->born_ns == b->born_ns && a->site == b->site && a->kind == b->kind;
}

static int join_flush(struct join *join)
{
	return join->held.end ? join->visit(&join->held, join->context) : 0;
}

static int join_add(struct join *join, const struct range *range)
{
	int result;

	if (join->held.end == range->start && tag_equals(&join->held.tag, &range->tag)) {
		join->held.end = range->end;
		return 0;
	}
	result = join_flush(join);
	join->held = *range;
	return result;
}

static int walk(const struct range_node *node, struct join *join)
{
	int result;

	if (!node)
		return 0;
	result = walk(node->left, join);
	if (!result)
		result = join_add(join, &node->range);
	return result ? result : walk(node->right, join);
}

int ranges_walk(const struct ranges *ranges, range_visit visit, void *context)
{
	struct join join = {.visit = visit, .context = context};
	int result = walk(ranges->root, &join);

	return result ? result : join_flush(&join);
}

const struct range *ranges_last(const struct ranges *ranges)
{
	const struct range_node *node = ranges->root;

	while (node && node->right)
		node = node->right;
	return node ? &node->range : NULL;
}

static void release(struct range_node *node)
{
	if (!node)
		return;
	release(node->left);
	release(node->right);
	free(node);
}

void ranges_free(struct ranges *ranges)
{
	release(ranges->root);
	*ranges = (struct ranges){0};
}
