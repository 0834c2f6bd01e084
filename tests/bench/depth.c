// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * depth [MS [FRAMES]]: the cost of a malloc and a free FRAMES (20) deep in the stack. The answers
 * are "PAIRS NANOSECONDS", for at least MS milliseconds (300):
 *
 *   same      from one and the same place each time: the previous walk can be used again
 *   changing  from two places in turn
 *   probed    see probed.h
 */
#include <time.h>

#include "probed.h"

#define BATCH 1000
/* Between main()'s caller and the recursion, and from its end to malloc: see `frames`. */
#define OTHER_FRAMES 9

static struct truth truth;
static uint64_t budget_ns, depth;

static SITE void pair_here(void)
{
	free(OPAQUE(malloc(100)));
}

static SITE void pair_there(void)
{
	free(OPAQUE(malloc(101)));
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

/* One place to call from: it is the pair's own that differs, or not. */
static SITE uint64_t run(void (*const places[2])(void), uint64_t *elapsed)
{
	uint64_t start = now_ns(), count = 0;

	for (*elapsed = 0; *elapsed < budget_ns; count += BATCH) {
		for (unsigned i = 0; i < BATCH; i++)
			places[i & 1]();
		*elapsed = now_ns() - start;
	}
	return count;
}

/* The first run warms up. */
static SITE void descend(uint64_t level, void (*const places[2])(void))
{
	uint64_t elapsed, count;

	if (level) {
		descend(level - 1, places);
	} else {
		run(places, &elapsed);
		count = run(places, &elapsed);
		say("%lu %lu\n", count, elapsed);
	}
	__asm__ volatile("# no tail call");
}

static void same(void)
{
	descend(depth, (void (*const[])(void)){pair_here, pair_here});
}

static void changing(void)
{
	descend(depth, (void (*const[])(void)){pair_here, pair_there});
}

/* To inspect the stack itself. */
static SITE void leak(void)
{
	OPAQUE(malloc(100));
}

static SITE void leak_deep(uint64_t level)
{
	if (level)
		leak_deep(level - 1);
	else
		leak();
	__asm__ volatile("# no tail call");
}

static void go(void)
{
	leak_deep(depth + 1);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "same", .run = same, .silent = true},
		{.name = "changing", .run = changing, .silent = true},
		{.name = "probed", .run = probed, .silent = true},
		{.name = "go", .run = go},
	};
	uint64_t frames;

	budget_ns = argument(argc, argv, 1, 300) * 1000000;
	frames = argument(argc, argv, 2, 20);
	depth = frames > OTHER_FRAMES ? frames - OTHER_FRAMES : 0;
	free(OPAQUE(malloc(100)));
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
