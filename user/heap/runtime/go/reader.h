/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings of a Go program from outside, while it runs or in a core file, without stopping it.
 * Every reading finds the program again: it is a few milliseconds of work.
 */
#ifndef LEAKMON_RUNTIME_GO_READER_H
#define LEAKMON_RUNTIME_GO_READER_H

#include "process/proc/maps.h"
#include "report/task_report.h"
#include "report/heap_floor.h"
#include "report/heap_profile.h"

/* Whether a process is a Go program, of any version: its data have the build information.
 * The place of its heap proves nothing, for 1.26 and later put it anywhere. */
bool go_is_program(const struct maps *maps);

/* Whether all its code is its own and the dynamic linker's: it has no C library, and no malloc. */
bool go_is_alone(const struct maps *maps);

/*
 * Goroutines that run on meanwhile are read again, and where that does not help counted without
 * their place. report->why says why nothing is known; 0 or -ENOMEM. task_report_free() in any
 * case.
 */
int goroutines_read(const struct maps *maps, struct task_report *report);

/* Likewise the heap profile, and heap_profile_free(). */
int heap_profile_read(const struct maps *maps, struct heap_profile *profile);

/* Where the memory of the heap goes, as the runtime counts it; in bytes. */
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
	/* It is no larger than its target lets it become, and most of it did not live at the last
	 * collection: it came since then, or is free. */
	bool within_goal;
};

/* Likewise what the runtime's own figures say of its memory. */
int go_memory_read(const struct maps *maps, struct go_memory *memory);

/* What its collections leave. The last one is a base at once; before the first one anything may be
 * garbage. NULL: not known. */
struct heap_floor go_floor_of(const struct go_memory *go);

extern const struct memory_reader go_memory_reader;
extern const struct program_reader go_program_reader;
extern const struct own_profile_source own_profile_go;

struct runtime_heap; /* runtime.h */
/* The heap that an address lies in, where mappings do not show it (1.26 and later): reserved memory
 * around it. Nothing if that is no such memory. 0 or -ENOMEM; *heap is to be freed. */
int go_heap_find(const struct maps *maps, uint64_t address, struct runtime_heap *heap);

#endif
