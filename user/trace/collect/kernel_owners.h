/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes on whose behalf the kernel's outstanding blocks were allocated, by kernel call stack.
 */
#ifndef LEAKMON_COLLECT_KERNEL_OWNERS_H
#define LEAKMON_COLLECT_KERNEL_OWNERS_H

#include <stdbool.h>

#include "base/vec.h"
#include "report/report.h"
#include "trace/probe/kernel_loader.h"

struct kernel_owner_row {
	struct lm_kernel_owner_key key;
	struct lm_kernel_owner owner;
};

/* Owners with outstanding blocks, by site, the largest first. */
struct kernel_owners {
	VEC(struct kernel_owner_row) list;
};

/* Reads the owners; the caller frees *owners. Returns 0; or -errno, with *owners untouched. */
int kernel_owners_read(const struct kernel_side *side, bool sampled, struct kernel_owners *owners);
void kernel_owners_free(struct kernel_owners *owners);
/* Sorts the rows, after the last was added. */
void kernel_owners_sort(struct kernel_owners *owners);

/* Limit of owners of one call stack in a report. */
#define KERNEL_OWNERS_SHOWN 5
/*
 * Gives *site the largest owners of the call stack with that index, with the names of their control
 * groups, and the number of all. Returns 0 or -ENOMEM; *site owns the rows in either case.
 */
int kernel_owners_fill(const struct kernel_owners *owners, uint32_t index,
		       struct report_site *site);

#endif
