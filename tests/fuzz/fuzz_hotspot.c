// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of HotSpot's heaps. Compiled code has the address of a block as an operand. */
#include "unit/hotspot_fixture.h"

static void forged_operand(struct forged *forged)
{
	uint64_t block = forged_memory_malloc(&forged->memory, 32);

	memcpy(forged_memory_place(FORGED_BASE + FORGED_CODE + 0xf3), &block, sizeof(block));
	forged_memory_split(&forged->memory, FORGED_OLD);
	forged->memory.mappings[1].executable = true;
}
#define FORGED_MORE forged_operand

#include "fuzz/forged_heap.h"
