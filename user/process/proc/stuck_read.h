/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads of a process's memory, or of the kernel's account of it, that never end.
 *
 * A page that vanishes just before it is read is brought in by its server, that of a userfaultfd(2)
 * or of a file on FUSE, which may let the reader wait for ever; the kernel's account waits for a
 * lock (mmap_lock) that such a page's thread may hold. Only the end of the reading process ends
 * that: no signal but SIGKILL, and no other thread.
 *
 * So a thread beside the readers watches them. A monitor lets a process beside it make these calls
 * (process/proc/aside.h): that one is ended, and the target's memory is not read for ten minutes.
 * Any other run ends, with a message that names the target, instead of being silent from then on.
 *
 * The state is the process's own. For any thread.
 */
#ifndef LEAKMON_PROC_STUCK_READ_H
#define LEAKMON_PROC_STUCK_READ_H

#include <sys/types.h>

/*
 * Makes a system call that reads of that task and is soon over otherwise: its result or -errno;
 * -EIO also: an earlier one did not end, minutes ago. Costs a few atomic instructions, the first
 * one a thread; aside, some microseconds.
 */
long stuck_read_call(pid_t task, long number, const long arguments[6]);

/* From now on these calls are made aside, for a process that must not end because of one target. */
void stuck_read_aside(void);

/* For tests: seconds until a read is stuck, instead of 30, or 10 aside. Before the first read. */
void stuck_read_limit(unsigned int seconds);

#endif
