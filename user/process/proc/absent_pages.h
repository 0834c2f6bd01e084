/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of a live process that are not there. Reading one brings it in by a fault, which changes
 * the process; and a server may let the fault wait for ever, and the reader with it: that of a
 * userfaultfd(2), or of a file on FUSE. So:
 *
 *   private memory              is zeros, and is not touched
 *   shared memory, and a file   is read, but not from FUSE
 *
 * A page that is swapped out is there. One that vanishes between the look and the reading is
 * brought in all the same (stuck_read.h). For any thread; what is known of a process is kept for a
 * moment.
 */
#ifndef LEAKMON_PROC_ABSENT_PAGES_H
#define LEAKMON_PROC_ABSENT_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How many of these bytes there are before the first absent page; all, if that is not known. */
size_t absent_bytes_begin(pid_t task, uint64_t address, size_t size);

/* Some bytes of an absent page, more than 0; or -EFAULT, -errno. */
ssize_t absent_read(pid_t task, uint64_t address, void *buffer, size_t size);

#endif
