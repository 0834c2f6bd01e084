/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that ended and were never joined, as far as mappings tell: each keeps its stack. An
 * estimate, without a probe: `leakmon threads` knows.
 */
#ifndef LEAKMON_TRIAGE_THREAD_STACKS_H
#define LEAKMON_TRIAGE_THREAD_STACKS_H

#include "proc/maps.h"

/*
 * Mappings that look like stacks of threads: anonymous memory right above a guard, which is
 * anonymous memory without access and smaller than THREAD_GUARD_MAX (pthread_attr_setguardsize(3);
 * an arena of the allocator has what it does not use yet above itself, and more of it).
 */
#define THREAD_GUARD_MAX (1u << 20)
size_t thread_stacks_count(const struct maps *maps);

/*
 * Stacks beyond those of the `threads` that live; the main thread's is none of them. The C library
 * keeps a few for threads to come (glibc: 40 MB): what counts is how many are added. 0 or more.
 */
double thread_stacks_orphaned(const struct maps *maps, double threads);

#endif
