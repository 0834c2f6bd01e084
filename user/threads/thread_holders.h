/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who still holds the pthread_t of a dead thread: a word with just that value, in a variable or in
 * a block that a variable leads to. Whoever has it can still join the thread; if nobody has,
 * its stack and descriptor stay for as long as the process.
 *
 * The process's memory is searched as `leakmon retain` does (retain.h), with each pthread_t in the
 * place of a block. What is left on the stacks of dead threads holds nothing.
 */
#ifndef LEAKMON_THREADS_THREAD_HOLDERS_H
#define LEAKMON_THREADS_THREAD_HOLDERS_H

#include "report/retain_result.h"
#include "retain/retain.h"

/* Threads of one group whose pthread_t is kept in one place: a root, or blocks of a class. */
struct thread_holder {
	enum verdict verdict; /* VERDICT_LOST: nobody keeps it */
	size_t count;	      /* threads */
	uint64_t first, last; /* in the root or block: the lowest and the highest offset */
	uint32_t path;	      /* in holding->result.paths: to one of them; RESULT_NONE: none */
};

struct thread_holder_list {
	VEC(struct thread_holder) list; /* most threads first */
	/* Threads whose stack lies in a block of the heap, or that were joined meanwhile. */
	size_t unknown;
};

/* What the paths of a process's holders are about. */
struct thread_holding {
	int err;		     /* 0; else nothing was found out, and why */
	struct retain_result result; /* of the paths */
};

struct thread_census;
struct bpf_side;

/*
 * Reads the memory of a process, and fills in census->holding and the holders of its groups; who
 * was joined meanwhile counts as not known. What keeps it from being done is told in holding->err;
 * 0 or -ENOMEM.
 */
int thread_holders_find(struct thread_census *census, const struct heap_image_options *options,
			const struct bpf_side *bpf, const struct retain_sources *sources);
void thread_holding_free(struct thread_holding *holding);

#endif
