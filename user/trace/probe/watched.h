/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The map of the targets (struct lm_target): what the BPF side must know of them, and what it found
 * out that makes their numbers inexact. A target is a PID and a start time, never a PID alone.
 */
#ifndef LEAKMON_PROBE_WATCHED_H
#define LEAKMON_PROBE_WATCHED_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"
#include "leakmon_abi.h"
#include "trace/probe/loader.h"

struct watched_list {
	VEC(pid_t) pids;
};

/* Before it is attached to: its forks from now on are reported. 0; -ESRCH; -E2BIG: no room. */
int watched_add(const struct bpf_side *bpf, pid_t pid, uint64_t *start_ticks);
void watched_remove(const struct bpf_side *bpf, pid_t pid, uint64_t start_ticks);

/* Any target with that PID. */
#define WATCHED_ANY_START 0

/* False: it is not in the map. */
bool watched_get(const struct bpf_side *bpf, pid_t pid, uint64_t start_ticks,
		 struct lm_target *target);

/*
 * It shares the memory of another one, and has probes of its own by now: what it did before is
 * charged, if it did anything; what it does from now on is seen. 0 or -errno.
 */
int watched_follow(const struct bpf_side *bpf, pid_t pid, uint64_t start_ticks);

/* All of them, those that the BPF side added, too. 0 or -errno; free it in either case. */
int watched_read(const struct bpf_side *bpf, struct watched_list *list);
void watched_free(struct watched_list *list);

#endif
