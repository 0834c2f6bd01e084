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

struct probe_plan {
	VEC(struct probe_point) points; /* in the order of allocator_functions */
	char build_id[83];
};

/*
 * Reads the file's symbols and chooses places. A file is an allocator when it defines both a
 * function that allocates and one that frees; otherwise the plan comes out empty. Names that share
 * an address give one point. 0, or -errno when the file cannot be read as ELF.
 */
int probe_plan_file(int fd, const char *symbol_prefix, enum probe_at probe_at,
		    struct probe_plan *plan);
void probe_plan_free(struct probe_plan *plan);

#endif
