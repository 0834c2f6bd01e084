/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Letting the threads of a running process get on. What a thread holds in a register only is not
 * seen without a stop; one that waits for a CPU may hold it so for two scans.
 */
#ifndef LEAKMON_RETAIN_PROGRESS_H
#define LEAKMON_RETAIN_PROGRESS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Returns when every thread that is ready to run now has run (/proc/PID/task/TID/schedstat,
 * proc(5)), gone to sleep, or ended. False: one of them did not within two seconds, or it cannot be
 * told.
 */
bool progress_wait(pid_t pid);

#endif
