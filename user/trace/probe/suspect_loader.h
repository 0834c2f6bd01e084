/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the BPF object that samples suspects: the only place that knows its skeleton. */
#ifndef LEAKMON_PROBE_SUSPECT_LOADER_H
#define LEAKMON_PROBE_SUSPECT_LOADER_H

#include <sys/types.h>

#include "leakmon_suspect.h"
#include "trace/probe/loader.h"

struct bpf_link;

struct suspect_side {
	struct bpf_side bpf; /* as the unwind store sees it; bpf.skeleton is NULL */
	struct suspect_bpf *skeleton;
	struct bpf_link *mapping_link, *thread_link; /* NULL: not needed now */
	int suspects_fd, samples_fd;
	int fault_fd;	    /* the program, for fault_events.h */
	bool sees_mappings; /* this kernel has the tracepoint */
	const __u64 *samples_lost;
};

/*
 * Loads the object. Returns 0 or -errno, without a message: the triage continues without samples.
 */
int suspect_loader_open(struct suspect_side *side, enum lm_stack_walk stack_walk);
void suspect_loader_close(struct suspect_side *side);

/*
 * Samples that kind of event in a process, each with probability 1/every; page faults need
 * fault_events.h in addition. Returns 0; -EOPNOTSUPP: not available in this kernel; -errno.
 */
int suspect_loader_follow(struct suspect_side *side, pid_t pid, const struct lm_suspect *suspect);
void suspect_loader_forget(struct suspect_side *side, pid_t pid);

/* Detaches tracepoints that none of the followed `kinds` needs (a bit for each). */
void suspect_loader_release(struct suspect_side *side, unsigned kinds);

#endif
