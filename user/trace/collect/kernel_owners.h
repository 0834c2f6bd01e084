/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that the kernel's outstanding blocks were allocated for, by call stack of the
 * kernel. */
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

/* Those with anything, by site, the greatest first. */
struct kernel_owners {
	VEC(struct kernel_owner_row) list;
};

/* 0 or -errno, and *owners untouched. The caller frees it. */
int kernel_owners_read(const struct kernel_side *side, bool sampled, struct kernel_owners *owners);
void kernel_owners_free(struct kernel_owners *owners);
/* Sorts rows, once they are added. */
void kernel_owners_sort(struct kernel_owners *owners);

/* Owners of one call stack that a report shows. */
#define KERNEL_OWNERS_SHOWN 5
/* Gives *site the greatest owners of the call stack with that index, with the names of their
 * control groups, and the number of all. 0 or -ENOMEM; *site owns the rows in either case. */
int kernel_owners_fill(const struct kernel_owners *owners, uint32_t index,
		       struct report_site *site);

#endif
