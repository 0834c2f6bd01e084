// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nester: a function that calls itself 150 levels deep, and allocates on each level. Another tool
 * may have put a return probe on it (`-S nest_`).
 *
 *   go       100 blocks of 16 bytes, then on each of 150 levels one of 24, by malloc on the even
 *            levels and by realloc(NULL) on the odd ones
 *   resize   those of 24 are resized to 40 on the levels of as deep a call
 *   free     and freed there
 */
#include "workload.h"

#define LEVELS 150

enum { FLAT, LEVEL };

static struct truth truth = {
	.sites =
		{
			[FLAT] = {.function = "flat_allocate"},
			[LEVEL] = {.function = "nest_malloc"},
		},
};
static void *blocks[LEVELS];

/* In the form of an allocator: the pending call counts. */
void *nest_malloc(size_t left, void (*visit)(size_t));
void nest_free(void *block);

SITE void *nest_malloc(size_t left, void (*visit)(size_t))
{
	if (!left)
		return NULL;
	visit(LEVELS - left);
	return OPAQUE(nest_malloc(left - 1, visit));
}

SITE void nest_free(void *block)
{
	OPAQUE(block);
}

static SITE void level_allocate(size_t i)
{
	blocks[i] = i & 1 ? OPAQUE(realloc(NULL, 24)) : OPAQUE(malloc(24));
	truth_born(&truth, LEVEL, 24);
}

static SITE void level_resize(size_t i)
{
	blocks[i] = OPAQUE(realloc(blocks[i], 40));
	truth_died(&truth, LEVEL, 24);
	truth_born(&truth, LEVEL, 40);
}

static SITE void level_free(size_t i)
{
	free(blocks[i]);
	truth_died(&truth, LEVEL, 40);
}

static SITE void flat_allocate(void)
{
	for (int i = 0; i < 100; i++) {
		OPAQUE(malloc(16));
		truth_born(&truth, FLAT, 16);
	}
}

static void go(void)
{
	flat_allocate();
	nest_malloc(LEVELS, level_allocate);
}

static void resize(void)
{
	nest_malloc(LEVELS, level_resize);
}

static void release(void)
{
	nest_malloc(LEVELS, level_free);
}

int main(void)
{
	static const struct command commands[] = {
		{.name = "go", .run = go},
		{.name = "resize", .run = resize},
		{.name = "free", .run = release},
	};

	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
