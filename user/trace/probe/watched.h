/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The map of the targets (struct lm_target): what the BPF side must know of them, and its findings
 * that make their numbers inexact. A target is a PID and a start time, never a PID alone.
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

/*
 * Adds a process before the attach: its forks from now on are reported. Returns 0; -ESRCH; -E2BIG:
 * no room.
 */
int watched_add(const struct bpf_side *bpf, pid_t pid, uint64_t *start_ticks);
void watched_remove(const struct bpf_side *bpf, pid_t pid, uint64_t start_ticks);

/* Start time that matches any target with that PID. */
#define WATCHED_ANY_START 0

/* Returns false if it is not in the map. */
bool watched_get(const struct bpf_side *bpf, pid_t pid, uint64_t start_ticks,
		 struct lm_target *target);

/*
 * Marks a process that shares another one's memory and now has its own probes: possible earlier
 * hits are charged; later ones are seen. Returns 0 or -errno.
 */
int watched_follow(const struct bpf_side *bpf, pid_t pid, uint64_t start_ticks);

/*
 * Lists all of them, including those added by the BPF side. Returns 0 or -errno; free it in either
 * case.
 */
int watched_read(const struct bpf_side *bpf, struct watched_list *list);
void watched_free(struct watched_list *list);

#endif
