/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums the live set by site and by process while it is walked. Internal to collect/. */
#ifndef LEAKMON_COLLECT_LIVE_SUM_H
#define LEAKMON_COLLECT_LIVE_SUM_H

#include "base/hash.h"
#include "base/vec.h"
#include "collect/collect.h"
#include "collect/snapshot.h"
#include "leakmon_abi.h"

/*
 * Whose blocks: which threads of the traced processes live, and what those that do not have left
 * on the heap.
 */

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

/* Bytes and counts are scaled like the counters of lm_site. */
struct live_site {
	uint64_t bytes;
	uint64_t count;
	uint64_t oldest_born_ns;	       /* UINT64_MAX: no block */
	uint64_t by_dead_bytes, by_dead_count; /* of threads that have ended */
	uint64_t ages[SITE_AGES_MAX_];	       /* blocks at least so old, scaled like count */
};

struct live_process {
	bool ended;	  /* its blocks are shown whatever their age: none will be freed any more */
	uint64_t scanned; /* blocks, unscaled, whatever their age */
	uint64_t bytes;	  /* scaled, whatever their age */
	struct live_site lost; /* those whose site is LM_SITE_LOST */
};

/* A block that --show-allocs will print. */
struct live_block {
	lm_process_key process;
	uint64_t address, size, born_ns;
	uint32_t site, tid;
	bool by_dead;
};

struct live_sum {
	const struct collect_options *options;
	uint64_t now_ns;
	const struct live_threads *live_threads;
	const struct hash *slots; /* process key -> slot */
	struct live_site *sites;  /* by site index; owned */
	size_t site_count;
	struct live_process *processes; /* by slot; owned */
	VEC(struct live_block) blocks;	/* owned */
};

/* A map_visit over the live set: `context` is a struct live_sum. */
int live_sum_visit(const void *keys, const void *values, size_t count, void *context);

/* Turns a scaled number into a plain one. */
uint64_t live_unscale(const struct collect_options *options, uint64_t scaled);

#endif
