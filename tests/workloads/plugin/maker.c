// SPDX-License-Identifier: GPL-2.0-or-later
/* A library with an allocating function: its name must be in call stacks (late). */
#include <stdlib.h>

void *make_block(size_t size);

__attribute__((noipa)) void *make_block(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}
