/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of glibc's threads in a mapping: one at its end, or several adjacent ones (stack_block.h).
 * Each has at its end the descriptor of its thread: its address twice, and the thread's number,
 * which is 0 after its end and -1 after a join.
 */
#ifndef LEAKMON_MEMORY_THREAD_STACKS_H
#define LEAKMON_MEMORY_THREAD_STACKS_H

#include "base/vec.h"
#include "process/proc/maps.h"
#include "process/proc/process_memory.h"

struct ended_range {
	uint64_t start, end;
};

struct thread_stacks {
	size_t live, ended, joined; /* joined: kept for the next thread */
	VEC(struct ended_range)
	/* of the ended and joined ones, without the part of the first outside the mapping; the
	 * caller frees it */
	ranges;
};

/* Finds the stacks in a mapping. main_tid: the main thread, whose descriptor is on no stack. 0 or
 * -ENOMEM. */
int thread_stacks_find(struct peek *peek, const struct mapping *mapping, int32_t main_tid,
		       struct thread_stacks *stacks);

#endif
