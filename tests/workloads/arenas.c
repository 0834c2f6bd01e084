// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * arenas [THREADS [BLOCKS]]: threads that fill separate heaps. Of every four blocks one is kept in
 * a global, one freed, one kept, one lost; none is small enough for a thread's cache, so the freed
 * ones are free chunks between the others, and some of these are split again. `truth` answers how
 * many blocks and usable bytes of all heaps are kept, and how many are lost.
 */
#include "workload.h"

#include <malloc.h>
#include <pthread.h>

#define MAX_THREADS 16
#define MAX_BLOCKS 4096
#define FATE(i) ((i) % 4)
enum { FREED = 1, LOST = 3 };

static void *kept[MAX_THREADS][2 * MAX_BLOCKS];
static size_t thread_count, block_count;
static uint64_t kept_blocks, kept_bytes, lost_blocks, lost_bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t filled;

static SITE void *make(size_t size)
{
	return calloc(1, size);
}

static void count(const void *block, uint64_t *blocks, uint64_t *bytes)
{
	*blocks += 1;
	*bytes += malloc_usable_size((void *)block);
}

static SITE void fill(void **own)
{
	for (size_t i = 0; i < block_count; i++)
		own[i] = make(1500 + i % 100 * 16);
	for (size_t i = 0; i < block_count; i++) {
		if (FATE(i) == LOST)
			count(own[i], &lost_blocks, &lost_bytes);
		else if (FATE(i) == FREED)
			free(own[i]);
		if (FATE(i) == LOST || FATE(i) == FREED)
			own[i] = NULL;
	}
	for (size_t i = 0; i < block_count / 8; i++)
		own[block_count + i] = make(1100);
	for (size_t i = 0; i < 2 * block_count; i++) {
		if (own[i])
			count(own[i], &kept_blocks, &kept_bytes);
	}
}

static SITE void wipe(void)
{
	volatile char stack[16384];

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
}

static void *run(void *own)
{
	pthread_mutex_lock(&lock);
	fill(own);
	wipe();
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&filled);
	for (;;)
		pause();
	return NULL;
}

static void go(void)
{
	pthread_barrier_init(&filled, NULL, (unsigned)thread_count + 1);
	for (size_t i = 0; i < thread_count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, kept[i]))
			abort();
	}
	pthread_barrier_wait(&filled);
}

static void print_truth(void)
{
	say("{\"kept_blocks\":%lu,\"kept_bytes\":%lu,\"lost_blocks\":%lu,\"lost_bytes\":%lu}\n",
	    kept_blocks, kept_bytes, lost_blocks, lost_bytes);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "go", .run = go},
		{.name = "truth", .run = print_truth, .silent = true},
	};
	static const struct truth truth = {0};

	thread_count = argument(argc, argv, 1, 4);
	block_count = argument(argc, argv, 2, 1000);
	if (thread_count > MAX_THREADS || block_count > MAX_BLOCKS)
		return 2;
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
