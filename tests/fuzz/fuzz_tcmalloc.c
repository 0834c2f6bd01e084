// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader of tcmalloc's heaps. */
#include "unit/tcmalloc_fixture.h"

static struct made_memory *forged_make(void)
{
	void *state;
	struct fixture *fixture;

	if (setup(&state))
		abort();
	fixture = state;
	put_usual(fixture);
	cache_block(put_cache(fixture), CLASS_48, BLOCK_48(fixture, 7));
	return &fixture->memory;
}

#include "fuzz/forged_blocks.h"
