/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holders of a dead thread's pthread_t: a word with just that value, in a variable or in
 * a block that a variable leads to. Whoever has it can still join the thread; if nobody has,
 * its stack and descriptor stay for as long as the process.
 *
 * The process's memory is searched as `leakmon retain` does (retain.h), with each pthread_t in the
 * place of a block. What is left on the stacks of dead threads holds nothing.
 *
 * In a managed language, what holds the objects of threads that have ended (!threads' XXXX).
 */
#ifndef LEAKMON_THREADS_THREAD_HOLDERS_H
#define LEAKMON_THREADS_THREAD_HOLDERS_H

#include "heap/retain/retain.h"
#include "report/thread_report.h"

struct bpf_side;

/* A runtime with objects for threads: its name; NULL: the process has none. Static. */
const char *thread_holders_managed(pid_t pid);

/* Whether there is something to look for: dead threads, or a runtime with objects for threads. */
bool thread_holders_wanted(const struct thread_census *census);

/*
 * Reads the memory of a process, and fills in census->holding and the holders of its groups; a
 * thread joined meanwhile counts as not known. What keeps it from being done is in holding->err; 0
 * or -ENOMEM.
 */
int thread_holders_find(struct thread_census *census, const struct heap_image_options *options,
			const struct bpf_side *bpf, const struct retain_sources *sources);

#endif
