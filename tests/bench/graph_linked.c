// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * graph_linked [BLOCKS]: half of BLOCKS blocks (8,000,000) are in 1,000 doubly linked lists, the
 * others in 1,000 binary trees with parent pointers; `go` builds them. A block has two pointers to
 * others on average.
 */
#include "../workloads/workload.h"

#define STRUCTURES 1000

struct list_node {
	struct list_node *next, *previous;
	uint64_t value;
};

struct tree_node {
	struct tree_node *left, *right, *parent;
	uint64_t value;
};

static struct list_node *lists[STRUCTURES]; /* the roots */
static struct tree_node *trees[STRUCTURES];
static size_t count;

static struct list_node *make_list(size_t nodes)
{
	struct list_node *head = NULL;

	for (size_t i = 0; i < nodes; i++) {
		struct list_node *node = malloc(sizeof(*node));

		*node = (struct list_node){head, NULL, i};
		if (head)
			head->previous = node;
		head = node;
	}
	return head;
}

static struct tree_node *make_tree(size_t nodes, struct tree_node *parent)
{
	struct tree_node *node = nodes ? malloc(sizeof(*node)) : NULL;

	if (!node)
		return NULL;
	*node = (struct tree_node){NULL, NULL, parent, nodes};
	node->left = make_tree((nodes - 1) / 2, node);
	node->right = make_tree(nodes - 1 - (nodes - 1) / 2, node);
	return node;
}

static void go(void)
{
	for (size_t i = 0; i < STRUCTURES; i++) {
		lists[i] = make_list(count / 2 / STRUCTURES);
		trees[i] = make_tree(count / 2 / STRUCTURES, NULL);
	}
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {{.name = "go", .run = go}};
	static const struct truth truth = {0};

	count = argument(argc, argv, 1, 8000000);
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
