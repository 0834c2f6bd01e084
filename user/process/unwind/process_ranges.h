/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executable mappings of one process, in user space and in the kernel. */
#ifndef LEAKMON_UNWIND_PROCESS_RANGES_H
#define LEAKMON_UNWIND_PROCESS_RANGES_H

#include "process/unwind/row_modules.h"
#include "process/unwind/row_sets.h"

/* Code that the process generates at run time, all between two addresses. */
struct made_range {
	uint64_t start, end;
	struct row_set *set; /* rows count from `start`; held; NULL: none */
};

struct process_ranges {
	uint64_t generation; /* of the process, when its mappings were loaded */
	struct range_array array;
	VEC(struct dso *) held; /* once per range in it */
	struct made_range made; /* as used by walks */
	struct made_range next; /* for the next refresh; without a set: none */
	bool describes_made;	/* the kernel has its struct lm_made_code */
};

struct process_ranges *process_ranges_new(void);
/* Releases the modules, too. */
void process_ranges_free(struct process_ranges *ranges, struct row_modules *modules);

/*
 * Sets the rows of generated code, in place of earlier ones, for the next refresh. `table` counts
 * from table->base, up to `end`. Returns 0 or -errno, as row_sets_hold().
 */
int process_ranges_set_made(struct process_ranges *ranges, const struct unwind_table *table,
			    uint64_t end, struct row_modules *modules);

enum ranges_change {
	RANGES_SAME,
	RANGES_WRITTEN, /* walks already use them */
	RANGES_FRESH,	/* array.fd is a new array, to be put into the map of maps */
};

/*
 * Writes the latest mappings into the array; new modules wait for row_sets_load(). Returns 0 or
 * -errno: then the next refresh retries everything.
 */
int process_ranges_refresh(struct process_ranges *ranges, const struct process *process,
			   struct row_modules *modules, enum ranges_change *change);

#endif
