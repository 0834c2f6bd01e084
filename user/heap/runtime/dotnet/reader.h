/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of a running .NET from outside, without stopping it. */
#ifndef LEAKMON_RUNTIME_DOTNET_READER_H
#define LEAKMON_RUNTIME_DOTNET_READER_H

#include "process/proc/maps.h"
#include "report/heap_floor.h"

struct target_memory;

/* Allocation budget of a generation, by the collector's counters; in bytes. */
struct dotnet_budget {
	uint64_t allowed;   /* from one collection to the next */
	uint64_t allocated; /* since the last collection: may be garbage, and proves no leak */
};

struct dotnet_memory {
	char version[24]; /* "9"; "": unknown */
	const char *why;  /* reason why nothing is known; static; NULL: known */
	uint64_t heaps;	  /* heaps of the server's collector; 1 for the workstation's */
	/* GC.CollectionCount() of generations 0 to 2; collections of 2 cover the whole heap. */
	uint64_t collections[3];
	uint64_t collected_ns, full_ns; /* since the last ones began; 0: unknown, or none */
	struct dotnet_budget small, large, pinned;
	uint64_t kept; /* bytes of objects after the last collection of each generation */
};

/* Reads collections and budgets; dotnet->why says why these are unknown. Reads no file; maps may be
 * of any process with .NET. 0 or -ENOMEM. */
int dotnet_memory_read(const struct maps *maps, struct dotnet_memory *dotnet);

/* Reads these from open memory with its modules. 0 or -ENOMEM. */
int dotnet_memory_of(struct target_memory *memory, struct dotnet_memory *dotnet);

/* Returns the live bytes after the last collections; unknown if `dotnet` is NULL. */
struct heap_floor dotnet_floor_of(const struct dotnet_memory *dotnet);

extern const struct memory_reader dotnet_memory_reader;

#endif
