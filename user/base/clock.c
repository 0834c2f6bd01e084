// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"

#include <time.h>

uint64_t timespec_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

uint64_t clock_ns(clockid_t clock)
{
	struct timespec now = {0};

	clock_gettime(clock, &now);
	return timespec_ns(&now);
}

double clock_s(clockid_t clock)
{
	return (double)clock_ns(clock) / 1e9;
}

uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

double monotonic_s(void)
{
	return clock_s(CLOCK_MONOTONIC);
}

bool deadline_has_passed(struct deadline *deadline)
{
	if (deadline && deadline->at_ns && !deadline->passed)
		deadline->passed = monotonic_ns() > deadline->at_ns;
	return deadline && deadline->passed;
}
