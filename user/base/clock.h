/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LEAKMON_BASE_CLOCK_H
#define LEAKMON_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* A time since its clock began; a negative one wraps around. */
uint64_t timespec_ns(const struct timespec *time);

/* What a clock shows, in nanoseconds or seconds; 0: it cannot be read. */
uint64_t clock_ns(clockid_t clock);
double clock_s(clockid_t clock);

/* CLOCK_MONOTONIC, the clock of the BPF side (bpf_ktime_get_ns). */
uint64_t monotonic_ns(void);
/* The same clock in seconds. */
double monotonic_s(void);

/*
 * A time by which several loops, one after the other, must have ended. Once it has passed, it stays
 * so. One thread's own.
 */
struct deadline {
	uint64_t at_ns; /* CLOCK_MONOTONIC; 0: none */
	uint32_t steps;
	bool passed;
};

/* Looks at the clock. deadline may be NULL: never. */
bool deadline_has_passed(struct deadline *deadline);

/* For steps that take less than looking does: looks at the first of every 256 only. */
static inline bool deadline_step(struct deadline *deadline)
{
	if (!deadline)
		return false;
	return deadline->steps++ % 256 ? deadline->passed : deadline_has_passed(deadline);
}

#endif
