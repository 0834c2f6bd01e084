/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of threads that have ended: memory that stays mapped, full of what those threads left.
 *
 * glibc (nptl/allocatestack.c) keeps a stack for the next thread once its own has been joined, or
 * has ended detached: on a list, _dl_stack_cache, of which it also knows the sum of all sizes. Both
 * follow the two lists in its descriptors (sysdeps/generic/ldsodefs.h, since 2.34), and
 * where a stack begins stands in struct pthread, at a place in no descriptor: it is found
 * by what stands there, the same in all of them, and the sizes must add up to the sum. A thread
 * that has ended and was not joined is on the list of those in use; only its result is of use to
 * anybody.
 *
 * musl unmaps a stack when its thread is joined, or ends detached: there is nothing to be found.
 */
#ifndef LEAKMON_HEAP_ENDED_STACKS_H
#define LEAKMON_HEAP_ENDED_STACKS_H

#include "heap/allocators/heap_image.h"

/* The lists have live threads, too: as many as a kernel numbers (PID_MAX_LIMIT). Longer ones
 * lie. */
#define ENDED_STACKS_MAX (4u << 20)

/*
 * Fills heap_image->ended, of a process that stands: those in which no thread of `stop` has its
 * stack pointer or its thread-locals. Where anything is not as it must be, or time is up, those
 * that are certain up to there, and heap_image->why_not_ended says why. 0 or -ENOMEM.
 */
int ended_stacks_find(struct heap_image *heap_image, const struct c_library *library,
		      const struct stop *stop, struct peek *peek);

#endif
