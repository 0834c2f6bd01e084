/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads of a process's memory, or of the kernel's account of it, that never end.
 *
 * A page that vanishes just before it is read is fetched from its server, that of a userfaultfd(2)
 * or of a file on FUSE, which may never answer; the kernel's account waits for a lock (mmap_lock)
 * that such a page's thread may hold. Only the end of the reading process ends that: no signal but
 * SIGKILL, and no other thread.
 *
 * So a separate thread watches the readers. A monitor makes these calls in a helper process
 * (process/proc/aside.h), which is killed, and the target's memory is not read for ten minutes. Any
 * other run ends, with a message that names the target, instead of hanging.
 *
 * The state is process-wide. Thread-safe.
 */
#ifndef LEAKMON_PROC_STUCK_READ_H
#define LEAKMON_PROC_STUCK_READ_H

#include <sys/types.h>

/*
 * Makes a system call that reads from that task and is normally short. Returns its result or
 * -errno; -EIO also if an earlier one hung, minutes ago. Costs a few atomic instructions, and the
 * first call a thread; in a helper process, some microseconds.
 */
long stuck_read_call(pid_t task, long number, const long arguments[6]);

/*
 * From now on makes these calls in a helper process, for a process that must not end because of one
 * target.
 */
void stuck_read_aside(void);

/*
 * For tests: sets the seconds after which a read is stuck, instead of 30, or 10 in a helper
 * process. Call it before the first read.
 */
void stuck_read_limit(unsigned int seconds);

#endif
