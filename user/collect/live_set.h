/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks the live set in batches. */
#ifndef LEAKMON_COLLECT_LIVE_SET_H
#define LEAKMON_COLLECT_LIVE_SET_H

#include <stddef.h>

#include "leakmon_abi.h"

struct live_batch {
	const struct lm_block_key *keys;
	const struct lm_block *values;
	size_t count;
};

/* Return 0 to go on, -errno to end the walk with it. */
typedef int (*live_visit)(const struct live_batch *batch, void *context);

/*
 * Visits every entry of the hash map. An entry that is there for the whole walk is visited exactly
 * once (an entry never leaves its bucket, and buckets are read whole); one that comes or goes
 * meanwhile, at most once.
 */
int live_set_walk(int map_fd, live_visit visit, void *context);

#endif
