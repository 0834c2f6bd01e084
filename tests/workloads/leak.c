// SPDX-License-Identifier: GPL-2.0-or-later
/* The smallest leaker: three functions, known counts, at known lines. Each `go` leaks again. */
#include "workload.h"

enum { LEAK_A, LEAK_B, LEAK_C, BALANCED };

static struct truth truth = {
	.sites = {
		[LEAK_A] = { .function = "leak_a" },
		[LEAK_B] = { .function = "leak_b" },
		[LEAK_C] = { .function = "leak_c" },
		[BALANCED] = { .function = "balanced" },
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

static SITE void go(void)
{
	for (int i = 0; i < 10; i++)
		leak_a();
	for (int i = 0; i < 5; i++)
		leak_b();
	for (int i = 0; i < 3; i++)
		leak_c();
	for (int i = 0; i < 7; i++)
		balanced();
}

int main(void)
{
	static const struct command commands[] = { { .name = "go", .run = go } };

	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
