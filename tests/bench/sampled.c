// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sampled [MS]: a program that samples itself, and allocates 100,000 times a second beside other
 * work. The answers are numbers:
 *
 *   time      "PAIRS NANOSECONDS" of CPU time, of pairs of malloc and free (of 1 KiB) with their
 * work, for at least MS milliseconds (300)
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <time.h>

#include "workloads/sampler.h"
#include "workloads/workload.h"

#define BATCH 1000
#define PAIR_NS 10000
#define PAIR_BYTES 1024

static struct truth truth;
static uint64_t budget_ns, work = 1;

/* CPU time, the kernel's part included: other load matters less. */
static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

static SITE void work_do(void)
{
	for (uint64_t i = 0; i < work; i++)
		__asm__ volatile("" : : : "memory");
}

static SITE void pair(void)
{
	size_t size = OPAQUE((size_t)PAIR_BYTES);
	void *pointer = OPAQUE(malloc(size));
	uint64_t weight = otel_memory_alloc_semaphore ? sample_weight(size) : 0;

	if (weight)
		STAP_PROBE3(otel_memory, alloc, pointer, size, weight);
	work_do();
	if (weight && otel_memory_free_semaphore)
		STAP_PROBE1(otel_memory, free, pointer);
	free(pointer);
}

/* Calibrates the work that fills the time of a pair, for the desired rate. */
static void calibrate(void)
{
	uint64_t start, took;

	do {
		work *= 2;
		start = now_ns();
		for (unsigned i = 0; i < BATCH; i++)
			work_do();
		took = now_ns() - start;
	} while (took < (uint64_t)BATCH * PAIR_NS);
	work = work * BATCH * PAIR_NS / took;
}

static void measure(void)
{
	uint64_t start = now_ns(), count = 0, elapsed;

	do {
		for (unsigned i = 0; i < BATCH; i++)
			pair();
		count += BATCH;
		elapsed = now_ns() - start;
	} while (elapsed < budget_ns);
	say("%lu %lu\n", count, elapsed);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "time", .run = measure, .silent = true},
	};

	budget_ns = argument(argc, argv, 1, 300) * 1000000;
	sampler_start(1);
	calibrate();
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
