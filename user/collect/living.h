/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose blocks: which threads of the traced processes live, and what those that do not have left
 * on the heap. Internal to collect/.
 */
#ifndef LEAKMON_COLLECT_LIVING_H
#define LEAKMON_COLLECT_LIVING_H

#include "base/hash.h"
#include "base/vec.h"
#include "leakmon_abi.h"

struct living {
	uint64_t taken_ns; /* CLOCK_MONOTONIC, before the first was read */
	VEC(struct lm_living) threads;
	struct hash by_tid; /* -> index into `threads` */
};

/* Reads all of what `fd` gives, an iterator of bpf/living.bpf.c. 0 or -errno. */
int living_read(struct living *living, int fd);
void living_free(struct living *living);

/*
 * Whether the thread that allocated a block had ended when the threads were read. A block that came
 * later cannot be told: false.
 */
bool living_has_ended(const struct living *living, lm_process_key process,
		      const struct lm_block *block);

#endif
