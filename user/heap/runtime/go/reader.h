/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings of a Go program from outside, running or in a core file, without stopping it. Each
 * reading finds the program again, which takes a few milliseconds.
 */
#ifndef LEAKMON_RUNTIME_GO_READER_H
#define LEAKMON_RUNTIME_GO_READER_H

#include "process/proc/maps.h"
#include "report/task_report.h"
#include "report/heap_floor.h"
#include "report/heap_profile.h"

/*
 * Returns whether a process is a Go program, of any version: its data contain the build
 * information. The address of its heap proves nothing, because 1.26 and later choose it at random.
 */
bool go_is_program(const struct maps *maps);

/* Returns whether all code is the program's or the dynamic linker's: it has no C library, and no
 * malloc. */
bool go_is_alone(const struct maps *maps);

/*
 * Reads the goroutines. Goroutines that run meanwhile are read again; if that fails, they are
 * counted without their place. report->why says why nothing is known. 0 or -ENOMEM; the caller
 * calls task_report_free() in any case.
 */
int goroutines_read(const struct maps *maps, struct task_report *report);

/* Reads the heap profile; profile->why says why nothing is known. 0 or -ENOMEM; the caller calls
 * heap_profile_free() in any case. */
int heap_profile_read(const struct maps *maps, struct heap_profile *profile);

/* Uses of the heap's memory, by the runtime's counters; in bytes. */
#define GO_NO_LIMIT INT64_MAX

struct go_memory {
	char version[24];   /* of Go; "": unknown */
	const char *why;    /* reason why nothing is known; static; NULL: known */
	uint64_t live;	    /* after the last collection */
	uint64_t allocated; /* since then, minus bytes swept since */
	uint64_t in_use;    /* spans with objects, including free slots */
	uint64_t free;	    /* spans without objects; not given back */
	uint64_t released;  /* given back to the kernel */
	uint64_t goal;	    /* size at which the next collection ends; 0: unknown */
	int64_t percent;    /* GOGC; negative: off */
	int64_t limit;	    /* GOMEMLIMIT; GO_NO_LIMIT: none */
	bool has_stats;	    /* the members below are known; false before the first collection */
	uint64_t stacks;    /* of goroutines */
	uint64_t own;	    /* the runtime's records: spans, caches, profiles, collection */
	uint64_t heap_at;   /* an address in the heap; 0: unknown */
	uint64_t collections;
	uint64_t collected_ns; /* since the last one; 0: unknown */
	/* The heap is no larger than its goal permits, and most of it was not live at the last
	 * collection: allocated since then, or free. */
	bool within_goal;
};

/*
 * Reads the runtime's counters of its memory; memory->why says why nothing is known. 0 or -ENOMEM.
 */
int go_memory_read(const struct maps *maps, struct go_memory *memory);

/* Returns the live bytes after the last collection, which is a base at once; before the first one,
 * anything may be garbage. Unknown if `go` is NULL. */
struct heap_floor go_floor_of(const struct go_memory *go);

extern const struct memory_reader go_memory_reader;
extern const struct program_reader go_program_reader;
extern const struct own_profile_source own_profile_go;

struct runtime_heap; /* runtime.h */
/*
 * Finds the heap that contains an address if mappings do not show it (1.26 and later): the reserved
 * memory around it. *heap stays empty if the address is elsewhere. 0 or -ENOMEM; the caller frees
 * *heap.
 */
int go_heap_find(const struct maps *maps, uint64_t address, struct runtime_heap *heap);

#endif
