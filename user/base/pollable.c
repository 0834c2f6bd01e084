// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/pollable.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include "base/cleanup.h"

#define NS_PER_S 1000000000u

int pollable_signals(bool children)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (children)
		sigaddset(&set, SIGCHLD);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int pollable_interval(uint64_t interval_ns)
{
	struct timespec interval = {.tv_sec = (time_t)(interval_ns / NS_PER_S),
				    .tv_nsec = (long)(interval_ns % NS_PER_S)};
	struct itimerspec timer = {.it_value = interval, .it_interval = interval};
	_cleanup_close_ int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0 || timerfd_settime(fd, 0, &timer, NULL))
		return -errno;
	return TAKE_FD(fd);
}
