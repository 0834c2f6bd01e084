/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads of a process's memory, or of the kernel's account of it, that never end.
 *
 * A page that vanishes just before it is read is brought in by its server, that of a userfaultfd(2)
 * or of a file on FUSE, which may let the reader wait for ever; the kernel's account waits for a
 * lock (mmap_lock) that such a page's thread may hold. Only the end of the reading process ends
 * that: no signal but SIGKILL, and no other thread. So a thread beside the readers ends leakmon,
 * with a message that names the process, instead of a monitor that is silent from then on.
 *
 * The state is the process's own. For any thread.
 */
#ifndef LEAKMON_PROC_STUCK_READ_H
#define LEAKMON_PROC_STUCK_READ_H

#include <sys/types.h>

#include "base/cleanup.h"

/* Around one system call or several, each of which is soon over otherwise. Costs a few atomic
 * instructions, the first one a thread. */
int stuck_read_begin(pid_t task);
/* That read has ended, another one begins. */
void stuck_read_step(int slot);
void stuck_read_end(const int *slot);

/* Until the end of the scope. */
#define STUCK_READ(task)                                                                           \
	_cleanup_(stuck_read_end) const int stuck_read_slot_ __attribute__((unused)) =             \
		stuck_read_begin(task)

/* For tests: seconds until a read is stuck, instead of 30. Before the first read. */
void stuck_read_limit(unsigned int seconds);

#endif
