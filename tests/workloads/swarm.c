// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * swarm [THREADS]: that many threads (2,000) that wait. `go` lets each of them, at the same time
 * alive, allocate three blocks of 48 bytes and free one of them.
 */
#include <pthread.h>

#include "workload.h"

#define PER_THREAD 3

static struct truth truth = {.sites = {{.function = "leak_thread"}}};
static pthread_barrier_t begin, end;
static size_t thread_count;

static SITE void *leak_thread(void)
{
	return OPAQUE(malloc(48));
}

static void *run(void *context)
{
	for (;;) {
		void *first;

		pthread_barrier_wait(&begin);
		first = leak_thread();
		for (int i = 1; i < PER_THREAD; i++)
			leak_thread();
		free(first);
		pthread_barrier_wait(&end);
	}
	return context;
}

static void go(void)
{
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	for (size_t i = 0; i < thread_count; i++) {
		for (int j = 0; j < PER_THREAD; j++)
			truth_born(&truth, 0, 48);
		truth_died(&truth, 0, 48);
	}
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {{.name = "go", .run = go}};
	pthread_attr_t attributes;

	thread_count = argument(argc, argv, 1, 2000);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	pthread_barrier_init(&begin, NULL, (unsigned)thread_count + 1);
	pthread_barrier_init(&end, NULL, (unsigned)thread_count + 1);
	for (size_t i = 0; i < thread_count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attributes, run, NULL))
			return 1;
	}
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
