/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the maps once, as consistently as a running target allows. Internal to collect/. */
#ifndef LEAKMON_COLLECT_READING_H
#define LEAKMON_COLLECT_READING_H

#include "base/hash.h"
#include "collect/collect.h"
#include "collect/ledgers.h"
#include "collect/live_sum.h"
#include "collect/snapshot.h"

/* One reading of the maps in progress. */
struct reading {
	const struct bpf_side *bpf;
	const struct collect_options *options;
	struct ledgers before, after; /* around the walk over the live set */
	struct hash slots;	      /* process key -> slot */
	struct live_threads live_threads;
	struct live_sum sum;
	size_t site_count;
};

/* 0 or -errno; free with reading_free in either case. */
int reading_take(struct reading *reading, const struct bpf_side *bpf,
		 const struct collect_options *options);
void reading_free(struct reading *reading);

/* Turns a reading into a snapshot; `purged` is by slot. 0 or -ENOMEM (free the snapshot). */
int reading_to_snapshot(const struct reading *reading, const uint64_t *purged,
			struct snapshot *snapshot);

#endif
