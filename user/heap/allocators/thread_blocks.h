/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where each thread has its copy of each module's thread-locals, and what glibc keeps beside them.
 *
 * A block of a module that was there at the start lies at the same distance below every thread's
 * thread pointer; one that was loaded later was allocated by ld.so when a thread first used it, and
 * only the thread's vector says where. Which module has which number in the vectors is known from
 * glibc's descriptors (tls_layout.h). Where there are none (musl, a static program, glibc before
 * 2.34), only the program's own block is known: it ends at the thread pointer.
 */
#ifndef LEAKMON_HEAP_THREAD_BLOCKS_H
#define LEAKMON_HEAP_THREAD_BLOCKS_H

#include "heap/allocators/data_modules.h"
#include "heap/allocators/heap_image.h"

enum thread_block_kind {
	THREAD_BLOCK_MODULE, /* thread-locals of `module` */
	THREAD_BLOCK_THREAD, /* struct pthread, where nothing better is known */
	THREAD_BLOCK_KEYS,   /* in it: what pthread_setspecific() sets */
	THREAD_BLOCK_VECTOR, /* the dynamic thread vector */
	THREAD_BLOCK_KIND_MAX_
};

struct thread_block {
	uint64_t start, end;
	enum thread_block_kind kind;
	uint32_t thread;		  /* in heap image->threads */
	const struct data_module *module; /* else glibc */
};

struct thread_blocks {
	VEC(struct thread_block) list; /* ascending, not overlapping */
};

/*
 * The process may run meanwhile: what changed since the heap image is recognised by its generation,
 * and left out. 0 or -ENOMEM.
 */
int thread_blocks_find(const struct heap_image *heap_image, const struct data_modules *modules,
		       struct thread_blocks *blocks);
void thread_blocks_free(struct thread_blocks *blocks);

/* The one that holds address, or NULL. */
const struct thread_block *thread_blocks_at(const struct thread_blocks *blocks, uint64_t address);

/*
 * Each thread's dynamic thread vector (DTV), which says where its copies of modules' thread-locals
 * lie, as it was while the process stood.
 */

/*
 * Copies those that look like glibc's; what is swapped out, too large or not read by
 * peek's deadline is left out: then names are missing, nothing else. 0 or -ENOMEM.
 */
int thread_vectors_read(struct heap_image *heap_image, struct peek *peek);

#endif
