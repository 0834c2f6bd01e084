/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which functions of one file get a probe, and exactly where. */
#ifndef LEAKMON_PROBE_PLAN_H
#define LEAKMON_PROBE_PLAN_H

#include "base/vec.h"
#include "cli/options.h"
#include "probe/allocators.h"
#include "probe/placement.h"

struct probe_point {
	size_t function; /* row of allocator_functions */
	uint64_t vaddr;	 /* of the function, as the file counts */
	uint64_t offset; /* of the probe, in the file */
	struct placement placement;
};

/* As much of a function as is decoded: jumps back to its beginning come from anywhere in it. */
#define PLAN_CODE_BYTES 8192
/* One function may have several addresses: symbol versions. */
#define PLAN_MAX_POINTS 64

struct probe_plan {
	VEC(struct probe_point) points; /* in the order of allocator_functions */
	char build_id[83];
};

/*
 * Reads the file's symbols and chooses places. A file is an allocator when it defines both a
 * function that allocates and one that frees; otherwise the plan comes out empty. Names that share
 * an address give one point. 0, or -errno when the file cannot be read as ELF; -E2BIG: more than
 * PLAN_MAX_POINTS. *plan is untouched on error.
 */
int probe_plan_file(int fd, const char *symbol_prefix, enum probe_at probe_at,
		    struct probe_plan *plan);
void probe_plan_free(struct probe_plan *plan);

/* Whether the byte at `offset` of a file can be mapped to `vaddr`: whole pages are. */
static inline bool plan_is_congruent(uint64_t vaddr, uint64_t offset)
{
	return ((vaddr - offset) & 4095) == 0;
}

#endif
