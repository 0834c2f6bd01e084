/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel sets a breakpoint in a file while every fork(2) of the machine waits, and itself waits
 * for the memory lock (mmap_lock) of every process that maps the file, its targets or not
 * (kernel/events/uprobes.c, register_for_each_vma()). Where a process holds that lock for good, as
 * where `ps` hangs, the machine would hang, too.
 */
#ifndef LEAKMON_PROBE_MEMORY_LOCKS_H
#define LEAKMON_PROBE_MEMORY_LOCKS_H

/*
 * Whether readers get the lock of every process. One that is taken later, or that a reader holds
 * while no writer waits, is not noticed. Costs a few microseconds a process, but nothing for a
 * second after it was looked at. 0; -EDEADLK after a message, the first time;
 * process/proc/stuck_read.h tells how long it may take. For one thread.
 */
int memory_locks_check(void);

#endif
