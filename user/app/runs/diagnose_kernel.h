/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings of the kernel for one process of `leakmon diagnose`: counts from /proc and segments of
 * System V shared memory, at both ends; and a session that follows the kernel's objects by the
 * process's call stacks. The session slows every allocation in the kernel, so an idle process gets
 * none, and it is closed after a trial in which almost nothing stayed, or if there are too many
 * events.
 */
#ifndef LEAKMON_RUNS_DIAGNOSE_KERNEL_H
#define LEAKMON_RUNS_DIAGNOSE_KERNEL_H

#include "app/diagnose/kernel_memory.h"

struct kernel_watch;

/* Takes the first reading; `trial_s`: length of the trial. Returns NULL when out of memory. */
struct kernel_watch *kernel_watch_open(pid_t pid, double trial_s);
/* Call it every few seconds. */
void kernel_watch_notice(struct kernel_watch *watch);
/* Takes the last reading. *evidence is valid until kernel_watch_close(). */
void kernel_watch_examine(struct kernel_watch *watch, struct kernel_evidence *evidence);
void kernel_watch_close(struct kernel_watch *watch);

#endif
