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
 * Loading BPF programs takes this much: libbpf reads the kernel's types (11.5 MB, with the
 * parser's process, on 6.18). The kernel kills who takes it and may not, without a word.
 */
#define MEMORY_TO_LOAD_BYTES (13ull << 20)

/* A session takes this much, with the smallest maps and a small target (34.8 MB there, 2 at the
 * start); the kernel itself refuses maps that are too large. */
#define MEMORY_TO_TRACK_BYTES (33ull << 20)

/* Whether there is room for so much. 0, or -ENOMEM after a message that names the control group. */
int memory_room_check(uint64_t bytes, const char *purpose);

/*
 * From here on, memory that there is no room for is refused instead (RLIMIT_DATA): a process that
 * is told so can say it, one that is killed cannot. Bytes that may be used; UINT64_MAX: no limit is
 * known, and nothing was changed.
 */
uint64_t memory_room_keep(void);

#endif
