// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * holder [ENTRIES [LOST]]: a cache behind a global that is never trimmed, and a list with its
 * only pointer overwritten. `ledger` prints the truth on its own heap.
 *
 *   cache        global, holds a table of ENTRIES pointers; each entry holds a value of its own
 *   lost list    LOST nodes, the first without a pointer to it
 *   lost ring    10 nodes in an unreferenced ring
 */
#include "workload.h"

#include <malloc.h>

struct entry {
	char key[40];
	char *value;
};

struct cache {
	uint64_t hits;
	size_t count;
	struct entry **table;
};

struct node {
	struct node *next;
	char payload[56];
};

static struct cache *cache;
static size_t entries, lost;
static uint64_t cache_bytes, lost_bytes, ring_bytes;

static SITE char *make_value(size_t i)
{
	char *value = malloc(100);

	snprintf(value, 100, "value %zu", i);
	cache_bytes += malloc_usable_size(value);
	return value;
}

static SITE void fill_cache(void)
{
	cache = calloc(1, sizeof(*cache));
	cache->table = calloc(entries, sizeof(*cache->table));
	cache->count = entries;
	cache_bytes += malloc_usable_size(cache) + malloc_usable_size(cache->table);
	for (size_t i = 0; i < entries; i++) {
		struct entry *entry = calloc(1, sizeof(*entry));

		snprintf(entry->key, sizeof(entry->key), "key %zu", i);
		entry->value = make_value(i);
		cache->table[i] = entry;
		cache_bytes += malloc_usable_size(entry);
	}
}

static SITE void lose_list(void)
{
	struct node *volatile head = NULL;

	for (size_t i = 0; i < lost; i++) {
		struct node *node = calloc(1, sizeof(*node));

		node->next = head;
		head = node;
		lost_bytes += malloc_usable_size(node);
	}
	head = NULL;
}

static SITE void lose_ring(void)
{
	struct node *first = calloc(1, sizeof(*first)), *last = first;

	ring_bytes += malloc_usable_size(first);
	for (size_t i = 1; i < 10; i++) {
		last->next = calloc(1, sizeof(*last));
		last = last->next;
		ring_bytes += malloc_usable_size(last);
	}
	last->next = first;
}

/* Left-over words of calls, below and in registers, must not hold anything. */
static SITE void wipe(void)
{
	volatile char stack[16384];

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
	for (size_t i = 0; i < sizeof(stack); i++)
		(void)stack[i];
}

static void go(void)
{
	fill_cache();
	lose_list();
	lose_ring();
	wipe();
}

/* A list held by a global and never trimmed: 100 more. */
static struct job {
	struct job *next;
	char body[192];
} * jobs;

static SITE void chain(void)
{
	for (int i = 0; i < 100; i++) {
		struct job *job = calloc(1, sizeof(*job));

		job->next = jobs;
		jobs = job;
	}
	wipe();
}

/* A write before the start of a block: over the size of its chunk. */
static void corrupt(void)
{
	uint64_t *block = (uint64_t *)cache->table[entries / 2];

	block[-1] = 0x4141414141414141;
	say("{\"corrupt\":%lu}\n", (uint64_t)block - 16);
}

static void print_truth(void)
{
	say("{\"cache_blocks\":%zu,\"cache_bytes\":%lu,\"lost_blocks\":%zu,\"lost_bytes\":%lu,"
	    "\"ring_blocks\":10,\"ring_bytes\":%lu}\n",
	    2 + 2 * entries, cache_bytes, lost, lost_bytes, ring_bytes);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "go", .run = go},
		{.name = "chain", .run = chain},
		{.name = "truth", .run = print_truth, .silent = true},
		{.name = "corrupt", .run = corrupt, .silent = true},
	};
	static const struct truth truth = {0};

	entries = argument(argc, argv, 1, 1000);
	lost = argument(argc, argv, 2, 300);
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
