// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader of jemalloc's heaps. */
#include "unit/jemalloc_fixture.h"

static struct made_memory *forged_make(void)
{
	void *state;
	struct fixture *fixture;

	if (setup(&state))
		abort();
	fixture = state;
	put_usual(fixture);
	cache_block(fixture, CLASS_48, fixture->extents + 5 * 48);
	return &fixture->memory;
}

#include "fuzz/forged_blocks.h"
