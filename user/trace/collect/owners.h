/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that single threads left on the heap when they ended: filled in by a reading. */
#ifndef LEAKMON_COLLECT_OWNERS_H
#define LEAKMON_COLLECT_OWNERS_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "leakmon_abi.h"

/* A thread that has ended, and what is outstanding of what it allocated (--older or not). */
struct owner {
	lm_process_key process;
	uint64_t born_ns, died_ns; /* tids are used again: it had its own from then till then */
	uint64_t bytes, count;
	uint32_t tid;
};

struct owners {
	VEC(struct owner) list; /* after owners_index(): by process, tid and birth */
	struct hash last;	/* of each (process, tid): the index of the last one */
};

/* After the list was filled. 0 or -ENOMEM. */
int owners_index(struct owners *owners);
void owners_free(struct owners *owners);

/* The owner of `tid` at that time; NULL: none on the list. Good until the list changes. */
struct owner *owners_find(const struct owners *owners, lm_process_key process, uint32_t tid,
			  uint64_t at_ns);

#endif
