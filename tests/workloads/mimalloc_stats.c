// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mimalloc: its truth comes from mi_heap_visit_blocks() in this thread's heap, and in those of the
 * others when they were full, less the blocks freed from here.
 */
#include "allocator_stats.h"

#include <mimalloc.h>
#include <stdatomic.h>

static _Atomic size_t other_blocks, other_bytes;

struct sum {
	size_t blocks, bytes, committed;
};

static bool count(const mi_heap_t *heap, const mi_heap_area_t *area, void *block, size_t size,
		  void *context)
{
	struct sum *sum = context;

	(void)heap;
	if (block) {
		sum->blocks++;
		sum->bytes += size;
	} else {
		sum->committed += area->committed;
	}
	return true;
}

/* From 3.4 on, one heap has the pages of all threads. */
#define ONE_FOR_ALL (MI_MALLOC_VERSION >= 30400)
#if ONE_FOR_ALL
#define own_heap mi_heap_main
#else
#define own_heap mi_heap_get_default
#endif

static struct sum visit(void)
{
	struct sum sum = {0};

	/* False: it has no pages. */
	(void)mi_heap_visit_blocks(own_heap(), true, count, &sum);
	return sum;
}

static void thread_filled(void)
{
	struct sum sum = {0};

	if (ONE_FOR_ALL)
		return;
	sum = visit();
	other_blocks += sum.blocks;
	other_bytes += sum.bytes;
}

static void crossed(void *block)
{
	if (ONE_FOR_ALL)
		return;
	other_blocks--;
	other_bytes -= mi_usable_size(block);
}

static void flush(void)
{
	mi_collect(false);
}

static void purge(void)
{
	mi_collect(true);
}

static void print_truth(void)
{
	struct sum sum = visit();
	size_t commit = 0;

	mi_process_info(NULL, NULL, NULL, NULL, NULL, &commit, NULL, NULL);
	say("{\"blocks\":%zu,\"live\":%zu,\"committed\":%zu}\n", sum.blocks + other_blocks,
	    sum.bytes + other_bytes, commit);
}
