// SPDX-License-Identifier: GPL-2.0-or-later
/* musl's malloc, which has no statistics: its truth is the program's own allocations and frees. */
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic size_t blocks, bytes;

static void *counted_malloc(size_t size)
{
	void *block = malloc(size);

	blocks++;
	bytes += malloc_usable_size(block);
	return block;
}

static void counted_free(void *block)
{
	if (!block)
		return;
	blocks--;
	bytes -= malloc_usable_size(block);
	free(block);
}

#define malloc counted_malloc
#define free counted_free
#include "allocator_stats.h"

static void flush(void)
{
}

static void purge(void)
{
}

static void print_truth(void)
{
	say("{\"blocks\":%zu,\"live\":%zu}\n", blocks, bytes);
}

static void thread_filled(void)
{
}

static void crossed(void *block)
{
	(void)block;
}
