// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader of jemalloc's heaps. */
#include "unit/jemalloc_fixture.h"

static void put_forged(struct fixture *fixture)
{
	put_usual(fixture);
	cache_block(fixture, CLASS_48, fixture->extents + 5 * 48);
}

#include "fuzz/forged_blocks.h"
