// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crasher: `crash` leaks 20 blocks of 300 bytes and kills itself with SIGKILL. `storm` keeps two
 * threads allocating and freeing until the process is killed or gets `calm`.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "workload.h"

#define THREADS 2

static struct truth truths[THREADS + 1], truth = {
						 .sites[0] = {.function = "leak_before_crash"},
						 .sites[1] = {.function = "storm_allocate"},
};
static atomic_bool storming;
static pthread_barrier_t start, finish;

static SITE void leak_before_crash(void)
{
	OPAQUE(malloc(300));
}

static SITE void *storm_allocate(size_t size)
{
	return OPAQUE(malloc(size));
}

static void storm_once(struct truth *mine, void **slot, size_t size)
{
	if (*slot) {
		free(*slot);
		truth_died(mine, 1, *(size_t *)(slot + 1));
		*slot = NULL;
	}
	*slot = storm_allocate(size);
	*(size_t *)(slot + 1) = size;
	truth_born(mine, 1, size);
}

static void *worker(void *argument)
{
	static __thread void *slots[256][2]; /* block and its size */

	for (;;) {
		pthread_barrier_wait(&start);
		for (size_t i = 0; atomic_load(&storming); i++)
			storm_once(argument, slots[i * 7 % 256], i % 2000);
		pthread_barrier_wait(&finish);
	}
	return NULL;
}

static void crash(void)
{
	for (int i = 0; i < 20; i++)
		leak_before_crash();
	raise(SIGKILL);
}

static void storm(void)
{
	atomic_store(&storming, true);
	pthread_barrier_wait(&start);
}

static void calm(void)
{
	atomic_store(&storming, false);
	pthread_barrier_wait(&finish);
	for (int i = 0; i < THREADS; i++) {
		truth_add(&truth, &truths[i]);
		memset(&truths[i], 0, sizeof(truths[i]));
	}
}

int main(void)
{
	static const struct command commands[] = {
		{.name = "crash", .run = crash},
		{.name = "storm", .run = storm},
		{.name = "calm", .run = calm},
	};

	pthread_barrier_init(&start, NULL, THREADS + 1);
	pthread_barrier_init(&finish, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, worker, &truths[i]))
			return 1;
	}
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
