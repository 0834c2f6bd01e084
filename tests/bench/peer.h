/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bcc's memleak, from its libbpf tools (`memleak`) or its Python ones (`memleak-bpfcc`). */
#ifndef LEAKMON_BENCH_PEER_H
#define LEAKMON_BENCH_PEER_H

#include "child.h"

/* Attaches an installed and working peer to a process, and returns when malloc and free are
 * probed. `target` is queried (tests/bench/probed.h); NULL: inspected from outside, a process of
 * this program's own libc. LEAKMON_BENCH_MEMLEAK: another program of that usage. */
int memleak_start(struct child **peer, struct child *target, pid_t pid, struct why *why);

#endif
