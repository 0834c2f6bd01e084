/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the BPF object of --kernel: the only place that knows its skeleton. */
#ifndef LEAKMON_PROBE_KERNEL_LOADER_H
#define LEAKMON_PROBE_KERNEL_LOADER_H

#include <stdbool.h>
#include <stdint.h>

#include "leakmon_kernel.h"
#include "trace/probe/loader.h"

struct kernel_side {
	struct bpf_side bpf; /* as collect sees it; bpf.skeleton is NULL */
	struct kernel_bpf *skeleton;
	int owners_fd;		       /* of the skeleton: struct lm_kernel_owner */
	bool followed[LM_KERNEL_MAX_]; /* false: this kernel lacks the tracepoints */
	/* false: bulk frees by kfree_rcu are noticed only when the address is reused */
	bool sees_rcu;
};

/*
 * Loads the object. Uses the sizes and the sampling of `config`. Returns 0, or -errno after an
 * error message.
 */
int kernel_loader_open(struct kernel_side *side, const struct loader_config *config);
void kernel_loader_close(struct kernel_side *side);

/*
 * Returns how often an interrupt's allocation (free) was missed while leakmon was accounting for
 * one on that CPU.
 */
void kernel_loader_misses(const struct kernel_side *side, uint64_t *births, uint64_t *deaths);

/*
 * Returns allocations of unknown processes: LM_KERNEL_OWNERS_MAX pairs have something outstanding.
 */
uint64_t kernel_loader_unowned(const struct kernel_side *side);

#endif
