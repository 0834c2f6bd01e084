/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The executable mappings of one process, here and in the kernel. */
#ifndef LEAKMON_UNWIND_PROCESS_RANGES_H
#define LEAKMON_UNWIND_PROCESS_RANGES_H

#include "process/unwind/row_modules.h"
#include "process/unwind/row_sets.h"

/* Code that the process makes while it runs, all between two addresses. */
struct made_range {
	uint64_t start, end;
	struct row_set *set; /* rows count from `start`; held; NULL: there is none */
};

struct process_ranges {
	uint64_t generation; /* of the process, when its mappings were loaded */
	struct range_array array;
	VEC(struct dso *) held; /* once for each range that lies in it */
	struct made_range made; /* as walks use it */
	struct made_range next; /* for the next refresh; no set: none is */
	bool describes_made;	/* the kernel has a struct lm_made_code of it */
};

struct process_ranges *process_ranges_new(void);
/* Lets go of the modules, too. */
void process_ranges_free(struct process_ranges *ranges, struct row_modules *modules);

/*
 * The rows of code that the process makes, in place of earlier ones: for the next refresh. `table`
 * counts from table->base, up to `end`. 0 or -errno, as row_sets_hold().
 */
int process_ranges_set_made(struct process_ranges *ranges, const struct unwind_table *table,
			    uint64_t end, struct row_modules *modules);

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
