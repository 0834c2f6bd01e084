// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * quick [COUNT [SIZE]]: leaks COUNT (10) blocks of SIZE (100) bytes and one block of 33 bytes
 * before main(), then exits at once. It prints nothing: its truth is its arguments.
 */
#include "workload.h"

static SITE void leak_early(void)
{
	OPAQUE(malloc(33));
}

static SITE void leak_quick(size_t size)
{
	OPAQUE(malloc(size));
}

__attribute__((constructor)) static void before_main(void)
{
	leak_early();
}

int main(int argc, char **argv)
{
	uint64_t count = argument(argc, argv, 1, 10), size = argument(argc, argv, 2, 100);

	for (uint64_t i = 0; i < count; i++)
		leak_quick(size);
	return 0;
}
