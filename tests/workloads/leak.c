// SPDX-License-Identifier: GPL-2.0-or-later
/* The smallest leaker: three functions, known counts, at known lines. Each `go` leaks again. */
#include "workload.h"

enum { LEAK_A, LEAK_B, LEAK_C, BALANCED };

static struct truth truth = {
	.sites =
		{
			[LEAK_A] = {.function = "leak_a"},
			[LEAK_B] = {.function = "leak_b"},
			[LEAK_C] = {.function = "leak_c"},
			[BALANCED] = {.function = "balanced"},
		},
};

#define LEAK(site, size)                                                                           \
	do {                                                                                       \
		truth.sites[site].line = __LINE__;                                                 \
		OPAQUE(malloc(size));                                                              \
		truth_born(&truth, site, size);                                                    \
	} while (0)

static SITE void leak_a(void)
{
	LEAK(LEAK_A, 100);
}

static SITE void leak_b(void)
{
	LEAK(LEAK_B, 1000);
}

static SITE void leak_c(void)
{
	LEAK(LEAK_C, 4096);
}

static SITE void balanced(void)
{
	truth.sites[BALANCED].line = __LINE__ + 1;
	void *block = OPAQUE(malloc(200));

	truth_born(&truth, BALANCED, 200);
	free(block);
	truth_died(&truth, BALANCED, 200);
}

/* One call site each, so that each function has one stack: an unrolled loop would have many. */
static SITE void repeat(void (*function)(void), int times)
{
	for (int i = 0; i < times; i++)
		function();
}

static SITE void go(void)
{
	repeat(leak_a, 10);
	repeat(leak_b, 5);
	repeat(leak_c, 3);
	repeat(balanced, 7);
	__asm__ volatile("" : : : "memory");
}

int main(void)
{
	static const struct command commands[] = {{.name = "go", .run = go}};

	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
