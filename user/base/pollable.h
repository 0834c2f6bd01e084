/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals and intervals as descriptors for poll(2). */
#ifndef LEAKMON_BASE_POLLABLE_H
#define LEAKMON_BASE_POLLABLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Blocks the signals that ask a monitor for something, and gives them through a signalfd(2):
 * SIGUSR1 (a report now), and SIGCHLD where there are `children`. Those that ask for the end:
 * interrupt.h. SIGPIPE is ignored: a closed pipe is an error of the write. A descriptor, or -errno.
 */
int pollable_signals(bool children);

/* A timerfd(2) that expires every `interval_ns`, which is not 0. A descriptor, or -errno. */
int pollable_interval(uint64_t interval_ns);

#endif
