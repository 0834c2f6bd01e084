/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel sets a breakpoint in a file while every fork(2) of the machine waits, and itself waits
 * for the memory lock (mmap_lock) of every process that maps the file, target or not
 * (kernel/events/uprobes.c, register_for_each_vma()). If a process holds that lock for ever, as
 * when `ps` hangs, the machine would hang, too.
 */
#ifndef LEAKMON_PROBE_MEMORY_LOCKS_H
#define LEAKMON_PROBE_MEMORY_LOCKS_H

/*
 * Checks that readers can take the lock of every process. A lock taken later, or held by a reader
 * while no writer waits, goes unnoticed. Costs a few microseconds per process, but nothing for a
 * second after a check. Returns 0; -EDEADLK after a message, the first time;
 * process/proc/stuck_read.h tells how long it may take. For one thread.
 */
int memory_locks_check(void);

#endif
