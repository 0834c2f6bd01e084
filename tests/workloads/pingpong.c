// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pingpong [ROUNDS]: two threads allocate and free one size as fast as they can (1,000,000 rounds
 * each), so that the same address goes back and forth. The size exceeds the allocator's thread
 * caches and there is one arena, so a block freed by one thread goes to the other. Every 8th round
 * the block changes hands before it is freed.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>

#include "workload.h"

#define THREADS 2
#define SIZE 2048

static struct truth truths[THREADS], truth;
static void *_Atomic exchange;
static pthread_barrier_t start, finish;
static uint64_t rounds;

static SITE void *bounce_allocate(void)
{
	return OPAQUE(malloc(SIZE));
}

static SITE void bounce(struct truth *mine)
{
	for (uint64_t i = 0; i < rounds; i++) {
		void *block = bounce_allocate();

		truth_born(mine, 0, SIZE);
		if (i % 8 == 0)
			block = atomic_exchange(&exchange, block);
		if (!block)
			continue;
		free(block);
		truth_died(mine, 0, SIZE);
	}
}

static void *worker(void *argument)
{
	for (;;) {
		pthread_barrier_wait(&start);
		bounce(argument);
		pthread_barrier_wait(&finish);
	}
	return NULL;
}

static void go(void)
{
	pthread_barrier_wait(&start);
	pthread_barrier_wait(&finish);
	memset(&truth, 0, sizeof(truth));
	truth.sites[0].function = "bounce_allocate";
	for (int i = 0; i < THREADS; i++)
		truth_add(&truth, &truths[i]);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {{.name = "go", .run = go}};

	rounds = argument(argc, argv, 1, 1000000);
	mallopt(M_ARENA_MAX, 1);
	pthread_barrier_init(&start, NULL, THREADS + 1);
	pthread_barrier_init(&finish, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, worker, &truths[i]))
			return 1;
	}
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
