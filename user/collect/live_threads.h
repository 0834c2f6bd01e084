/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose blocks: which threads of the traced processes live, and what those that do not have left
 * on the heap. Internal to collect/.
 */
#ifndef LEAKMON_COLLECT_LIVE_THREADS_H
#define LEAKMON_COLLECT_LIVE_THREADS_H

#include "base/hash.h"
#include "base/vec.h"
#include "leakmon_abi.h"

struct live_threads {
	uint64_t taken_ns; /* CLOCK_MONOTONIC, before the first was read */
	VEC(struct lm_live_thread) threads;
	struct hash by_tid; /* -> index into `threads` */
};

/* Reads all of what `fd` gives, an iterator of bpf/live_threads.bpf.c. 0 or -errno. */
int live_threads_read(struct live_threads *live, int fd);
void live_threads_free(struct live_threads *live);

/*
 * Whether the thread that allocated a block had ended when the threads were read. A block that came
 * later cannot be told: false.
 */
bool live_threads_has_ended(const struct live_threads *live, lm_process_key process,
			    const struct lm_block *block);

#endif
