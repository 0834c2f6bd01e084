/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pointers that the kernel keeps for a process and gives back later: the data of epoll entries
 * (proc(5), /proc/PID/fdinfo) and of POSIX timers (/proc/PID/timers).
 */
#ifndef LEAKMON_RETAIN_KERNEL_ROOTS_H
#define LEAKMON_RETAIN_KERNEL_ROOTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct kernel_word {
	uint64_t value;
	bool timer; /* else epoll */
	int number; /* of the epoll descriptor, or of the timer */
};

struct kernel_roots {
	VEC(struct kernel_word) list;
};

/* Reads them as far as it may. 0 or -ENOMEM. */
int kernel_roots_read(pid_t pid, struct kernel_roots *held);
void kernel_roots_free(struct kernel_roots *held);

#endif
