/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts of counting_preload.c for its process, in a file that others may map and read. */
#ifndef LEAKMON_TRUTH_COUNTS_H
#define LEAKMON_TRUTH_COUNTS_H

#include <stdint.h>

struct counts {
	uint64_t allocations, frees;
	uint64_t bytes;	 /* outstanding, as they were asked for */
	uint64_t usable; /* outstanding, as the allocator rounded them */
	uint64_t lost;	 /* uncounted events: then nothing can be compared */
};

/* The environment has the path, and the program by its name in the kernel. */
#define COUNTS_VARIABLE "LEAKMON_COUNTS"
#define COUNTS_PROGRAM_VARIABLE "LEAKMON_COUNTS_PROGRAM"

#endif
