/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the memory of a Go program's heap goes, as its runtime counts it: plain data, made by
 * heap/runtime/go/memory.c. In bytes. */
#ifndef LEAKMON_REPORT_GO_MEMORY_H
#define LEAKMON_REPORT_GO_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define GO_NO_LIMIT INT64_MAX

struct go_memory {
	char version[24];   /* of Go; "": not known */
	const char *why;    /* nothing is known; static; NULL: it is */
	uint64_t live;	    /* after the last collection */
	uint64_t allocated; /* since then, less what was swept since */
	uint64_t in_use;    /* spans with objects, and what is free in them */
	uint64_t free;	    /* spans without objects; not given back */
	uint64_t released;  /* given back to the kernel */
	uint64_t goal;	    /* at which the next collection ends; 0: not known */
	int64_t percent;    /* GOGC; negative: off */
	int64_t limit;	    /* GOMEMLIMIT; GO_NO_LIMIT: none */
	bool has_stats;	    /* what follows is known; not before the first collection */
	uint64_t stacks;    /* of goroutines */
	uint64_t own;	    /* the runtime's records: of spans, caches, profiles, collection */
	uint64_t heap_at;   /* an address in the heap; 0: not known */
	uint64_t collections;
	uint64_t collected_ns; /* since the last one; 0: not known */
};

struct figures;
extern const struct figures go_memory_figures;

/* Whether it is no larger than its target lets it become, and most of it did not live at the last
 * collection: it came since then, or is free. */
static inline bool go_memory_is_within_goal(const struct go_memory *memory)
{
	return !memory->why && memory->goal && memory->live + memory->allocated <= memory->goal &&
	       memory->live * 2 < memory->in_use + memory->free;
}

#endif
