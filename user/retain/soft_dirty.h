/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Soft-dirty bits: which pages a process wrote since a moment (Documentation/admin-guide/mm/
 * soft-dirty.rst). Starting resets them, which an incremental checkpoint of the same process (CRIU)
 * would notice; to the process each page costs one more minor fault.
 */
#ifndef LEAKMON_RETAIN_SOFT_DIRTY_H
#define LEAKMON_RETAIN_SOFT_DIRTY_H

#include <sys/types.h>

/* 0: pagemap now tells what `pid` writes; -ENOTSUP: this kernel keeps no such bits; -EACCES. */
int soft_dirty_start(pid_t pid);

#endif
