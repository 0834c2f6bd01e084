// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pair [MS]: what a malloc and a free cost. The answers are numbers:
 *
 *   time      "PAIRS NANOSECONDS" of pairs of 100 bytes, for at least MS milliseconds (300)
 *   probed    how many of malloc and free have a breakpoint as their first byte: monitors that
 *             say nothing when they are ready show it so
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CPU_SET */
#endif
#include <sched.h>
#include <time.h>

#include "../workloads/workload.h"

#define BATCH 1000
#define BREAKPOINT 0xcc

static struct truth truth;
static uint64_t budget_ns;

static SITE void pairs(void)
{
	for (unsigned i = 0; i < BATCH; i++)
		free(OPAQUE(malloc(100)));
}

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

	for (*elapsed = 0; *elapsed < budget_ns; count += BATCH) {
		pairs();
		*elapsed = now_ns() - start;
	}
	return count;
}

/* The first run warms up: heaptrack, for one, is slower in its first moments. */
static void measure(void)
{
	uint64_t elapsed, count;

	run(&elapsed);
	count = run(&elapsed);
	say("%lu %lu\n", count, elapsed);
}

static bool has_breakpoint(uintptr_t function)
{
	return *(volatile const unsigned char *)function == BREAKPOINT;
}

static void probed(void)
{
	say("%d\n", has_breakpoint((uintptr_t)malloc) + has_breakpoint((uintptr_t)free));
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
	stay();
	free(OPAQUE(malloc(100)));
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
