/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps over a short time, for a process with intermittent probes: counters at its beginning and
 * end, and the blocks born in it and outstanding. Unwanted blocks are removed from the live set:
 * their frees will not be seen.
 */
#ifndef LEAKMON_COLLECT_WINDOW_H
#define LEAKMON_COLLECT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "trace/probe/loader.h"

/* Counters of one process; zero-initialise it, and free it. */
struct window_counts {
	lm_process_key process; /* 0: it has not allocated yet */
	char comm[16];
	uint64_t allocations;
	uint64_t frees; /* of any block */
	uint64_t dropped;
	uint64_t *blocks, *bytes; /* allocated, by site; owned */
	size_t sites;		  /* length of the arrays; entries of other processes are 0 */
};

/*
 * Reads the counters of the latest live incarnation of a PID. Returns 0 (with or without one) or
 * -errno.
 */
int window_counts_read(const struct bpf_side *bpf, pid_t pid, struct window_counts *counts);
void window_counts_free(struct window_counts *counts);

struct outstanding {
	uint64_t address, size, born_ns;
	uint32_t site;
};

struct outstanding_list {
	VEC(struct outstanding) list;
};

/*
 * Reads all blocks of one process in the live set. Returns 0 or -errno; free the list in either
 * case.
 */
int window_blocks_read(const struct bpf_side *bpf, lm_process_key process,
		       struct outstanding_list *blocks);

/* Returns whether a block stays. */
typedef bool (*window_wants)(const struct outstanding *block, void *context);

/* Removes unwanted blocks from the live set. Returns 0 or -errno. */
int window_blocks_forget(const struct bpf_side *bpf, lm_process_key process,
			 const struct outstanding_list *blocks, window_wants wants, void *context);

/* Returns a site's call stack, in the maps: up to LM_MAX_FRAMES. */
const uint64_t *window_site_stack(const struct bpf_side *bpf, uint32_t site, size_t *depth,
				  enum lm_walk_end *end);

#endif
