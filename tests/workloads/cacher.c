// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cacher: events on a program's blocks inside its calls of malloc; with evictor.so preloaded.
 *
 *   fill    500 blocks of 64 bytes are handed to the library
 *   evict   400 blocks of 32 bytes are allocated; in each call the library frees one of those that
 *           it keeps. Then all of the 32 bytes but one are freed
 *   grow    100 blocks of 32 bytes are allocated; in each call the library grows one of those that
 *           it keeps to 80 bytes. All of the 32 bytes are freed
 *   inner   300 blocks of 32 bytes are allocated and freed; in each call the library allocates and
 *           frees one of its own, which the program never sees
 */
#include <dlfcn.h>

#include "workload.h"

#define KEPT 500
#define EVICTED 400
#define GROWN 100

enum { KEEP, PASS, GROW };

static struct truth truth = {
	.sites =
		{
			[KEEP] = {.function = "keep_block"},
			[PASS] = {.function = "pass_block"},
			[GROW] = {.function = "evictor_grow"},
		},
};
static void (*library_keep)(void *, size_t);
static void (*library_ask)(char);
static void *passing[KEPT];

static SITE void keep_block(void)
{
	library_keep(OPAQUE(malloc(64)), 64);
	truth_born(&truth, KEEP, 64);
}

static SITE void *pass_block(void)
{
	truth_born(&truth, PASS, 32);
	return OPAQUE(malloc(32));
}

static void pass(char what, size_t count)
{
	library_ask(what);
	for (size_t i = 0; i < count; i++)
		passing[i] = pass_block();
	library_ask(0);
}

static void end(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(passing[i]);
		truth_died(&truth, PASS, 32);
	}
}

static void fill(void)
{
	for (size_t i = 0; i < KEPT; i++)
		keep_block();
}

static void evict(void)
{
	pass('f', EVICTED);
	for (size_t i = 0; i < EVICTED; i++)
		truth_died(&truth, KEEP, 64);
	end(EVICTED - 1);
}

static void grow(void)
{
	pass('r', GROWN);
	for (size_t i = 0; i < GROWN; i++) {
		truth_died(&truth, KEEP, 64);
		truth_born(&truth, GROW, 80);
	}
	end(GROWN);
}

static void inner(void)
{
	pass('i', 300);
	end(300);
}

int main(void)
{
	static const struct command commands[] = {
		{.name = "fill", .run = fill},
		{.name = "evict", .run = evict},
		{.name = "grow", .run = grow},
		{.name = "inner", .run = inner},
	};

	library_keep = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "evictor_keep");
	library_ask = (void (*)(char))dlsym(RTLD_DEFAULT, "evictor_ask");
	if (!library_keep || !library_ask)
		return 1;
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
