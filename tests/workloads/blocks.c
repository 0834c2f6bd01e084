// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * blocks [COUNT [SIZE]]: `go` makes COUNT blocks (1,000,000 of 16 bytes) outstanding at one site,
 * `free` gives all of them back.
 */
#include <sys/mman.h>

#include "workload.h"

static struct truth truth = {.sites[0] = {.function = "leak_block"}};
static void **blocks;
static size_t count, size, used;

static SITE void *leak_block(void)
{
	return OPAQUE(malloc(size));
}

static void go(void)
{
	for (used = 0; used < count; used++) {
		blocks[used] = leak_block();
		truth_born(&truth, 0, size);
	}
}

static void free_all(void)
{
	while (used > 0) {
		free(blocks[--used]);
		truth_died(&truth, 0, size);
	}
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "go", .run = go},
		{.name = "free", .run = free_all},
	};

	count = argument(argc, argv, 1, 1000000);
	size = argument(argc, argv, 2, 16);
	blocks = mmap(NULL, count * sizeof(*blocks), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (blocks == MAP_FAILED)
		return 1;
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
