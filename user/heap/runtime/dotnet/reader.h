/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of .NET from outside while it runs, without stopping it. */
#ifndef LEAKMON_RUNTIME_DOTNET_READER_H
#define LEAKMON_RUNTIME_DOTNET_READER_H

#include "process/proc/maps.h"
#include "report/heap_floor.h"

struct target_memory;

/* Collections, and what may be allocated until the next one, as the collector counts them; in
 * bytes. */
struct dotnet_budget {
	uint64_t allowed;   /* until the next collection */
	uint64_t allocated; /* since the last one: no leak yet, it may be garbage */
};

struct dotnet_memory {
	char version[24]; /* "9"; "": not known */
	const char *why;  /* nothing is known; static; NULL: it is */
	uint64_t heaps;	  /* of the server's collector; 1 of the workstation's */
	/* GC.CollectionCount() of generations 0 to 2: those of 2 are of all of the heap. */
	uint64_t collections[3];
	uint64_t collected_ns, full_ns; /* since the last ones began; 0: not known, or none */
	struct dotnet_budget small, large, pinned;
	uint64_t kept; /* objects that the last collections of each generation have left */
};

/* Its collections and budgets; dotnet->why says why these are not known. No file is read, and it
 * may be any process with .NET. 0 or -ENOMEM. */
int dotnet_memory_read(const struct maps *maps, struct dotnet_memory *dotnet);

/* Likewise of memory that is open, with its modules. */
int dotnet_memory_of(struct target_memory *memory, struct dotnet_memory *dotnet);

/* What its collections leave. NULL: not known. */
struct heap_floor dotnet_floor_of(const struct dotnet_memory *dotnet);

extern const struct memory_reader dotnet_memory_reader;

#endif
