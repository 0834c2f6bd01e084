/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fills an allocator in one way after the other; `truth` answers with its own statistics, while
 * nothing is allocated. A program for each allocator includes this, and defines its functions.
 *
 *   mixed    blocks of many sizes, every third freed
 *   large    blocks above the size of slabs
 *   threads  16 threads, that live on, with blocks in use and others in their caches
 *   cross    frees the blocks of those threads from here
 *   drop     frees all but every 1000th block of `mixed`
 *   lose     forgets 100 blocks of 48 bytes, 20 of 3000 and one of 100000
 *   flush    empties this thread's cache
 *   purge    gives all free pages back
 *   truth    prints its statistics
 */
#ifndef LEAKMON_ALLOCATOR_STATS_H
#define LEAKMON_ALLOCATOR_STATS_H

#include "mixed_blocks.h"

#include <pthread.h>

static void flush(void);
static void purge(void);
static void print_truth(void);
/*
 * Called in one of the threads when it has allocated all its blocks, and before `cross` frees a
 * block.
 */
static void thread_filled(void);
static void crossed(void *block);

#define LARGE 40
#define THREADS 16

static void *large[LARGE];
static pthread_barrier_t filled;
static const struct mix mix = {.count = MIXED_BLOCKS_MAX, .smallest = 1, .sizes = 113, .step = 131};

static void mixed(void)
{
	mixed_make(&mix);
}

static void drop(void)
{
	mixed_drop(&mix);
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

static void *shared[THREADS][500];

static void *run(void *context)
{
	void *volatile own[2000];
	void **given = context;

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		own[i] = make(8 + i % 50 * 200);
	for (size_t i = 0; i < ARRAY_SIZE(own); i += 2) {
		free(own[i]);
		own[i] = NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(shared[0]); i++)
		given[i] = make(8 + i % 50 * 200);
	thread_filled();
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

		if (pthread_create(&thread, NULL, run, shared[i]))
			abort();
	}
	pthread_barrier_wait(&filled);
}

static void cross(void)
{
	for (size_t i = 0; i < THREADS; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(shared[i]); j += 2) {
			crossed(shared[i][j]);
			free(shared[i][j]);
			shared[i][j] = NULL;
		}
	}
}

/* The place of the last address ends up with the address of a kept block. */
static void lose_blocks(size_t count, size_t size)
{
	static void *volatile kept[64];
	static size_t used;

	for (size_t i = 0; i < count; i++)
		make(size);
	for (size_t i = 0; i < 4; i++)
		kept[used++ % ARRAY_SIZE(kept)] = make(size);
}

/* Left-over words of the allocator on the stack. */
static SITE void scrub(void)
{
	volatile char stack[16384];

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
}

static void lose(void)
{
	lose_blocks(100, 48);
	lose_blocks(20, 3000);
	lose_blocks(1, 100000);
	scrub();
}

int main(void)
{
	static const struct command commands[] = {
		{.name = "mixed", .run = mixed},
		{.name = "large", .run = make_large},
		{.name = "threads", .run = threads},
		{.name = "drop", .run = drop},
		{.name = "cross", .run = cross},
		{.name = "flush", .run = flush},
		{.name = "purge", .run = purge},
		{.name = "lose", .run = lose},
		{.name = "truth", .run = print_truth, .silent = true},
	};

	static const struct truth truth = {0};

	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}

#endif
