/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a thread's stack, by glibc's descriptor of the thread. From 2.42 on a guard is not
 * a separate mapping, and stacks are contiguous in one mapping.
 *
 * struct pthread has three consecutive words: the start of the stack's memory, its size and that of
 * the guard (nptl/descr.h, stackblock). No symbol gives their offset: they are found by the size,
 * which must lead from the first word to just after the thread pointer.
 */
#ifndef LEAKMON_HEAP_STACK_BLOCK_H
#define LEAKMON_HEAP_STACK_BLOCK_H

#include "process/proc/maps.h"
#include "process/proc/process_memory.h"

/*
 * glibc puts struct pthread at the thread pointer, or below it (struct tls_abi); upper limit of its
 * size.
 */
#define THREAD_STRUCT_BYTES MEMORY_PAGE

struct stack_block {
	uint64_t start, size, guard; /* bytes; the guard is at the start, and part of it */
};

/*
 * Finds the stack of the thread with that thread pointer, in `mapping`. Returns false if unknown.
 */
bool stack_block_find(struct peek *peek, const struct mapping *mapping, uint64_t pointer,
		      struct stack_block *block);

#endif
