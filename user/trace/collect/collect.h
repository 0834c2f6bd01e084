/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the BPF maps into a struct snapshot: the last stage that makes a BPF call. */
#ifndef LEAKMON_COLLECT_COLLECT_H
#define LEAKMON_COLLECT_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/collect/owners.h"
#include "report/snapshot.h"
#include "trace/probe/loader.h"

struct container_cache;

struct collect_options {
	uint64_t older_ns;     /* leave out younger blocks */
	bool combined_only;    /* site counters only: no walk over the live set, no ages */
	bool keep_blocks;      /* fill snapshot_process.blocks */
	bool only_by_dead;     /* leave out blocks of live threads */
	struct owners *owners; /* each reading fills in their blocks; or NULL; borrowed */
	uint64_t sample_rate, sample_bytes;
	const int *pids; /* processes shown even before their first event; borrowed */
	size_t pid_count;
	/* process/proc/container.h; NULL: no look-up; borrowed */
	struct container_cache *containers;
	/*
	 * Called by each collector_purge() with the keys of ended processes, in `ended`, to drop
	 * anything else kept of them. Returns 0 or -errno. NULL: nothing is kept.
	 */
	int (*on_ended)(void *context, const struct hash *ended);
	void *context;
	bool keep_exited; /* an ended process still shows its blocks (the last report) */
};

struct collector;

/* Returns a new collector. `bpf` and `options` are borrowed for its life. NULL: out of memory. */
struct collector *collector_new(const struct bpf_side *bpf, const struct collect_options *options);
void collector_free(struct collector *collector);

/*
 * Reads everything into *snapshot, which the caller frees. The target runs on meanwhile: with
 * activity, the live set is read at slightly different times, which ledger.moved bounds. Returns 0;
 * or -errno, with *snapshot untouched.
 */
int collector_read(struct collector *collector, struct snapshot *snapshot);

/*
 * Drops the blocks of processes that ended or execed: deletes them and counts them as purged.
 * Returns 0 or -errno.
 */
int collector_purge(struct collector *collector);

#endif
