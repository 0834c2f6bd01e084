/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Absent pages of a live process. Reading one faults it in, which changes the process; and its
 * server may never answer the fault, and so hang the reader: that of a userfaultfd(2), or of a file
 * on FUSE. So:
 *
 *   private memory              reads as zeros, without a fault
 *   shared memory, and a file   is read, but not from FUSE
 *
 * A swapped-out page counts as present. A page that vanishes between the check and the read is
 * faulted in after all (stuck_read.h). Thread-safe; knowledge of a process is cached briefly.
 */
#ifndef LEAKMON_PROC_ABSENT_PAGES_H
#define LEAKMON_PROC_ABSENT_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns the number of these bytes before the first absent page; all of them if unknown. */
size_t absent_bytes_begin(pid_t task, uint64_t address, size_t size);

/* Reads bytes of an absent page. Returns their number, more than 0; or -EFAULT, -errno. */
ssize_t absent_read(pid_t task, uint64_t address, void *buffer, size_t size);

#endif
