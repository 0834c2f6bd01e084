/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which call stack of a process makes the kernel keep more and more objects, and which segments of
 * System V shared memory it leaves behind: neither is in its own memory. Pure functions.
 */
#ifndef LEAKMON_DIAGNOSE_KERNEL_MEMORY_H
#define LEAKMON_DIAGNOSE_KERNEL_MEMORY_H

#include "heap/memory/kernel_counts.h"
#include "report/diagnosis.h"

/* When a series is looked at: a third of the time, two thirds, and the end. */
#define KERNEL_TIMES 3

/* Objects that one function of the kernel allocated for one call stack of the process, since they
 * are followed. Borrowed. */
struct kernel_row {
	const char *function;	     /* of the kernel; NULL: not known */
	const char *cache;	     /* its slab cache; "": kmalloc; untrusted */
	const struct frames *frames; /* of the process; NULL: not known */
	double bytes[KERNEL_TIMES];  /* not freed */
	uint64_t count;		     /* not freed at the end */
	bool reclaimable;	     /* the kernel frees them when memory is short */
	int64_t cache_bytes; /* growth of that cache in this time, of all processes; negative: not
				known, or it shrank */
};

struct kernel_evidence {
	const struct kernel_row *rows;
	size_t row_count;
	double seconds; /* since they are followed; 0: they are not */
	bool exact;	/* all were followed; else bytes and counts are estimates */
	const struct kernel_counts *first, *last; /* NULL: not read */
	/* Segments that nobody has attached, made since the beginning by this process, or by
	 * processes that descend from it: at a third, two thirds, and the end. */
	struct {
		uint64_t segments[KERNEL_TIMES], bytes;
		bool by_children;
	} sysv;
};

/* False: nothing that one call stack is the cause of becomes more and more. */
bool kernel_memory_judge(const struct kernel_evidence *evidence, struct diagnosed_kernel *kernel);
bool sysv_judge(const struct kernel_evidence *evidence, struct diagnosed_sysv *sysv);

#endif
