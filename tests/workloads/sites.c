// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sites [COUNT]: `go` leaks one block from each of COUNT (10,000) distinct call stacks. The bits
 * of a number choose which of two functions each level of the recursion enters, so two numbers
 * never share a stack. Sizes run from 1 to 64 bytes.
 */
#include "workload.h"

#define LEVELS 14

static struct truth truth = {.sites[0] = {.function = "leak_leaf"}};
static unsigned count;

static void step(unsigned number, unsigned level);

static SITE void leak_leaf(unsigned number)
{
	size_t size = number % 64 + 1;

	OPAQUE(malloc(size));
	truth_born(&truth, 0, size);
}

/* The differing comments keep the compiler from folding the two functions into one. */
static SITE void step_zero(unsigned number, unsigned level)
{
	step(number, level);
	__asm__ volatile("# zero");
}

static SITE void step_one(unsigned number, unsigned level)
{
	step(number, level);
	__asm__ volatile("# one");
}

static SITE void step(unsigned number, unsigned level)
{
	if (level == LEVELS)
		leak_leaf(number);
	else if (number >> level & 1)
		step_one(number, level + 1);
	else
		step_zero(number, level + 1);
	__asm__ volatile("# step");
}

static void go(void)
{
	for (unsigned number = 0; number < count; number++)
		step(number, 0);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {{.name = "go", .run = go}};

	count = argument(argc, argv, 1, 10000);
	if (count > 1u << LEVELS)
		return 2;
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
