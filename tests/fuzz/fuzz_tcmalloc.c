// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader of tcmalloc's heaps. */
#include "unit/tcmalloc_fixture.h"

static void put_forged(struct fixture *fixture)
{
	put_usual(fixture);
	cache_block(put_cache(fixture), CLASS_48, BLOCK_48(fixture, 7));
}

#include "fuzz/forged_blocks.h"
