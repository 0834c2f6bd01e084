// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cancel: `go` cancels 100 threads, each of which holds a block that its cleanup handler frees. A
 * careless return probe would break the unwinder that runs then. Exits with 42 on `leave` if every
 * thread was cancelled and cleaned up.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "workload.h"

static struct truth truth;
static atomic_int cleaned, cancelled;

static void clean_up(void *block)
{
	free(block);
	atomic_fetch_add(&cleaned, 1);
}

static SITE void hold_and_wait(void *ready)
{
	void *block = OPAQUE(malloc(128));

	pthread_cleanup_push(clean_up, block);
	pthread_barrier_wait(ready);
	for (;;)
		pause();
	pthread_cleanup_pop(1);
}

static void *victim(void *ready)
{
	hold_and_wait(ready);
	return NULL;
}

static void go(void)
{
	for (int i = 0; i < 100; i++) {
		pthread_barrier_t ready;
		pthread_t thread;
		void *result;

		pthread_barrier_init(&ready, NULL, 2);
		if (pthread_create(&thread, NULL, victim, &ready))
			_exit(115);
		pthread_barrier_wait(&ready);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		if (result == PTHREAD_CANCELED)
			atomic_fetch_add(&cancelled, 1);
	}
}

static void leave(void)
{
	_exit(cleaned == 100 && cancelled == 100 ? 42 : 1);
}

int main(void)
{
	static const struct command commands[] = {
		{.name = "go", .run = go},
		{.name = "leave", .run = leave, .silent = true},
	};

	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
