/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counting_preload.c says of its process, in a file that others may map and read. */
#ifndef LEAKMON_TRUTH_COUNTS_H
#define LEAKMON_TRUTH_COUNTS_H

#include <stdint.h>

struct counts {
	uint64_t allocations, frees;
	uint64_t bytes;	 /* outstanding, as they were asked for */
	uint64_t usable; /* outstanding, as the allocator rounded them */
	uint64_t lost;	 /* what it could not count: then nothing can be compared */
};

/* The environment says where, and of which program: by its name as the kernel knows it. */
#define COUNTS_VARIABLE "LEAKMON_COUNTS"
#define COUNTS_PROGRAM_VARIABLE "LEAKMON_COUNTS_PROGRAM"

#endif
