// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pulse [MS [PAIRS]]: a server that mostly waits, 500 rounds a second by the clock, each with
 * 100 µs of work and PAIRS pairs of malloc and free (1), and every fifth keeps a block of 1 KiB.
 *
 *   time      "ROUNDS CPU P99 LONGEST" of MS milliseconds (20000): CPU time of the process, and the
 *             time from the moment at which a round was due until it was done, in nanoseconds
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <time.h>

#include "workloads/workload.h"

#define PERIOD_NS 2000000
#define WORK_NS 100000
#define KEPT_BYTES 1024
#define KEPT_EVERY 5
#define PAIR_BYTES 200
#define ROUNDS_MAX 100000

static struct truth truth;
static uint64_t rounds, pairs, took_ns[ROUNDS_MAX];
static void *kept;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

static SITE void keep(void)
{
	void **block = OPAQUE(malloc(KEPT_BYTES));

	memset(block, 1, KEPT_BYTES);
	*block = NULL;
	kept = block; /* the one before is lost */
}

static SITE void answer(void)
{
	for (uint64_t i = 0; i < pairs; i++)
		free(OPAQUE(malloc(OPAQUE((size_t)PAIR_BYTES))));
}

static void round_run(uint64_t number)
{
	uint64_t until_ns;

	answer();
	if (number % KEPT_EVERY == 0)
		keep();
	/* After the probes, whose cost is not part of the work. */
	until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + WORK_NS;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		;
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static void measure(void)
{
	uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t due_ns = clock_ns(CLOCK_MONOTONIC);

	for (uint64_t i = 0; i < rounds; i++) {
		struct timespec due;

		due_ns += PERIOD_NS;
		due = (struct timespec){due_ns / 1000000000, due_ns % 1000000000};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		round_run(i);
		took_ns[i] = clock_ns(CLOCK_MONOTONIC) - due_ns;
	}
	cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	qsort(took_ns, rounds, sizeof(*took_ns), compare);
	say("%lu %lu %lu %lu\n", rounds, cpu_ns, took_ns[rounds * 99 / 100], took_ns[rounds - 1]);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "time", .run = measure, .silent = true},
	};

	rounds = argument(argc, argv, 1, 20000) * 1000000 / PERIOD_NS;
	pairs = argument(argc, argv, 2, 1);
	if (!rounds || rounds > ROUNDS_MAX)
		return 2;
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
