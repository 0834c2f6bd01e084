// SPDX-License-Identifier: GPL-2.0-or-later
/* jemalloc: its truth is mallctl("stats.*") after a new epoch. */
#include "allocator_stats.h"

#include <jemalloc/jemalloc.h>

/* With one processor the default would be one. */
const char *malloc_conf = "narenas:8";

static void flush(void)
{
	if (mallctl("thread.tcache.flush", NULL, NULL, NULL, 0))
		abort();
}

static void purge(void)
{
	if (mallctl("arena.4096.purge", NULL, NULL, NULL, 0))
		abort();
}

static size_t figure(const char *name)
{
	size_t value = 0, size = sizeof(value);

	if (mallctl(name, &value, &size, NULL, 0))
		abort();
	return value;
}

static void print_truth(void)
{
	uint64_t epoch = 1;
	size_t page = figure("arenas.page");

	/* The first one makes room for the figures. */
	for (int i = 0; i < 2; i++)
		mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch));
	say("{\"allocated\":%zu,\"active\":%zu,\"metadata\":%zu,\"mapped\":%zu,\"retained\":%zu,"
	    "\"cached\":%zu,\"internal\":%zu,\"dirty\":%zu,\"muzzy\":%zu}\n",
	    figure("stats.allocated"), figure("stats.active"), figure("stats.metadata"),
	    figure("stats.mapped"), figure("stats.retained"),
	    figure("stats.arenas.4096.tcache_bytes"), figure("stats.arenas.4096.internal"),
	    figure("stats.arenas.4096.pdirty") * page, figure("stats.arenas.4096.pmuzzy") * page);
}

static void thread_filled(void)
{
}

static void crossed(void *block)
{
	(void)block;
}
