/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings of a Go program from outside, while it runs or in a core file, without stopping it.
 * Every reading finds the program again: it is a few milliseconds of work.
 */
#ifndef LEAKMON_RUNTIME_GO_READER_H
#define LEAKMON_RUNTIME_GO_READER_H

#include "process/proc/maps.h"
#include "report/go_memory.h"
#include "report/task_report.h"
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

/* Likewise what the runtime's own figures say of its memory. */
int go_memory_read(const struct maps *maps, struct go_memory *memory);

struct runtime_heap; /* runtime.h */
/* The heap that an address lies in, where mappings do not show it (1.26 and later): reserved memory
 * around it. Nothing if that is no such memory. 0 or -ENOMEM; *heap is to be freed. */
int go_heap_find(const struct maps *maps, uint64_t address, struct runtime_heap *heap);

#endif
