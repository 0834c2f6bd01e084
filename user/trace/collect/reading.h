/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the maps once, as consistently as a running target allows. Internal to collect/. */
#ifndef LEAKMON_COLLECT_READING_H
#define LEAKMON_COLLECT_READING_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "trace/collect/collect.h"
#include "report/snapshot.h"
#include "leakmon_abi.h"
#include "trace/probe/loader.h"

/* The ledgers of every process slot, summed over CPUs. Internal to collect/. */

struct ledgers {
	struct lm_ledger *slots; /* owned */
	size_t count;		 /* slot 0 included */
};

/* Reads the ledgers; free with ledgers_free. Returns 0; or -errno, with *ledgers untouched. */
int ledgers_read(const struct bpf_side *bpf, struct ledgers *ledgers);
void ledgers_free(struct ledgers *ledgers);

/* Reads one slot's current ledger. Returns 0 or -errno. */
int ledgers_read_slot(const struct bpf_side *bpf, uint32_t slot, struct lm_ledger *sum);

/* Reads one slot for the last time, and zeroes it for the next process. Returns 0 or -errno. */
int ledgers_close(const struct bpf_side *bpf, uint32_t slot, struct lm_ledger *sum);

/*
 * Computes the report's ledger of one slot as of `after`; `purged` counts blocks dropped by user
 * space. `moved` counts the changes still in progress at `before`, which is all zero for a slot not
 * in use then.
 */
void ledger_from_raw(const struct lm_ledger *before, const struct lm_ledger *after, uint64_t purged,
		     struct ledger *ledger);

/* Sums the live set by site and by process while it is walked. Internal to collect/. */

/* Owners of blocks: live threads of the traced processes, and the blocks of ended threads. */

struct live_threads {
	uint64_t taken_ns; /* CLOCK_MONOTONIC, before the first was read */
	VEC(struct lm_live_thread) threads;
	struct hash by_tid; /* -> index into `threads` */
};

/* Reads the threads from `fd`, an iterator of bpf/live_threads.bpf.c. Returns 0 or -errno. */
int live_threads_read(struct live_threads *live, int fd);
void live_threads_free(struct live_threads *live);

/*
 * Returns whether the thread that allocated a block had ended when the threads were read. For a
 * later block that is unknown: false.
 */
bool live_threads_has_ended(const struct live_threads *live, lm_process_key process,
			    const struct lm_block *block);

/* Bytes and counts are scaled like the counters of lm_site. */
struct live_site {
	uint64_t bytes;
	uint64_t count;
	uint64_t oldest_born_ns;	       /* UINT64_MAX: no block */
	uint64_t by_dead_bytes, by_dead_count; /* of threads that have ended */
	uint64_t ages[SITE_AGES_MAX_];	       /* blocks of at least that age, scaled like count */
	double count_spread;		       /* of samples: the sum of weight / size^2 */
	uint64_t smallest;		       /* size of a block; 0: none seen */
};

struct live_process {
	bool ended;	  /* its blocks are shown whatever their age: none will be freed any more */
	uint64_t scanned; /* blocks, unscaled, whatever their age */
	uint64_t bytes;	  /* scaled, whatever their age */
	struct live_site lost; /* blocks whose site is LM_SITE_LOST */
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

/* Takes a reading; free with reading_free in either case. Returns 0 or -errno. */
int reading_take(struct reading *reading, const struct bpf_side *bpf,
		 const struct collect_options *options);
void reading_free(struct reading *reading);

/*
 * Turns a reading into a snapshot; `purged` is by slot. Returns 0 or -ENOMEM (free the snapshot).
 */
int reading_to_snapshot(const struct reading *reading, const uint64_t *purged,
			struct snapshot *snapshot);

#endif
