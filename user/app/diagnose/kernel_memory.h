/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the call stack of a process that makes the kernel keep ever more objects, and the System V
 * shared memory segments that it leaves behind: neither is in its own memory. Pure functions.
 */
#ifndef LEAKMON_DIAGNOSE_KERNEL_MEMORY_H
#define LEAKMON_DIAGNOSE_KERNEL_MEMORY_H

#include "heap/memory/kernel_counts.h"
#include "report/diagnosis.h"

/* Times at which a series is examined: a third of the run, two thirds, and the end. */
#define KERNEL_TIMES 3

/*
 * Objects that one kernel function allocated for one call stack of the process, since the session
 * began. Borrowed.
 */
struct kernel_row {
	const char *function;	     /* of the kernel; NULL: unknown */
	const char *cache;	     /* its slab cache; "": kmalloc; untrusted */
	const struct frames *frames; /* of the process; NULL: unknown */
	double bytes[KERNEL_TIMES];  /* not freed */
	uint64_t count;		     /* not freed at the end */
	bool reclaimable;	     /* the kernel frees them when memory is short */
	/* growth of that cache in this time, over all processes; negative: unknown, or it shrank */
	int64_t cache_bytes;
};

struct kernel_evidence {
	const struct kernel_row *rows;
	size_t row_count;
	double seconds; /* since the session began; 0: no session */
	bool exact;	/* all objects were followed; else bytes and counts are estimates */
	bool given_up;	/* the machine was too busy for them to be followed, or they cannot be */
	const struct kernel_counts *first, *last; /* NULL: not read */
	/* Unattached segments created since the beginning by this process or its descendants: at a
	 * third, two thirds, and the end. */
	struct {
		uint64_t segments[KERNEL_TIMES], bytes;
		bool by_children;
	} sysv;
};

/*
 * Finds the kind of object that increased most by /proc's counts, where the objects were not
 * followed; fills kernel->what and kernel->things. Returns false if none did by enough.
 */
bool kernel_memory_counted(const struct kernel_evidence *evidence, struct diagnosed_kernel *kernel);

/* Return false if nothing with one call stack as its cause keeps growing. */
bool kernel_memory_judge(const struct kernel_evidence *evidence, struct diagnosed_kernel *kernel);
bool sysv_judge(const struct kernel_evidence *evidence, struct diagnosed_sysv *sysv);

#endif
