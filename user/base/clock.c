// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"

#include <time.h>

uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double monotonic_s(void)
{
	return (double)monotonic_ns() / 1e9;
}

bool deadline_has_passed(struct deadline *deadline)
{
	if (deadline && deadline->at_ns && !deadline->passed)
		deadline->passed = monotonic_ns() > deadline->at_ns;
	return deadline && deadline->passed;
}
