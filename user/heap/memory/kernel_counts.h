/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel objects of one process that are not descriptors, counted by /proc: inotify watches,
 * timers, locks, zombie children. Each costs kernel time to read, during which the process may
 * wait: read them once at either end, within a limit.
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
	THING_ZOMBIES, /* children that ended, and were not waited for */
	THING_MAX_
};

struct kernel_counts {
	/* `known` is false without permission, and if reading took too long. */
	struct {
		bool known;
		uint64_t count;
	} of[THING_MAX_];
};

void kernel_counts_read(pid_t pid, struct kernel_counts *counts);

/* Counts the lines of a text with this beginning; or in /proc/locks those of a process. *whole:
 * false: counting was cut short. */
uint64_t kernel_counts_lines(FILE *file, const char *beginning, bool *whole);
uint64_t kernel_counts_locks(FILE *file, pid_t pid, bool *whole);

#endif
