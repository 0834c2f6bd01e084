// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader of musl's heaps. */
#include "unit/musl_fixture.h"

static void put_forged(struct fixture *fixture)
{
	put_usual(fixture);
}

#include "fuzz/forged_blocks.h"
