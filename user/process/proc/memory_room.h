/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that leakmon itself may still use before it is OOM-killed: the limits of its control
 * groups (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).
 */
#ifndef LEAKMON_PROC_MEMORY_ROOM_H
#define LEAKMON_PROC_MEMORY_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns it in bytes; UINT64_MAX: no known limit. */
uint64_t memory_room(void);

/*
 * Returns the machine's available memory in bytes, without swap (proc(5): MemAvailable);
 * UINT64_MAX: unknown.
 */
uint64_t memory_available(void);

/*
 * The machine's memory in bytes (proc(5), /proc/meminfo), and the share of the last 10 s that tasks
 * waited for memory, in per cent (Documentation/accounting/psi.rst).
 */
struct machine_memory {
	uint64_t total, available, swap_total, swap_free;
	double some_10s, all_10s; /* NAN: not measured by the kernel */
};

/* Returns false, with *memory untouched, if it cannot be read. */
bool machine_memory_read(struct machine_memory *memory);

/*
 * Memory to load BPF programs: libbpf reads the kernel's types (11.5 MB, with the parser's process,
 * on 6.18). The kernel silently kills a process that exceeds its limit.
 */
#define MEMORY_TO_LOAD_BYTES (13ull << 20)

/*
 * Memory of a session with the smallest maps and a small target (34.8 MB there, 2 at the start);
 * the kernel itself refuses maps that are too large.
 */
#define MEMORY_TO_TRACK_BYTES (33ull << 20)

/*
 * Checks that there is room for `bytes`. Returns 0, or -ENOMEM after a message that names the
 * control group.
 */
int memory_room_check(uint64_t bytes, const char *purpose);

/*
 * From here on, allocations beyond the room in the control groups and on the machine fail
 * (RLIMIT_DATA): a process whose allocation fails can report it; one that is OOM-killed cannot, and
 * the kernel may kill another one instead. Returns the usable bytes; UINT64_MAX: no known limit,
 * and no change.
 */
uint64_t memory_room_keep(void);

/*
 * Memory reserved for a moment of shortage: a victim's last snapshot. It is allocated in advance,
 * page by page, within the limits of control groups and of the process (RLIMIT_AS), and malloc can
 * use it once it is released. Zero-initialise.
 */
struct memory_reserve {
	void *pages;
	size_t size;
};

/* Does nothing if already reserved, or if others need the room. */
void memory_reserve_hold(struct memory_reserve *reserve, size_t bytes);
/* Releases the reserve for use. Allocates nothing itself. */
void memory_reserve_give_up(struct memory_reserve *reserve);

#endif
