/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executable mappings of one process, here and in the kernel. */
#ifndef LEAKMON_UNWIND_PROCESS_RANGES_H
#define LEAKMON_UNWIND_PROCESS_RANGES_H

#include "unwind/row_modules.h"
#include "unwind/row_sets.h"

struct process_ranges {
	uint64_t generation; /* of the process, when its mappings were loaded */
	struct range_array array;
	VEC(struct dso *) held; /* once for each range that lies in it */
};

struct process_ranges *process_ranges_new(void);
/* Lets go of the modules, too. */
void process_ranges_free(struct process_ranges *ranges, struct row_modules *modules);

enum ranges_change {
	RANGES_SAME,
	RANGES_WRITTEN, /* walks use them already */
	RANGES_FRESH,	/* array.fd is a new array, to be put into the map of maps */
};

/*
 * Writes the mappings into the array, as they were read last; new modules wait for row_sets_load().
 * 0 or -errno: then the next refresh tries it all again.
 */
int process_ranges_refresh(struct process_ranges *ranges, const struct process *process,
			   struct row_modules *modules, enum ranges_change *change);

#endif
