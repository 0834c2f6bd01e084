/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Things that the kernel keeps for one process and that are no descriptors, as /proc counts them:
 * watches of inotify, timers, locks, children that ended. Reading them costs the kernel time for
 * each, in which the process may wait: once at either end, and not beyond a limit.
 */
#ifndef LEAKMON_MEMORY_KERNEL_COUNTS_H
#define LEAKMON_MEMORY_KERNEL_COUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum kernel_thing {
	THING_INOTIFY_WATCHES,
	THING_EPOLL_ITEMS,
	THING_TIMERS,
	THING_RECORD_LOCKS,
	THING_ZOMBIES, /* children that have ended and were not waited for */
	THING_MAX_
};

struct kernel_counts {
	/* `known` is false of what may not be read, and of more than can be read in time. */
	struct {
		bool known;
		uint64_t count;
	} of[THING_MAX_];
};

void kernel_counts_read(pid_t pid, struct kernel_counts *counts);

/* Lines of a text that begin so; of /proc/locks those of a process. *whole: false: there are
 * more. */
uint64_t kernel_counts_lines(FILE *file, const char *beginning, bool *whole);
uint64_t kernel_counts_locks(FILE *file, pid_t pid, bool *whole);

#endif
