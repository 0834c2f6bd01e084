/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `leakmon diagnose` reads of the kernel for one process: things that /proc counts and
 * segments of System V shared memory, at both ends; and a session that follows the kernel's objects
 * by the process's call stacks. That one costs every allocation of the kernel some time: a process
 * that does nothing has none, and it is closed again after a trial in which next to nothing stayed,
 * or where there are too many.
 */
#ifndef LEAKMON_RUNS_DIAGNOSE_KERNEL_H
#define LEAKMON_RUNS_DIAGNOSE_KERNEL_H

#include "app/diagnose/kernel_memory.h"

struct kernel_watch;

/* NULL: out of memory. The first reading; `trial_s`: how long a trial lasts. */
struct kernel_watch *kernel_watch_open(pid_t pid, double trial_s);
/* Every few seconds. */
void kernel_watch_notice(struct kernel_watch *watch);
/* The last reading. *evidence is good until kernel_watch_close(). */
void kernel_watch_examine(struct kernel_watch *watch, struct kernel_evidence *evidence);
void kernel_watch_close(struct kernel_watch *watch);

#endif
