/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holders of a dead thread's pthread_t: a word with exactly that value, in a variable or in a block
 * reachable from one. Any holder can still join the thread; without one, its stack and descriptor
 * stay until the process ends.
 *
 * The process's memory is searched as by `leakmon retain` (retain.h), with a block for each
 * pthread_t. The stacks of dead threads are not roots.
 *
 * In a managed language, the holders of the objects of ended threads (!threads' XXXX).
 */
#ifndef LEAKMON_THREADS_THREAD_HOLDERS_H
#define LEAKMON_THREADS_THREAD_HOLDERS_H

#include "heap/retain/retain.h"
#include "report/thread_report.h"

struct bpf_side;

/* Returns the name of the runtime, if it has objects for threads, else NULL. Static. */
const char *thread_holders_managed(pid_t pid);

/*
 * Returns whether a search makes sense: there are dead threads, or a runtime with objects for
 * threads.
 */
bool thread_holders_wanted(const struct thread_census *census);

/*
 * Reads the memory of a process and fills in census->holding and the holders of its groups; a
 * thread joined meanwhile counts as unknown. holding->err says why a search failed. Returns 0 or
 * -ENOMEM.
 */
int thread_holders_find(struct thread_census *census, const struct heap_image_options *options,
			const struct bpf_side *bpf, const struct retain_sources *sources);

#endif
