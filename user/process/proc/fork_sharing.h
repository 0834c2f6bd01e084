/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that share anonymous pages since a fork(2). Reading such a page must not copy it:
 * process_vm_readv(2) pins pages, and since Linux 5.19 a pin first gives the process its own copy
 * (mm/gup.c, gup_must_unshare()); a read of a worker's heap would double it.
 */
#ifndef LEAKMON_PROC_FORK_SHARING_H
#define LEAKMON_PROC_FORK_SHARING_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Returns whether a process may share pages: it runs the program of the process that forked it, or
 * has a child that does. True also if unknown; false for one that shares pages only with a
 * grandchild whose parent has ended. Answers are cached for a tenth of a second. Thread-safe.
 */
bool fork_may_share(pid_t task);

#endif
