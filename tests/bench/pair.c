// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pair [MS] [threads]: the cost of a malloc and a free, or a pthread_create and its join. The
 * answers are numbers:
 *
 *   time      "PAIRS NANOSECONDS" of pairs (of 100 bytes), for at least MS milliseconds (300)
 *   probed    how many of malloc and free have a breakpoint as their first byte: the only
 *             sign of readiness of some monitors
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CPU_SET */
#endif
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "probed.h"

#define BATCH 1000
#define THREAD_BATCH 50

static struct truth truth;
static uint64_t budget_ns;

static SITE unsigned pairs(void)
{
	for (unsigned i = 0; i < BATCH; i++)
		free(OPAQUE(malloc(100)));
	return BATCH;
}

static void *thread_run(void *argument)
{
	return argument;
}

static SITE unsigned thread_pairs(void)
{
	for (unsigned i = 0; i < THREAD_BATCH; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, thread_run, NULL) || pthread_join(thread, NULL))
			abort();
	}
	return THREAD_BATCH;
}

static unsigned (*batch)(void) = pairs;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

/* Pairs made in at least budget_ns, and the nanoseconds they took. */
static uint64_t run(uint64_t *elapsed)
{
	uint64_t start = now_ns(), count = 0;

	for (*elapsed = 0; *elapsed < budget_ns;) {
		count += batch();
		*elapsed = now_ns() - start;
	}
	return count;
}

/* The first run warms up: heaptrack, for one, starts slowly. */
static void measure(void)
{
	uint64_t elapsed, count;

	run(&elapsed);
	count = run(&elapsed);
	say("%lu %lu\n", count, elapsed);
}

/* One CPU, always the same, so that repetitions compare. */
static void stay(void)
{
	cpu_set_t set;
	int last = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set))
			last = i;
	CPU_ZERO(&set);
	CPU_SET(last, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "time", .run = measure, .silent = true},
		{.name = "probed", .run = probed, .silent = true},
	};

	budget_ns = argument(argc, argv, 1, 300) * 1000000;
	/* A new thread runs where the kernel puts it, as in other programs. */
	if (argc > 2)
		batch = thread_pairs;
	else
		stay();
	free(OPAQUE(malloc(100)));
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
