// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jemalloc_stats: fills jemalloc in one way after the other, and says what it counts itself while
 * nothing is allocated. `truth` answers with mallctl("stats.*") after a new epoch.
 *
 *   mixed    blocks of many sizes, every third freed
 *   large    blocks above the size of slabs
 *   threads  16 threads, with blocks in use and others in their caches, which live on
 *   drop     frees all but every 1000th block of `mixed`
 *   flush    empties this thread's cache
 *   purge    gives all free pages back
 *   lose     forgets 100 blocks of 48 bytes, 20 of 3000 and one of 100000
 */
#include "workload.h"

#include <jemalloc/jemalloc.h>
#include <pthread.h>

#define BLOCKS 60000
#define LARGE 40
#define THREADS 16

static void *blocks[BLOCKS], *large[LARGE];
static pthread_barrier_t filled;

static void *make(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	memset(block, 1, size);
	return OPAQUE(block);
}

static void mixed(void)
{
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = make(1 + i % 113 * 131);
	for (size_t i = 0; i < BLOCKS; i += 3) {
		free(blocks[i]);
		blocks[i] = NULL;
	}
}

static void drop(void)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		if (i % 1000 == 1)
			continue;
		free(blocks[i]);
		blocks[i] = NULL;
	}
}

static void make_large(void)
{
	for (size_t i = 0; i < LARGE; i++)
		large[i] = make(20000 + i * 300000);
	for (size_t i = 0; i < LARGE; i += 4) {
		free(large[i]);
		large[i] = NULL;
	}
}

static void *run(void *context)
{
	void *own[2000];

	(void)context;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		own[i] = make(8 + i % 50 * 200);
	for (size_t i = 0; i < ARRAY_SIZE(own); i += 2)
		free(own[i]);
	pthread_barrier_wait(&filled);
	for (;;)
		pause();
	return NULL;
}

static void threads(void)
{
	pthread_barrier_init(&filled, NULL, THREADS + 1);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, NULL))
			abort();
	}
	pthread_barrier_wait(&filled);
}

static void flush(void)
{
	if (mallctl("thread.tcache.flush", NULL, NULL, NULL, 0))
		abort();
}

static void purge(void)
{
	if (mallctl("arena.4096.purge", NULL, NULL, NULL, 0))
		abort();
}

/* Where the last one's address was left, that of one that is kept is left in the end. */
static void lose_blocks(size_t count, size_t size)
{
	static void *volatile kept[64];
	static size_t used;

	for (size_t i = 0; i < count; i++)
		make(size);
	for (size_t i = 0; i < 4; i++)
		kept[used++ % ARRAY_SIZE(kept)] = make(size);
}

static void lose(void)
{
	lose_blocks(100, 48);
	lose_blocks(20, 3000);
	lose_blocks(1, 100000);
}

static size_t figure(const char *name)
{
	size_t value = 0, size = sizeof(value);

	if (mallctl(name, &value, &size, NULL, 0))
		abort();
	return value;
}

static void tell(void)
{
	uint64_t epoch = 1;

	/* The first one makes room for the figures. */
	for (int i = 0; i < 2; i++)
		mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
	say("{\"allocated\":%zu,\"active\":%zu,\"metadata\":%zu,\"mapped\":%zu,\"retained\":%zu,"
	    "\"cached\":%zu,\"internal\":%zu,\"dirty\":%zu,\"muzzy\":%zu}\n",
	    figure("stats.allocated"), figure("stats.active"), figure("stats.metadata"),
	    figure("stats.mapped"), figure("stats.retained"),
	    figure("stats.arenas.4096.tcache_bytes"), figure("stats.arenas.4096.internal"),
	    figure("stats.arenas.4096.pdirty") * 4096, figure("stats.arenas.4096.pmuzzy") * 4096);
}

int main(void)
{
	static const struct command commands[] = {
		{.name = "mixed", .run = mixed},     {.name = "large", .run = make_large},
		{.name = "threads", .run = threads}, {.name = "drop", .run = drop},
		{.name = "flush", .run = flush},     {.name = "purge", .run = purge},
		{.name = "lose", .run = lose},	     {.name = "truth", .run = tell, .silent = true},
	};

	static const struct truth truth = {0};

	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
