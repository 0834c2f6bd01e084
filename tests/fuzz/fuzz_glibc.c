// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader of glibc's heaps. */
#include "unit/glibc_fixture.h"

static struct made_memory *forged_make(void)
{
	void *state;
	struct fixture *fixture;

	if (setup(&state))
		abort();
	fixture = state;
	put_usual(fixture);
	put_mapped(fixture);
	return &fixture->memory;
}

#include "fuzz/forged_blocks.h"
