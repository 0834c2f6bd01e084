// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * graph_many [BLOCKS [SIZE [WRITERS]]]: one global holds a table of chains of BLOCKS blocks of SIZE
 * bytes (10,000,000 of 192); `go` builds it, then WRITERS threads (0) keep rewriting a 64th of it.
 */
#include "../workloads/workload.h"

#include <pthread.h>

#define CHAIN 5 /* blocks in a chain, on average */

struct node {
	struct node *next;
	void *owner;
	uint64_t words[];
};

static struct node **table; /* the root */
static size_t count, size, writers;

static void *rewrite(void *argument)
{
	for (size_t i = (uintptr_t)argument;; i += writers) {
		struct node *node = table[i * 64 % (count / CHAIN)];

		if (node)
			node->words[0]++;
	}
	return NULL;
}

static void go(void)
{
	pthread_t thread;

	table = calloc(count / CHAIN, sizeof(*table));
	for (size_t i = 0; i < count; i++) {
		struct node *node = malloc(size);
		size_t chain = i * 2654435761u % (count / CHAIN);

		memset(node, (int)i | 1, size);
		node->next = table[chain];
		node->owner = &table[chain];
		table[chain] = node;
	}
	for (size_t i = 0; i < writers; i++)
		pthread_create(&thread, NULL, rewrite, (void *)i);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {{.name = "go", .run = go}};
	static const struct truth truth = {0};

	count = argument(argc, argv, 1, 10000000);
	size = argument(argc, argv, 2, 192);
	writers = argument(argc, argv, 3, 0);
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
