// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader of glibc's heaps. */
#include "unit/glibc_fixture.h"

static void put_forged(struct fixture *fixture)
{
	put_usual(fixture);
	put_mapped(fixture);
}

#include "fuzz/forged_blocks.h"
