/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose a mapping is: a file's, a thread's stack, shared memory, nobody's that is known. */
#ifndef LEAKMON_MEMORY_MAPPING_OWNER_H
#define LEAKMON_MEMORY_MAPPING_OWNER_H

#include "memory/memory_parts.h"
#include "proc/process_memory.h"

enum thread_stack { STACK_NONE, STACK_LIVE, STACK_ENDED, STACK_JOINED };

/*
 * Whether glibc's descriptor of a thread stands at the end of a mapping, and what it says of the
 * thread: its address twice, and its number, which is 0 after its end and -1 after a join. The main
 * thread's descriptor, whose number is main_tid, stands on no stack.
 */
enum thread_stack thread_stack_at(struct peek *peek, const struct mapping *mapping,
				  int32_t main_tid);

/*
 * By what /proc tells of the i-th mapping alone: MEMORY_ANONYMOUS where it tells nothing. Names are
 * the target's word, and decide over nothing but the words of a report.
 */
enum memory_part mapping_owner(const struct smaps *smaps, size_t i);

#endif
