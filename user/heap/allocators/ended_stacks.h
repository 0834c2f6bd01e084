/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of ended threads: memory that stays mapped, full of leftovers.
 *
 * glibc (nptl/allocatestack.c) keeps the stack of a joined or detached thread for the next one: on
 * a list, _dl_stack_cache, of which it also knows the sum of all sizes. Both follow the two lists
 * in its descriptors (sysdeps/generic/ldsodefs.h, since 2.34). The start of a stack is in struct
 * pthread, at an offset in no descriptor: it is found by its contents, which must be consistent in
 * all threads, and the sizes must add up to the sum. A thread that ended without a join is on the
 * list of those in use; only its result is still needed.
 *
 * musl unmaps a stack when its thread is joined, or ends detached: there is nothing to find.
 */
#ifndef LEAKMON_HEAP_ENDED_STACKS_H
#define LEAKMON_HEAP_ENDED_STACKS_H

#include "heap/allocators/heap_image.h"

/*
 * Limit of the lists' length, which include live threads: the kernel's limit of threads
 * (PID_MAX_LIMIT). Longer ones are corrupt.
 */
#define ENDED_STACKS_MAX (4u << 20)

/*
 * Fills heap_image->ended, of a stopped process: stacks that contain neither the stack pointer nor
 * the thread-locals of any thread of `stop`. At an inconsistency, or at the deadline, it keeps the
 * certain ones so far, and sets heap_image->why_not_ended. Returns 0 or -ENOMEM.
 */
int ended_stacks_find(struct heap_image *heap_image, const struct c_library *library,
		      const struct stop *stop, struct peek *peek);

#endif
