/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cost of `leakmon profile` for programs: redis-server in profile.c, others in
 * profile_programs.c.
 */
#ifndef LEAKMON_BENCH_PROFILE_H
#define LEAKMON_BENCH_PROFILE_H

#include "bench.h"
#include "child.h"

#define PROFILE_REPETITIONS 11

/* Starts a profile of a process, and waits until it is attached. 0 or -errno. */
int profile_start(struct child **monitor, pid_t pid, struct why *why);

#endif
