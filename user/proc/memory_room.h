/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much memory leakmon itself may still use before the kernel ends it: the limits of its control
 * groups (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).
 */
#ifndef LEAKMON_PROC_MEMORY_ROOM_H
#define LEAKMON_PROC_MEMORY_ROOM_H

#include <stdint.h>

/* Bytes; UINT64_MAX: no limit is known. */
uint64_t memory_room(void);

/*
 * From here on, memory that there is no room for is refused instead (RLIMIT_DATA): a process that
 * is told so can say it, one that is killed cannot. Bytes that may be used; UINT64_MAX: no limit is
 * known, and nothing was changed.
 */
uint64_t memory_room_keep(void);

#endif
