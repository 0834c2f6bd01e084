/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that individual threads left on the heap when they ended: filled in by a reading. */
#ifndef LEAKMON_COLLECT_OWNERS_H
#define LEAKMON_COLLECT_OWNERS_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "leakmon_abi.h"

/* A thread that has ended, and its outstanding allocations (regardless of --older). */
struct owner {
	lm_process_key process;
	uint64_t born_ns, died_ns; /* the lifetime of this use of the tid */
	uint64_t bytes, count;
	uint32_t tid;
};

struct owners {
	VEC(struct owner) list; /* after owners_index(): by process, tid and birth */
	struct hash last;	/* of each (process, tid): the index of the last one */
};

/* Indexes the list once it is filled. Returns 0 or -ENOMEM. */
int owners_index(struct owners *owners);
void owners_free(struct owners *owners);

/* Returns the owner of `tid` at that time; NULL: not listed. Valid until the list changes. */
struct owner *owners_find(const struct owners *owners, lm_process_key process, uint32_t tid,
			  uint64_t at_ns);

#endif
