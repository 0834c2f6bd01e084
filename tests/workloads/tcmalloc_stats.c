// SPDX-License-Identifier: GPL-2.0-or-later
/* tcmalloc: its truth is MallocExtension's properties. */
#include "allocator_stats.h"

#include <gperftools/malloc_extension_c.h>

static void flush(void)
{
	MallocExtension_MarkThreadIdle();
}

static void purge(void)
{
	MallocExtension_ReleaseFreeMemory();
}

static size_t property(const char *name)
{
	size_t value = 0;

	if (!MallocExtension_GetNumericProperty(name, &value))
		abort();
	return value;
}

static void print_truth(void)
{
	say("{\"allocated\":%zu,\"heap\":%zu,\"free\":%zu,\"unmapped\":%zu,\"threads\":%zu,"
	    "\"central\":%zu,\"transfer\":%zu}\n",
	    property("generic.current_allocated_bytes"), property("generic.heap_size"),
	    property("tcmalloc.pageheap_free_bytes"), property("tcmalloc.pageheap_unmapped_bytes"),
	    property("tcmalloc.current_total_thread_cache_bytes"),
	    property("tcmalloc.central_cache_free_bytes"),
	    property("tcmalloc.transfer_cache_free_bytes"));
}

static void thread_filled(void)
{
}

static void crossed(void *block)
{
	(void)block;
}
