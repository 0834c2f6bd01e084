/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds each thread's copy of each module's thread-locals, and glibc's data beside them.
 *
 * A block of a module loaded at the start is at the same distance below every thread's thread
 * pointer; one of a later module was allocated by ld.so when a thread first used it, and only the
 * thread's vector has its address. The modules' numbers in the vectors are in glibc's descriptors
 * (tls_layout.h). Without these (musl, a static program, glibc before 2.34), only the program's own
 * block is known: it ends at the thread pointer.
 */
#ifndef LEAKMON_HEAP_THREAD_BLOCKS_H
#define LEAKMON_HEAP_THREAD_BLOCKS_H

#include "heap/allocators/data_modules.h"
#include "heap/allocators/heap_image.h"

enum thread_block_kind {
	THREAD_BLOCK_MODULE, /* thread-locals of `module` */
	THREAD_BLOCK_THREAD, /* struct pthread, if nothing more specific is known */
	THREAD_BLOCK_KEYS,   /* in it: values of pthread_setspecific() */
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
 * Finds the blocks. The process may run meanwhile: changes since the heap image are recognised by
 * their generation, and left out. Returns 0 or -ENOMEM.
 */
int thread_blocks_find(const struct heap_image *heap_image, const struct data_modules *modules,
		       struct thread_blocks *blocks);
void thread_blocks_free(struct thread_blocks *blocks);

/* Returns the block that contains address, or NULL. */
const struct thread_block *thread_blocks_at(const struct thread_blocks *blocks, uint64_t address);

/*
 * Each thread's dynamic thread vector (DTV), with the addresses of its copies of modules'
 * thread-locals, as of the stop.
 */

/*
 * Copies vectors that look like glibc's; those swapped out, too large or not read by peek's
 * deadline are left out: then only names are missing. Returns 0 or -ENOMEM.
 */
int thread_vectors_read(struct heap_image *heap_image, struct peek *peek);

#endif
