/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps over a short time, for a process with probes that come and go: counters at its
 * beginning and end, and the blocks that were born in it and are outstanding. Blocks that nobody
 * wants to hear of again are taken out of the live set: their frees will not be seen.
 */
#ifndef LEAKMON_COLLECT_WINDOW_H
#define LEAKMON_COLLECT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "trace/probe/loader.h"

/* Counters of one process; zero-initialise, and free. */
struct window_counts {
	lm_process_key process; /* 0: it has not allocated yet */
	char comm[16];
	uint64_t allocations;
	uint64_t frees; /* of whatever block */
	uint64_t dropped;
	uint64_t *blocks, *bytes; /* allocated, by site; owned */
	size_t sites;		  /* in the arrays; those of other processes are 0 */
};

/* The latest incarnation of a PID that lives. 0 (with or without one) or -errno. */
int window_counts_read(const struct bpf_side *bpf, pid_t pid, struct window_counts *counts);
void window_counts_free(struct window_counts *counts);

struct outstanding {
	uint64_t address, size, born_ns;
	uint32_t site;
};

struct outstanding_list {
	VEC(struct outstanding) list;
};

/* Everything of one process that is in the live set. 0 or -errno; free the list in either case. */
int window_blocks_read(const struct bpf_side *bpf, lm_process_key process,
		       struct outstanding_list *blocks);

/* Whether a block stays. */
typedef bool (*window_wants)(const struct outstanding *block, void *context);

/* Takes those that are not wanted out of the live set. 0 or -errno. */
int window_blocks_forget(const struct bpf_side *bpf, lm_process_key process,
			 const struct outstanding_list *blocks, window_wants wants, void *context);

/* A site's call stack, in the maps: up to LM_MAX_FRAMES. */
const uint64_t *window_site_stack(const struct bpf_side *bpf, uint32_t site, size_t *depth,
				  enum lm_walk_end *end);

#endif
