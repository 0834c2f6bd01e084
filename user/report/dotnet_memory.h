/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collections of a .NET program and what it may allocate until the next one, as its collector
 * counts them: plain data, made by heap/runtime/dotnet/memory.c. In bytes. */
#ifndef LEAKMON_REPORT_DOTNET_MEMORY_H
#define LEAKMON_REPORT_DOTNET_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

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

struct figures;
extern const struct figures dotnet_memory_figures;

#endif
