/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much memory leakmon itself may still use before the kernel ends it: the limits of its control
 * groups (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).
 */
#ifndef LEAKMON_PROC_MEMORY_ROOM_H
#define LEAKMON_PROC_MEMORY_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes; UINT64_MAX: no limit is known. */
uint64_t memory_room(void);

/* Memory that the machine has for anyone, without swap (proc(5): MemAvailable); UINT64_MAX: not
 * known. */
uint64_t memory_available(void);

/* Memory of the machine (proc(5), /proc/meminfo), and how much of the last 10 s tasks waited for it
 * (Documentation/accounting/psi.rst); bytes, per cent. */
struct machine_memory {
	uint64_t total, available, swap_total, swap_free;
	double some_10s, all_10s; /* NAN: the kernel does not measure it */
};

/* False, and untouched: it cannot be read. */
bool machine_memory_read(struct machine_memory *memory);

/*
 * Loading BPF programs takes this much: libbpf reads the kernel's types (11.5 MB, with the
 * parser's process, on 6.18). The kernel silently kills a process that takes it and may not.
 */
#define MEMORY_TO_LOAD_BYTES (13ull << 20)

/* A session takes this much, with the smallest maps and a small target (34.8 MB there, 2 at the
 * start); the kernel itself refuses maps that are too large. */
#define MEMORY_TO_TRACK_BYTES (33ull << 20)

/* Whether there is room for so much. 0, or -ENOMEM after a message that names the control group. */
int memory_room_check(uint64_t bytes, const char *purpose);

/*
 * From here on, memory that there is no room for is refused instead (RLIMIT_DATA), in the control
 * groups and on the machine, where it would take that of others: a process that knows it can say
 * so, one that is killed cannot, and may not be the one that is. Bytes that may be used;
 * UINT64_MAX: no limit is known, and nothing was changed.
 */
uint64_t memory_room_keep(void);

/*
 * Memory that is held back for a moment at which there is no other: a victim's last snapshot. It is
 * there in advance, page by page, in limits of control groups and of the process (RLIMIT_AS), and
 * malloc finds room when it is given up. Zero-initialise.
 */
struct memory_reserve {
	void *pages;
	size_t size;
};

/* Does nothing if it is held already, or where it would take the room that others need. */
void memory_reserve_hold(struct memory_reserve *reserve, size_t bytes);
/* May be used from now on. Allocates nothing itself. */
void memory_reserve_give_up(struct memory_reserve *reserve);

#endif
